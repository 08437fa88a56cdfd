// SPDX-License-Identifier: Apache-2.0
#include "tests/demo/table.h"
#include "core/base/clock.h"

#include <stdio.h>
#include <string.h>

#define GAP 2 // between columns
#define NOTES 6
#define NOTES_SMALL 3 // where there are few rows
#define ROWS_SMALL 16

struct column {
    const char *title;
    size_t width;
    bool right;
};

enum { COLUMN_NAME, COLUMN_CLUSTER, COLUMN_PHASE, COLUMN_ACTIVE, COLUMN_READY, COLUMN_DONE, COLUMN_FAILED, COLUMN_AGE };
#define COLUMNS (COLUMN_AGE + 1)
// Those that do not fit are left out, from the end.
static const struct column table[COLUMNS] = {
    [COLUMN_NAME] = {"WORKLOAD", 21, false}, [COLUMN_CLUSTER] = {"CLUSTER", 7, false},
    [COLUMN_PHASE] = {"PHASE", 10, false},   [COLUMN_ACTIVE] = {"ACTIVE", 6, true},
    [COLUMN_READY] = {"READY", 5, true},     [COLUMN_DONE] = {"DONE", 4, true},
    [COLUMN_FAILED] = {"FAILED", 6, true},   [COLUMN_AGE] = {"AGE", 4, true},
};

static enum color phase_color(enum phase phase) {
    static const enum color colors[] = {COLOR_DIM,  COLOR_DIM, COLOR_CYAN,  COLOR_YELLOW,
                                        COLOR_CYAN, COLOR_RED, COLOR_GREEN, COLOR_RED};
    return colors[phase];
}

// The column at which column `index` ends.
static size_t end_of(size_t index) {
    size_t end = 0;
    for (size_t i = 0; i <= index; i++)
        end += table[i].width + (i ? GAP : 0);
    return end;
}

static bool is_shown(const struct screen *screen, size_t column) {
    return end_of(column) <= screen->columns;
}

// The last one stands at the right edge.
static void cell(struct screen *screen, size_t column, enum color color, const char *text) {
    if (!is_shown(screen, column))
        return;
    screen_fit(screen, COLOR_NONE, column ? GAP : 0, false, "");
    screen_fit(screen, color, column == COLUMN_AGE ? screen_left(screen) : table[column].width, table[column].right,
               text);
}

static void number_cell(struct screen *screen, size_t column, enum color color, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    cell(screen, column, number ? color : COLOR_DIM, text);
}

// The state as reported by the kind, across the number columns.
static void state_cell(struct screen *screen, const char *state) {
    size_t age = is_shown(screen, COLUMN_AGE) ? table[COLUMN_AGE].width + GAP : 0;
    size_t from = end_of(COLUMN_PHASE) + GAP + age;
    if (!is_shown(screen, COLUMN_ACTIVE) || screen->columns < from)
        return;
    screen_fit(screen, COLOR_NONE, GAP, false, "");
    screen_fit(screen, COLOR_DIM, screen->columns - from, false, state);
}

static bool is_on_cut_worker(const struct demo *demo, const struct job *job) {
    return demo->is_cut && strcmp(job->cluster, demo->scene->clusters[demo->cut].name) == 0;
}

static void where(const struct job *job, char out[96]) {
    if (job->not_delegated)
        text_copy(out, 96, "-");
    else if (job->attempt > 1)
        snprintf(out, 96, "%s #%lld", job->cluster, (long long)job->attempt);
    else
        text_copy(out, 96, job->cluster);
}

static void draw_row(struct screen *screen, const struct demo *demo, const struct job *job) {
    char cluster[96], age[24] = "";
    if (!job->exists) {
        cell(screen, COLUMN_NAME, COLOR_DIM, job->label);
        screen_end_line(screen);
        return;
    }
    int64_t seconds = (demo->start_ns + demo->now_ns - job->created_ns) / CLOCK_SECOND;
    snprintf(age, sizeof age, "%llds", (long long)(seconds > 0 ? seconds : 0));
    where(job, cluster);
    bool stale = is_on_cut_worker(demo, job) && !job_is_done(job);
    cell(screen, COLUMN_NAME, COLOR_NONE, job->label);
    cell(screen, COLUMN_CLUSTER, stale ? COLOR_RED : COLOR_NONE, cluster);
    cell(screen, COLUMN_PHASE, stale ? COLOR_DIM : phase_color(job->phase), phase_text(job->phase));
    if (strcmp(job->plural, "jobs") == 0) {
        number_cell(screen, COLUMN_ACTIVE, COLOR_NONE, job->active);
        number_cell(screen, COLUMN_READY, COLOR_NONE, job->ready);
        number_cell(screen, COLUMN_DONE, COLOR_GREEN, job->succeeded);
        number_cell(screen, COLUMN_FAILED, COLOR_RED, job->failed);
    } else {
        state_cell(screen, job->state);
    }
    cell(screen, COLUMN_AGE, COLOR_DIM, age);
    screen_end_line(screen);
}

