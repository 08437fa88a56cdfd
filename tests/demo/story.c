// SPDX-License-Identifier: Apache-2.0
// The script of the demo. Each step runs once, when it is due and its preconditions hold.
#include "core/base/clock.h"
#include "core/json/pointer.h"
#include "tests/demo/demo.h"
#include "tests/support/wharf_child.h"

#include <string.h>

static int submit(struct demo *demo, const struct job *job) {
    if (strcmp(job->plural, "jobs") == 0)
        return scene_apply(demo->scene, SCENE_MANAGEMENT, "batch", job->from_cron ? "cronjobs" : "jobs", job->json);
    struct scene_cluster *management = &demo->scene->clusters[SCENE_MANAGEMENT];
    AUTO_JSON object = NULL;
    error_free(json_parse(job->json, strlen(job->json), &object));
    front_lock(management->front);
    int status = world_apply(management->cluster, job->group, job->plural, object, front_now_ns());
    front_unlock(management->front);
    return status;
}

static void submit_due(struct demo *demo) {
    for (size_t i = 0; i < demo->n_jobs; i++) {
        struct job *job = &demo->jobs[i];
        if (job->submitted || job->submit_ns > demo->now_ns)
            continue;
        job->submitted = true;
        int status = submit(demo, job);
        if (status != 201)
            demo_note(demo, "%s was rejected: HTTP %d", job->name, status);
    }
}

static void patch(struct demo *demo, const char *name, const char *spec, const char *what) {
    AUTO_TEXT text = text_format("{\"spec\":%s}", spec);
    int status = text ? scene_patch(demo->scene, SCENE_MANAGEMENT, "batch", "jobs", name, text) : 0;
    if (status == 200)
        demo_note(demo, "a user %s", what);
    else
        demo_note(demo, "%s could not be changed: HTTP %d", name, status);
}

// Users suspend and resume all other kinds that support it.
static void suspend_others(struct demo *demo, bool on) {
    struct scene_cluster *management = &demo->scene->clusters[SCENE_MANAGEMENT];
    size_t changed = 0;
    for (size_t i = 0; i < demo->n_jobs; i++) {
        const struct job *job = &demo->jobs[i];
        AUTO_JSON patch = json_new_object();
        if (!job->suspend || !pointer_set(patch, job->suspend, json_new_bool(on)))
            continue;
        AUTO_TEXT text = json_text(patch, NULL);
        front_lock(management->front);
        int status = world_patch(management->cluster, job->group, job->plural, "default", job->name, NULL,
                                 text ? text : "", front_now_ns());
        front_unlock(management->front);
        changed += status == 200;
        if (status != 200)
            demo_note(demo, "%s could not be changed: HTTP %d", job->label, status);
    }
    demo_note(demo, "users %s %zu of the other kinds", on ? "suspend" : "resume", changed);
}

static bool pause_others(struct demo *demo) {
    suspend_others(demo, true);
    return true;
}

static bool resume_others(struct demo *demo) {
    suspend_others(demo, false);
    return true;
}

// Workloads that never finish are deleted, once they run.
static bool delete_services(struct demo *demo) {
    struct scene_cluster *management = &demo->scene->clusters[SCENE_MANAGEMENT];
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (demo->jobs[i].runs && (demo->jobs[i].phase != PHASE_RUNNING || !*demo->jobs[i].state))
            return false;
    for (size_t i = 0; i < demo->n_jobs; i++) {
        struct job *job = &demo->jobs[i];
        if (!job->runs)
            continue;
        front_lock(management->front);
        int status = world_delete(management->cluster, job->group, job->plural, "default", job->name, "Background",
                                  front_now_ns());
        front_unlock(management->front);
        job->deleted = status == 200;
        demo_note(demo, "a user deletes %s, which never finishes", job->label);
    }
    return true;
}

static bool begin(struct demo *demo) {
    demo_note(demo, "users submit %zu Jobs and %zu of other kinds", demo->n_jobs - demo->n_plays - 1, demo->n_plays);
    return true;
}

static bool resume_suspended(struct demo *demo) {
    patch(demo, "suspended", "{\"suspend\":false}", "resumes Job suspended");
    return true;
}

static bool pause_running(struct demo *demo) {
    patch(demo, "paused", "{\"suspend\":true}", "suspends Job paused");
    return true;
}

