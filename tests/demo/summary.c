// SPDX-License-Identifier: Apache-2.0
// Prints the results, and counts failed checks.
#include "core/base/clock.h"
#include "tests/demo/demo.h"
#include "tests/demo/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct verdict {
    const struct screen *screen;
    size_t wrong;
};

static void tell(struct verdict *verdict, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void tell(struct verdict *verdict, bool good, const char *format, ...) {
    const struct screen *screen = verdict->screen;
    va_list args;
    verdict->wrong += !good;
    printf("%s%s%s ", screen_on(screen, good ? COLOR_GREEN : COLOR_RED), good ? "ok   " : "WRONG", screen_off(screen));
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static unsigned total(const struct writes *w) {
    return w->annotations + w->statuses + w->creates + w->updates + w->deletes;
}

// Without faults, a Job takes one write for its annotation, one create, one delete, one patch for each change of the
// mirror's status, and the writes for its users' changes. With faults the number varies.
static bool judge_writes(const struct job *job, char out[64]) {
    unsigned spent = total(&job->writes), due = 3 + job->changes + job->extra_writes;
    if (job->not_delegated) {
        snprintf(out, 64, "%u", spent);
        return spent == 0;
    }
    bool exact = strcmp(job->plural, "jobs") == 0; // for other kinds, some changes are not copied
    if (job->faulted || job->attempt > 1) {
        snprintf(out, 64, "%u, worker lost", spent);
        return spent > 0;
    }
    if (job->extra_writes > 0)
        snprintf(out, 64, "%u = 3 + %u + %u", spent, job->changes, job->extra_writes);
    else
        snprintf(out, 64, "%u = 3 + %u", spent, job->changes);
    if (exact ? spent != due : spent > due)
        snprintf(out, 64, "%u, not %u", spent, due);
    else if (spent != due)
        snprintf(out, 64, "%u < 3 + %u + %u", spent, job->changes, job->extra_writes);
    return (exact ? spent == due : spent <= due) && job->writes.noops == 0;
}

static void judge_job(struct verdict *verdict, const struct job *job) {
    char writes[64], outcome[96];
    bool cheap = judge_writes(job, writes);
    bool as_expected = job->exists != job->runs && job->phase == job->expected &&
                       (!job->reason || strcmp(job->reason, job->reason_seen) == 0);
    bool placed = job->not_delegated ? job->attempt == 0 : job->attempt > 0;
    if (job->runs && !job->exists)
        snprintf(outcome, sizeof outcome, "%s, deleted", phase_text(job->phase));
    else if (!job->exists)
        snprintf(outcome, sizeof outcome, "not there");
    else if (*job->reason_seen)
        snprintf(outcome, sizeof outcome, "%s", job->reason_seen);
    else
        snprintf(outcome, sizeof outcome, "%s", phase_text(job->phase));
    if (!as_expected) {
        size_t len = strlen(outcome);
        snprintf(outcome + len, sizeof outcome - len, " (not %s)",
                 job->reason ? job->reason : phase_text(job->expected));
    }
    tell(verdict, as_expected && cheap && placed && job->mirrors == 0 && job->writes.refused == 0,
         "%-21.21s %-20.20s %-20s %s", job->label, job->shape, outcome, writes);
    if (job->writes.refused)
        printf("      %u of its writes were rejected\n", job->writes.refused);
    if (job->writes.noops)
        printf("      %u of its writes changed nothing\n", job->writes.noops);
}

static size_t mirrors_in(struct demo *demo, size_t worker) {
    struct scene_cluster *at = &demo->scene->clusters[worker];
    front_lock(at->front);
    size_t count = world_count(at->cluster, "batch", "jobs");
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (strcmp(demo->jobs[i].plural, "jobs") != 0)
            count += world_count(at->cluster, demo->jobs[i].group, demo->jobs[i].plural);
    front_unlock(at->front);
    return count;
}

static void judge_leftovers(struct verdict *verdict, struct demo *demo) {
    size_t left = 0;
    for (size_t w = 1; w < demo->scene->count; w++)
        left += mirrors_in(demo, w);
    if (left == 0)
        tell(verdict, true, "left over in the workers: nothing");
    else
        tell(verdict, false, "left over in the workers: %zu objects", left);
}

static void judge_servers(struct verdict *verdict, struct demo *demo) {
    uint64_t invalid = 0, events = 0;
    for (size_t i = 0; i < demo->scene->count; i++) {
        struct scene_cluster *cluster = &demo->scene->clusters[i];
        front_lock(cluster->front);
        const struct world_counts *counts = world_counts(cluster->cluster);
        invalid += counts->refused[422];
        events += counts->events;
        front_unlock(cluster->front);
    }
    tell(verdict, invalid == 0, "writes rejected by an API server as invalid (422): %llu", (unsigned long long)invalid);
    printf("      Events recorded: %llu\n", (unsigned long long)events);
}

static void judge_moves(struct verdict *verdict, const struct demo *demo) {
    size_t moved = 0;
    for (size_t i = 0; i < demo->n_jobs; i++)
        moved += demo->jobs[i].attempt > 1;
    tell(verdict, moved > 0, "workloads restarted elsewhere when their worker was lost: %zu", moved);
}

size_t summary_print(struct demo *demo, const struct screen *screen, bool in_time) {
    struct verdict verdict = {.screen = screen};
    printf("\n%s      %-21s %-20s %-20s %s%s\n", screen_on(screen, COLOR_BOLD), "WORKLOAD", "SHAPE", "OUTCOME",
           "WRITES", screen_off(screen));
    for (size_t i = 0; i < demo->n_jobs; i++)
        judge_job(&verdict, &demo->jobs[i]);
    printf("%s      writes: 3 (annotation, create, delete) + status changes (+ users' changes)%s\n\n",
           screen_on(screen, COLOR_DIM), screen_off(screen));
    if (!in_time)
        tell(&verdict, false, "not finished after %lld s", (long long)(demo->now_ns / CLOCK_SECOND));
    judge_moves(&verdict, demo);
    judge_leftovers(&verdict, demo);
    judge_servers(&verdict, demo);
    return verdict.wrong;
}
