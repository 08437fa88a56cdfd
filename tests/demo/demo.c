// SPDX-License-Identifier: Apache-2.0
#include "tests/demo/demo.h"
#include "core/base/clock.h"
#include "tests/demo/keep.h"
#include "tests/demo/screen.h"
#include "tests/demo/table.h"
#include "tests/support/wharf_child.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READY_WITHIN (15 * CLOCK_SECOND)
#define OVER_WITHIN (50 * CLOCK_SECOND) // after it became ready: a minute in total
#define FRAME_US 100000
#define SETTINGS "workerLostTimeout: 3s\nmirrorRetention: 3s\nlog: {format: text, level: info}\n"

void demo_note(struct demo *demo, const char *format, ...) {
    if (demo->n_notes == DEMO_NOTES)
        return;
    struct note *note = &demo->notes[demo->n_notes++];
    va_list args;
    note->at_ns = demo->now_ns;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
}

struct job *demo_job(struct demo *demo, const char *name) {
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (strcmp(demo->jobs[i].name, name) == 0)
            return &demo->jobs[i];
    return NULL;
}

struct job *demo_find(struct demo *demo, const char *plural, const char *full_name) {
    for (size_t i = 0; i < demo->n_jobs; i++) {
        struct job *job = &demo->jobs[i];
        if (strcmp(plural, job->plural) != 0)
            continue;
        size_t len = strlen(job->name);
        if (strncmp(full_name, job->name, len) == 0 && full_name[len] == (job->from_cron ? '-' : '\0'))
            return job;
    }
    return NULL;
}

// Signals are only unblocked while waiting for the next frame, so that no cleanup is needed in a handler.
static bool interrupted(int64_t wait_us) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    struct timespec wait = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
    return sigtimedwait(&signals, NULL, &wait) > 0;
}

static void block_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static struct error *start(struct demo *demo) {
    struct scene_options options = {
        .workers = DEMO_WORKERS,
        .world = {
            .seed = 7, .managed_fields = true, .controller_delay_ns = 80 * CLOCK_MS, .pod_start_ns = 600 * CLOCK_MS}};
    AUTO_TEXT adapters = plays_adapters();
    options.adapters = adapters;
    struct error *error = adapters ? scene_open(&options, &demo->scene) : error_no_memory();
    if (error)
        return error;
    jobs_init(demo);
    error = plays_init(demo);
    if (error)
        return error;
    record_start(demo);
    error = scene_configure(demo->scene, "", SETTINGS);
    return error ? error : wharf_start(demo->scene);
}

static struct error *wait_until_ready(struct demo *demo) {
    int64_t until_ns = clock_now().mono_ns + READY_WITHIN;
    while (!wharf_is_ready(demo->scene)) {
        if (!wharf_runs(demo->scene))
            return error_new(ERROR_INTERNAL, "wharf exited at startup");
        if (clock_now().mono_ns > until_ns)
            return error_new(ERROR_INTERNAL, "wharf is not ready after %lld s",
                             (long long)(READY_WITHIN / CLOCK_SECOND));
        if (interrupted(20000))
            return error_new(ERROR_REFUSED, "interrupted");
    }
    return NULL;
}

// Runs until the end of the story, a timeout, or Ctrl-C.
static struct error *show(struct demo *demo, struct screen *screen, bool *in_time) {
    struct table_lines lines = {.notes = 0};
    demo->start_ns = clock_now().wall_ns;
    int64_t start_ns = clock_now().mono_ns;
    bool over = false;
    while (!over) {
        demo->now_ns = clock_now().mono_ns - start_ns;
        look(demo);
        over = story_step(demo);
        if (screen->is_terminal)
            table_draw(screen, demo);
        else
            table_print(&lines, demo);
        if (!wharf_runs(demo->scene))
            return error_new(ERROR_INTERNAL, "wharf exited unexpectedly with %d", wharf_exit_code(demo->scene));
        if (demo->now_ns > OVER_WITHIN)
            break;
        if (!over && interrupted(FRAME_US))
            return error_new(ERROR_REFUSED, "interrupted");
    }
    *in_time = over;
    return NULL;
}

static size_t end_wharf(struct demo *demo, const struct screen *screen) {
    int64_t asked_ns = clock_now().mono_ns;
    bool ended = wharf_end(demo->scene, SIGTERM, 11 * CLOCK_SECOND) && wharf_exit_code(demo->scene) == 0;
    printf("%s%s%s wharf exited on SIGTERM with %d after %.1f s\n", screen_on(screen, ended ? COLOR_GREEN : COLOR_RED),
           ended ? "ok   " : "WRONG", screen_off(screen), wharf_exit_code(demo->scene),
           (double)(clock_now().mono_ns - asked_ns) / 1e9);
    return !ended;
}

static size_t conclude(struct demo *demo, const struct screen *screen, bool in_time, bool keeps) {
    size_t wrong = summary_print(demo, screen, in_time);
    struct error *error = keeps ? keep(demo->scene) : NULL;
    if (error)
        fprintf(stderr, "demo: %s\n", error_text(error));
    wrong += error ? 1 : 0;
    error_free(error);
    wrong += end_wharf(demo, screen);
    if (wrong == 0)
        printf("\n%sAll checks passed: %zu workloads in %.0f s.%s\n", screen_on(screen, COLOR_BOLD), demo->n_jobs,
               (double)demo->now_ns / 1e9, screen_off(screen));
    if (!keeps)
        keep_hint();
    return wrong;
}

static void tell_trouble(const struct demo *demo, const struct error *error, size_t wrong) {
    fflush(stdout);
    if (error)
        fprintf(stderr, "demo: %s\n", error_text(error));
    else
        fprintf(stderr, "demo: %zu checks failed\n", wrong);
    if (demo->scene && (!error || error->code != ERROR_REFUSED)) {
        fputs("The end of wharf's log:\n", stderr);
        wharf_print_log(demo->scene, 30, stderr);
    }
}

// -1: continue; else the exit code.
static int read_arguments(int argc, char **argv, bool *keeps) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--keep") == 0) {
            *keeps = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            puts("Usage: demo [--keep]\n\n  --keep  leave the clusters and wharf running until Ctrl-C, for kubectl");
            return 0;
        } else {
            fprintf(stderr, "error: unknown argument: %s\nUsage: demo [--keep]\n", argv[i]);
            return 2;
        }
    }
    return -1;
}

int main(int argc, char **argv) {
    bool keeps = false;
    int code = read_arguments(argc, argv, &keeps);
    if (code >= 0)
        return code;

    struct demo demo = {.user = pthread_self(), .counters = PTHREAD_MUTEX_INITIALIZER};
    struct screen screen;
    bool in_time = false;
    size_t wrong = 0;
    block_signals();
    struct error *error = start(&demo);
    if (!error)
        error = wait_until_ready(&demo);
    screen_open(&screen);
    if (!error)
        error = show(&demo, &screen, &in_time);
    if (!error)
        wrong = conclude(&demo, &screen, in_time, keeps);
    screen_close(&screen);
    if (error || wrong > 0)
        tell_trouble(&demo, error, wrong);
    scene_close(demo.scene);
    plays_free(&demo);
    bool failed = error || wrong > 0;
    error_free(error);
    return failed ? 1 : 0;
}
