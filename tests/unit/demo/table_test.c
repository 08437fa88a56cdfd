// SPDX-License-Identifier: Apache-2.0
// The live table at sizes of a terminal: no line is too long, nothing is cut off without a mark, columns are apart, and
// rows that are left out are counted.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "core/base/clock.h"
#include "tests/demo/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 36
#define LINES 64
#define MORE "... and "
#define NOTE "w2 is cut off, with 12 unfinished workloads on it, and here is a sentence that fits nowhere at all"

struct frame {
    char *lines[LINES];
    size_t count;
    char *text;
};

static struct scene scene = {.count = 4,
                             .clusters = {{.name = "mgmt"}, {.name = "w1"}, {.name = "w2"}, {.name = "w3"}}};

// Half of them Jobs, with the largest numbers that are told, half of other kinds, with a long state.
static void fill(struct demo *demo) {
    *demo = (struct demo){.scene = &scene, .n_jobs = JOBS, .now_ns = 1234 * CLOCK_SECOND, .is_cut = true, .cut = 2};
    for (size_t i = 0; i < JOBS; i++) {
        struct job *job = &demo->jobs[i];
        *job = (struct job){.plural = i % 2 ? "jobs" : "sparkapplications",
                            .submitted = true,
                            .exists = i % 7 != 0,
                            .phase = i % 3 ? PHASE_COMPLETING : PHASE_COMPLETE,
                            .mirrors = i % 5 ? 1 : 0,
                            .attempt = i % 4 ? 1 : 12,
                            .active = 123456,
                            .ready = 12345,
                            .succeeded = 1234,
                            .failed = 123456};
        snprintf(job->label, sizeof job->label, i % 2 ? "indexed-lossy-%zu" : "sparkapplication/log%zu", i);
        snprintf(job->cluster, sizeof job->cluster, "w%zu", i % 3 + 1);
        snprintf(job->state, sizeof job->state, "WaitForDashboard, and then some more words %zu", i);
    }
    for (size_t i = 0; i < 9; i++) {
        demo->notes[i].at_ns = (int64_t)i * CLOCK_SECOND;
        snprintf(demo->notes[i].text, sizeof demo->notes[i].text, i == 8 ? NOTE : "note %zu", i);
    }
    demo->n_notes = 9;
}

static void render(const struct demo *demo, size_t columns, size_t rows, struct frame *frame) {
    struct screen screen = {.columns = columns, .rows = rows};
    buffer_init(&screen.frame, 1 << 20);
    table_render(&screen, demo);
    frame->text = buffer_take(&screen.frame, NULL);
    frame->count = 0;
    for (char *at = frame->text, *end; (end = strstr(at, SCREEN_END_LINE)); at = end + strlen(SCREEN_END_LINE)) {
        *end = '\0';
        assert_true(frame->count < LINES);
        frame->lines[frame->count++] = at;
    }
}

static size_t columns_of(const char *line) {
    size_t count = 0;
    for (; *line; line++)
        count += ((unsigned char)*line & 0xC0) != 0x80;
    return count;
}

// The cell is the text, or its beginning and a mark.
static bool stands_for(const char *cell, size_t len, const char *text) {
    size_t mark = strlen(SCREEN_CUT);
    bool cut = len > mark && memcmp(cell + len - mark, SCREEN_CUT, mark) == 0;
    return cut ? strncmp(cell, text, len - mark) == 0 && strlen(text) > len - mark
               : strlen(text) == len && strncmp(cell, text, len) == 0;
}

// Takes the next cell of a line: what comes before two blanks, or the end.
static const char *take(const char **line, size_t *len) {
    const char *cell = *line + strspn(*line, " "), *end = strstr(cell, "  ");
    *len = end ? (size_t)(end - cell) : strlen(cell);
    *line = cell + *len;
    return cell;
}

static void expect(const char **line, const char *text) {
    size_t len;
    const char *cell = take(line, &len);
    if (!stands_for(cell, len, text))
        fail_msg("found \"%.*s\", expected \"%s\"", (int)len, cell, text);
}