static void draw_head(struct screen *screen, const struct demo *demo) {
    char clock[16];
    static const char title[] = "  what users see in the management cluster";
    int len = snprintf(clock, sizeof clock, "  %lld s", (long long)(demo->now_ns / CLOCK_SECOND));
    screen_put(screen, COLOR_BOLD, "wharf");
    screen_fit(screen, COLOR_NONE, screen_left(screen) > (size_t)len ? screen_left(screen) - (size_t)len : 0, false,
               title);
    screen_put(screen, COLOR_DIM, "%s", clock);
    screen_end_line(screen);
    for (size_t w = 1; w < demo->scene->count; w++) {
        const struct scene_cluster *worker = &demo->scene->clusters[w];
        bool down = demo->is_cut && demo->cut == w;
        size_t jobs = 0;
        for (size_t i = 0; i < demo->n_jobs; i++)
            jobs += demo->jobs[i].exists && !job_is_done(&demo->jobs[i]) &&
                    strcmp(demo->jobs[i].cluster, worker->name) == 0;
        screen_put(screen, down ? COLOR_RED : COLOR_GREEN, "%s%s %s", w > 1 ? "   " : "", worker->name,
                   down ? "CUT OFF" : "up");
        screen_put(screen, COLOR_DIM, " %zu placed", jobs);
    }
    screen_end_line(screen);
    for (size_t i = 0; i < COLUMNS; i++)
        cell(screen, i, COLOR_BOLD, table[i].title);
    screen_end_line(screen);
}

static void draw_notes(struct screen *screen, const struct demo *demo, size_t room) {
    size_t shown = demo->n_notes < room ? demo->n_notes : room;
    for (size_t i = demo->n_notes - shown; i < demo->n_notes; i++) {
        const struct note *note = &demo->notes[i];
        screen_put(screen, COLOR_DIM, "%5.1f s  ", (double)note->at_ns / 1e9);
        screen_put(screen, i + 1 == demo->n_notes ? COLOR_YELLOW : COLOR_NONE, "%s", note->text);
        screen_end_line(screen);
    }
    for (size_t i = shown; i < room; i++)
        screen_end_line(screen);
}

// Chooses the rows if there is no room for all: finished ones and those not yet submitted are dropped first.
static size_t choose_rows(const struct demo *demo, size_t room, bool shown[DEMO_JOBS]) {
    size_t count = demo->n_jobs;
    for (size_t i = 0; i < demo->n_jobs; i++)
        shown[i] = true;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = demo->n_jobs; count > room && i-- > 0;) {
            const struct job *job = &demo->jobs[i];
            bool idle = !job->submitted || (job_is_done(job) && job->mirrors == 0);
            if (!shown[i] || (pass == 0 && !idle))
                continue;
            shown[i] = false;
            count--;
        }
    return count;
}

static void draw_rows(struct screen *screen, const struct demo *demo, size_t room) {
    bool shown[DEMO_JOBS];
    bool all = demo->n_jobs <= room;
    size_t count = choose_rows(demo, all ? room : room - 1, shown);
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (shown[i])
            draw_row(screen, demo, &demo->jobs[i]);
    if (!all) {
        screen_put(screen, COLOR_DIM, "... and %zu more", demo->n_jobs - count);
        screen_end_line(screen);
    }
}

void table_render(struct screen *screen, const struct demo *demo) {
    draw_head(screen, demo);
    size_t room = screen_room(screen), notes = room < ROWS_SMALL ? NOTES_SMALL : NOTES;
    if (room > notes + 2) {
        draw_rows(screen, demo, room - notes - 1);
        screen_end_line(screen);
    }
    room = screen_room(screen);
    draw_notes(screen, demo, room < notes ? room : notes);
}

void table_draw(struct screen *screen, const struct demo *demo) {
    screen_begin(screen);
    table_render(screen, demo);
    screen_draw(screen);
}

void table_print(struct table_lines *lines, const struct demo *demo) {
    double now = (double)demo->now_ns / 1e9;
    for (; lines->notes < demo->n_notes; lines->notes++)
        printf("%5.1f s  %s\n", (double)demo->notes[lines->notes].at_ns / 1e9, demo->notes[lines->notes].text);
    for (size_t i = 0; i < demo->n_jobs; i++) {
        const struct job *job = &demo->jobs[i];
        char line[240], cluster[96];
        if (!job->exists)
            continue;
        where(job, cluster);
        if (strcmp(job->plural, "jobs") == 0)
            snprintf(line, sizeof line, "%-21s %-8s %-10s  active %lld  ready %lld  succeeded %lld  failed %lld",
                     job->label, cluster, phase_text(job->phase), (long long)job->active, (long long)job->ready,
                     (long long)job->succeeded, (long long)job->failed);
        else
            snprintf(line, sizeof line, "%-21s %-8s %-10s  %s", job->label, cluster, phase_text(job->phase),
                     job->state);
        if (strcmp(line, lines->last[i]) == 0)
            continue;
        text_copy(lines->last[i], sizeof lines->last[i], line);
        printf("%5.1f s  %s\n", now, line);
    }
    fflush(stdout);
}