static bool resume_paused(struct demo *demo) {
    patch(demo, "paused", "{\"suspend\":false}", "resumes Job paused");
    return true;
}

static bool scale(struct demo *demo) {
    patch(demo, "scaled", "{\"parallelism\":5}", "scales Job scaled from 2 to 5 pods at a time");
    return true;
}

// The worker of a long Job, so that an attempt is lost; preferably not that of the paused Job, whose number of writes
// is predictable only without faults.
static const struct job *choose_victim(struct demo *demo) {
    const struct job *a = demo_job(demo, "long-a"), *b = demo_job(demo, "long-b"), *paused = demo_job(demo, "paused");
    return strcmp(a->cluster, paused->cluster) == 0 && !job_is_done(b) ? b : a;
}

static bool cut_off(struct demo *demo) {
    const struct job *victim = choose_victim(demo);
    size_t worker = 1;
    while (worker < demo->scene->count && strcmp(demo->scene->clusters[worker].name, victim->cluster) != 0)
        worker++;
    if (worker == demo->scene->count)
        return false; // not placed yet
    size_t there = 0;
    for (size_t i = 0; i < demo->n_jobs; i++) {
        struct job *job = &demo->jobs[i];
        job->faulted = job->mirrors > 0 && strcmp(job->cluster, victim->cluster) == 0;
        there += job->faulted && !job_is_done(job);
    }
    front_down(demo->scene->clusters[worker].front);
    demo->cut = worker;
    demo->is_cut = true;
    demo->cut_ns = demo->now_ns;
    demo_note(demo, "%s is cut off, with %zu unfinished workloads on it", victim->cluster, there);
    return true;
}

static bool bring_back(struct demo *demo) {
    struct scene_cluster *worker = &demo->scene->clusters[demo->cut];
    struct error *error = front_up(worker->front);
    if (error)
        demo_note(demo, "%s does not come back: %s", worker->name, error_text(error));
    else
        demo_note(demo, "%s can be reached again", worker->name);
    error_free(error);
    demo->is_cut = false;
    return true;
}

// The host reconnects to a lost worker with backoff.
static bool submit_late(struct demo *demo) {
    const char *worker = demo->scene->clusters[demo->cut].name;
    AUTO_TEXT sample = text_format("wharf_watch_state{cluster=\"%s\",kind=\"jobs.batch\",state=\"connected\"}", worker);
    if (!sample || wharf_metric(demo->scene, sample) != 1)
        return false;
    demo_note(demo, "wharf is connected to %s again, and a user submits Job late", worker);
    demo_job(demo, "late")->submit_ns = demo->now_ns;
    return true;
}

static const struct step {
    int64_t at_ns;
    bool (*act)(struct demo *demo);
} steps[] = {
    {0, begin},
    {6 * CLOCK_SECOND, scale},
    {7 * CLOCK_SECOND, pause_running},
    {7500 * CLOCK_MS, pause_others},
    {8500 * CLOCK_MS, resume_suspended},
    {10 * CLOCK_SECOND, cut_off},
    {12 * CLOCK_SECOND, resume_paused},
    {12500 * CLOCK_MS, resume_others},
    {18 * CLOCK_SECOND, bring_back},
    {18 * CLOCK_SECOND, submit_late},
    {20 * CLOCK_SECOND, delete_services},
};

// Reports where a Job was placed since the last call.
static void note_moves(struct demo *demo) {
    for (size_t i = 0; i < demo->n_jobs; i++) {
        struct job *job = &demo->jobs[i];
        if (job->attempt > job->attempt_told && job->attempt > 1)
            demo_note(demo, "%s restarted in %s, attempt %lld", job->label, job->cluster, (long long)job->attempt);
        job->attempt_told = job->attempt;
    }
}

static bool all_is_over(const struct demo *demo) {
    for (size_t i = 0; i < demo->n_jobs; i++)
        if (!job_is_done(&demo->jobs[i]) || demo->jobs[i].mirrors > 0)
            return false;
    return true;
}

bool story_step(struct demo *demo) {
    submit_due(demo);
    note_moves(demo);
    size_t count = sizeof steps / sizeof *steps;
    while (demo->next_step < count && steps[demo->next_step].at_ns <= demo->now_ns && steps[demo->next_step].act(demo))
        demo->next_step++;
    if (demo->next_step < count || !all_is_over(demo))
        return false;
    demo_note(demo, "every workload has finished, and the workers are empty");
    return true;
}
