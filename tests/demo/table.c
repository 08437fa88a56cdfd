// SPDX-License-Identifier: Apache-2.0
#include "tests/demo/table.h"
#include "core/base/clock.h"

#include <stdio.h>
#include <string.h>

struct column {
    const char *title;
    int width;      // negative: to the left
    size_t columns; // shown if the terminal has as many
};

enum { COLUMN_NAME, COLUMN_CLUSTER, COLUMN_PHASE, COLUMN_ACTIVE, COLUMN_READY, COLUMN_DONE, COLUMN_FAILED, COLUMN_AGE };
static const struct column table[] = {
    [COLUMN_NAME] = {"WORKLOAD", -21, 0}, [COLUMN_CLUSTER] = {"CLUSTER", -8, 0}, [COLUMN_PHASE] = {"PHASE", -11, 0},
    [COLUMN_ACTIVE] = {"ACTIVE", 7, 46},  [COLUMN_READY] = {"READY", 7, 60},     [COLUMN_DONE] = {"SUCCEEDED", 11, 71},
    [COLUMN_FAILED] = {"FAILED", 8, 71},  [COLUMN_AGE] = {"AGE", 6, 78},
};

static enum color phase_color(enum phase phase) {
    static const enum color colors[] = {COLOR_DIM,  COLOR_DIM, COLOR_CYAN,  COLOR_YELLOW,
                                        COLOR_CYAN, COLOR_RED, COLOR_GREEN, COLOR_RED};
    return colors[phase];
}

static void cell(struct screen *screen, size_t column, enum color color, const char *text) {
    if (screen->columns >= table[column].columns)
        screen_put(screen, color, "%*s", table[column].width, text);
}

static void number_cell(struct screen *screen, size_t column, enum color color, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    cell(screen, column, number ? color : COLOR_DIM, text);
}

static bool is_on_cut_worker(const struct demo *demo, const struct job *job) {
    return demo->is_cut && strcmp(job->cluster, demo->scene->clusters[demo->cut].name) == 0;
}

static void where(const struct job *job, char out[32]) {
    if (job->not_ours)
        text_copy(out, 32, "-");
    else if (job->attempt > 1)
        snprintf(out, 32, "%.4s #%lld", job->cluster, (long long)job->attempt);
    else
        text_copy(out, 32, job->cluster);
}

static void draw_row(struct screen *screen, const struct demo *demo, const struct job *job) {
    char cluster[32], age[24] = "";
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
    } else if (screen->columns >= table[COLUMN_DONE].columns) { // in the kind's own words
        screen_put(screen, COLOR_DIM, "  %-31.31s", job->state);
    }
    cell(screen, COLUMN_AGE, COLOR_DIM, age);
    screen_end_line(screen);
}

static void draw_head(struct screen *screen, const struct demo *demo) {
    char clock[16];
    snprintf(clock, sizeof clock, "%3lld s", (long long)(demo->now_ns / CLOCK_SECOND));
    screen_put(screen, COLOR_BOLD, "wharf");
    screen_put(screen, COLOR_NONE, "%-*.*s", (int)screen->columns > 10 ? (int)screen->columns - 10 : 0,
               (int)screen->columns > 10 ? (int)screen->columns - 10 : 0, "  what users see in the management cluster");
    screen_put(screen, COLOR_DIM, "%s", clock);
    screen_end_line(screen);
    for (size_t w = 1; w < demo->scene->count; w++) {
        const struct scene_cluster *worker = &demo->scene->clusters[w];
        bool down = demo->is_cut && demo->cut == w;
        size_t jobs = 0;
        for (size_t i = 0; i < demo->n_jobs; i++)
            jobs += demo->jobs[i].exists && !job_is_done(&demo->jobs[i]) &&
                    strcmp(demo->jobs[i].cluster, worker->name) == 0;
        screen_put(screen, down ? COLOR_RED : COLOR_GREEN, "%s %s", worker->name, down ? "CUT OFF" : "up");
        screen_put(screen, COLOR_DIM, " %zu placed   ", jobs);
    }
    screen_end_line(screen);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
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

void table_draw(struct screen *screen, const struct demo *demo) {
    screen_begin(screen);
    draw_head(screen, demo);
    // Where there is no room for all, what is over goes first.
    size_t hidden = demo->n_jobs + 2 > screen_room(screen) ? demo->n_jobs + 2 - screen_room(screen) : 0;
    for (size_t i = 0; i < demo->n_jobs && screen_room(screen) > 2; i++) {
        bool over = job_is_done(&demo->jobs[i]) && demo->jobs[i].mirrors == 0;
        if (hidden > 0 && (over || !demo->jobs[i].submitted))
            hidden--;
        else
            draw_row(screen, demo, &demo->jobs[i]);
    }
    if (screen_room(screen) > 4)
        screen_end_line(screen);
    size_t room = screen_room(screen);
    draw_notes(screen, demo, room < 6 ? room : 6);
    screen_draw(screen);
}

void table_print(struct table_lines *lines, const struct demo *demo) {
    double now = (double)demo->now_ns / 1e9;
    for (; lines->notes < demo->n_notes; lines->notes++)
        printf("%5.1f s  %s\n", (double)demo->notes[lines->notes].at_ns / 1e9, demo->notes[lines->notes].text);
    for (size_t i = 0; i < demo->n_jobs; i++) {
        const struct job *job = &demo->jobs[i];
        char line[160], cluster[32];
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
