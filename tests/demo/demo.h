// SPDX-License-Identifier: Apache-2.0
// The demo: Jobs of many shapes, and an object of every other kind, go through a real `wharf run` into three simulated
// workers, one of which is cut off and comes back. Shared by the parts.
#pragma once

#include "tests/demo/screen.h"
#include "tests/support/scene.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMO_WORKERS 3
#define DEMO_JOBS 40
#define DEMO_PLAYS 20 // of these, at most, of other kinds
#define DEMO_NOTES 64

// Phases of a workload.
enum phase {
    PHASE_NONE, // not submitted yet
    PHASE_PENDING,
    PHASE_RUNNING,
    PHASE_SUSPENDED,
    PHASE_COMPLETING,
    PHASE_FAILING,
    PHASE_COMPLETE,
    PHASE_FAILED
};

// Everything that the host wrote about one workload, as the API servers saw it.
struct writes {
    unsigned annotations, statuses; // in the management cluster
    unsigned creates, updates, deletes;
    unsigned refused; // answers of 400 and more
    unsigned noops;
};

struct job { // a Job, or an object of another kind
    const char *name;
    const char *group, *plural; // NULL: a Job
    char label[40];             // as kubectl shows it: "rayjob/tune"
    const char *shape;          // description
    const char *json;           // what is submitted
    bool from_cron;             // `json` is a CronJob, whose Jobs are called <name>-<number>
    int64_t submit_ns;          // after the start
    enum phase expected;        // in the end
    const char *reason;         // of its Failed condition; NULL: any
    const char *suspend;   // pointer to the field with which users suspend it as it runs, and resume it; NULL: none
    bool runs;             // it never finishes: a user deletes it
    bool not_delegated;    // not delegated to this host: it must not touch it
    unsigned extra_writes; // additional writes caused by users, see jobs.c
    // What is seen in the management cluster.
    bool submitted, deleted, exists;
    char full_name[64];
    enum phase phase;
    char cluster[64];
    char reason_seen[64];
    char state[64]; // as reported by its kind; not for Jobs
    int64_t attempt, attempt_told, active, ready, succeeded, failed;
    int64_t created_ns; // wall clock
    // What is counted in all clusters.
    struct writes writes;
    unsigned changes; // of its mirrors' status
    bool faulted;     // it was placed in the worker that was cut off
    unsigned mirrors; // that exist now
};

struct note {
    int64_t at_ns; // after the start
    char text[120];
};

struct fixture;

struct demo {
    struct scene *scene;
    struct job jobs[DEMO_JOBS];
    size_t n_jobs;
    struct fixture *fixtures[DEMO_PLAYS];
    char *texts[DEMO_PLAYS]; // what is submitted of them
    size_t n_plays;
    struct note notes[DEMO_NOTES]; // what has happened
    size_t n_notes;
    int64_t start_ns; // wall clock
    int64_t now_ns;   // after the start
    size_t cut;       // the worker that is or was cut off; 0: not yet
    bool is_cut;
    int64_t cut_ns;
    size_t next_step;         // of the story
    pthread_t user;           // the thread that writes as a user does
    pthread_mutex_t counters; // of all Jobs' writes and changes
};

void demo_note(struct demo *demo, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct job *demo_find(struct demo *demo, const char *plural, const char *full_name);
struct job *demo_job(struct demo *demo, const char *name);

// jobs.c: fills in the Jobs that will be submitted.
void jobs_init(struct demo *demo);
const char *phase_text(enum phase phase);
bool job_is_done(const struct job *job);

// plays.c: the kinds with fixtures come to all clusters, and one object of each to the Jobs.
struct error *plays_init(struct demo *demo);
void plays_free(struct demo *demo);
// The items of `adapters` for them, in YAML. NULL when out of memory.
char *plays_adapters(void);

// record.c: counts what is written, from hooks in the clusters.
void record_start(struct demo *demo);

// look.c: reads the state as a user sees it.
void look(struct demo *demo);

// story.c: does what is due. True once the story has ended and there is nothing to wait for.
bool story_step(struct demo *demo);

// summary.c: prints the results, and returns the number of failed checks.
size_t summary_print(struct demo *demo, const struct screen *screen, bool in_time);