static void check_row(const char *line, const struct job *job, size_t columns) {
    char number[24], cluster[80];
    snprintf(cluster, sizeof cluster, job->attempt > 1 ? "%s #%lld" : "%s", job->cluster, (long long)job->attempt);
    expect(&line, job->label);
    if (!job->exists)
        return;
    expect(&line, cluster);
    expect(&line, job->phase == PHASE_COMPLETE ? "Complete" : "Completing");
    static const size_t ends[] = {50, 57, 63, 69}; // of the columns that they are in
    if (strcmp(job->plural, "jobs") != 0 && columns >= ends[0]) {
        expect(&line, job->state);
    } else {
        const int64_t numbers[] = {job->active, job->ready, job->succeeded, job->failed};
        for (size_t i = 0; i < 4 && columns >= ends[i]; i++) {
            snprintf(number, sizeof number, "%lld", (long long)numbers[i]);
            expect(&line, number);
        }
    }
    if (columns >= 75)
        expect(&line, "1234s");
    size_t len;
    take(&line, &len);
    assert_int_equal(len, 0);
}

static const struct job *find(const struct demo *demo, const char *line) {
    size_t len;
    const char *cell = take(&line, &len);
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (stands_for(cell, len, demo->jobs[i].label))
            return &demo->jobs[i];
    return NULL;
}

static void check(size_t columns, size_t rows, bool all) {
    struct demo demo;
    struct frame frame;
    size_t drawn = 0, hidden = 0;
    fill(&demo);
    render(&demo, columns, rows, &frame);
    assert_int_equal(frame.count < rows ? frame.count : rows, frame.count); // the last row is the cursor's
    for (size_t i = 0; i < frame.count; i++) {
        if (columns_of(frame.lines[i]) > columns)
            fail_msg("%zu columns: %s", columns_of(frame.lines[i]), frame.lines[i]);
        const struct job *job = i > 2 ? find(&demo, frame.lines[i]) : NULL;
        if (job) {
            check_row(frame.lines[i], job, columns);
            drawn++;
        } else if (strncmp(frame.lines[i], MORE, strlen(MORE)) == 0) {
            char *rest;
            hidden = strtoul(frame.lines[i] + strlen(MORE), &rest, 10);
            assert_string_equal(rest, " more");
            drawn += hidden;
        }
    }
    assert_int_equal(drawn, JOBS);
    assert_int_equal(hidden == 0, all);
    const char *head = frame.lines[2];
    expect(&head, "WORKLOAD");
    expect(&head, "CLUSTER");
    expect(&head, "PHASE");
    assert_non_null(strstr(frame.lines[0], "1234 s"));
    const char *last = frame.lines[frame.count - 1] + strlen("  8.0 s  ");
    assert_true(stands_for(last, strlen(last), NOTE));
    free(frame.text);
}

static void test_sizes(void **state) {
    (void)state;
    check(79, 24, false); // as of a terminal of 80x24: one column stays free
    check(59, 20, false);
    check(110, 50, true);
    check(44, 12, false);
}

// Where nothing needs to be left out there is no line that says so.
static void test_exactly_enough_rows(void **state) {
    (void)state;
    check(79, 3 + JOBS + 1 + 6 + 1, true);
    check(79, 3 + JOBS + 6 + 1, false);
}

// A terminal of a few cells: nothing is written beyond it.
static void test_tiny(void **state) {
    (void)state;
    for (size_t rows = 1; rows < 12; rows++)
        for (size_t columns = 1; columns < 40; columns++) {
            struct demo demo;
            struct frame frame;
            fill(&demo);
            render(&demo, columns, rows, &frame);
            for (size_t i = 0; i < frame.count; i++)
                assert_true(columns_of(frame.lines[i]) <= columns);
            free(frame.text);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_exactly_enough_rows),
                                       cmocka_unit_test(test_tiny)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
