// SPDX-License-Identifier: Apache-2.0
// The engine alone between clusters in memory, on virtual time: requests are answered a millisecond later, changes in a
// cluster are reported as by a watch (in workers: of objects with the host's label). Tests act for all others.
#pragma once

#include "core/engine/engine.h"
#include "core/engine/history/inspect.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/unit/plugins/job_harness.h"
#include "tests/world/world.h"

#define STAGE_CLUSTERS 3   // management, w1, w2
#define STAGE_PASS 0       // what stage.meddle answers: let it be served
#define STAGE_LOST (-1)    // it is not served, and never answered but for a timeout
#define STAGE_UNHEARD (-2) // it is served, but the answer is lost

struct stage_news;
struct stage;

struct stage_watch { // for hooks
    struct stage *stage;
    size_t cluster;
};

struct stage {
    struct engine_options options; // may be changed before stage_start
    struct engine *engine;
    struct update update;
    struct kind *kind;               // Job, or that of stage_init_kind
    const struct world_kind *served; // of stage_init_kind; NULL: Jobs
    struct world_cluster *clusters[STAGE_CLUSTERS];
    struct stage_watch watches[STAGE_CLUSTERS];
    bool connected[STAGE_CLUSTERS];
    struct stage_news *first, **last;
    struct moment now;
    // Called for each command before it is served: STAGE_*, or an HTTP status to answer. May be NULL.
    int (*meddle)(struct stage *stage, const struct command *command);
    // Called after each write that a cluster accepted from the engine or its own controllers. May be NULL.
    void (*wrote)(struct stage *stage, size_t cluster, const struct world_write *write);
    // Of a cluster's other resources: each accepted write, by anybody; the wishes and questions of the engine; and
    // after stage_connect. May be NULL.
    void (*other)(struct stage *stage, size_t cluster, const struct world_write *write);
    void (*wished)(struct stage *stage, const struct dependency_wish *wish);
    void (*asked)(struct stage *stage, const struct pod_question *question);
    void (*linked)(struct stage *stage, size_t cluster);
    void (*worded)(struct stage *stage, const struct words_wish *wish); // a wish about last words. May be NULL.
    void (*made)(struct stage *stage); // called for each engine, before anything is connected. May be NULL.
    int64_t latency_ns;                // of answers; watches report after a millisecond
    int64_t retry_after_ns;            // of the answers that meddle gives; 0: none
    const char *space;                 // of the objects that tests name; NULL: default
    bool user;                         // current writes are a test's
    unsigned sent[STAGE_CLUSTERS][STATS_VERBS];
    unsigned noops;        // writes of the engine that changed nothing
    char *notes;           // "Reason: text\n" of all Events
    size_t event_warnings; // Events of type Warning
    unsigned warnings;     // lines of the log
    void *ctx;
};

int stage_load(void **state); // cmocka's setup of a group
void stage_init(struct stage *stage);
// With objects of another kind, which outlives the stage and which only tests write to: stage_job finds them too.
void stage_init_kind(struct stage *stage, struct kind *kind, const struct world_kind *served);
void stage_start(struct stage *stage); // the engine, with all feeds connected
void stage_restart(struct stage *stage);
void stage_end(struct stage *stage);

void stage_step(struct stage *stage, struct engine_event *event); // at once
// News of an object that workloads refer to, in a millisecond; `value` NULL: it does not exist.
void stage_tell(struct stage *stage, size_t cluster, const struct dependency_wish *of, const struct json *value);
void stage_run(struct stage *stage, int64_t ns);
// Until `done` returns true; fails the test after a (virtual) day.
void stage_until(struct stage *stage, bool (*done)(struct stage *stage));
void stage_connect(struct stage *stage, size_t cluster);
void stage_identity(struct stage *stage, size_t cluster); // stage_connect does that first
// Restored from the copy, or wiped (NULL), and connected again.
void stage_back(struct stage *stage, size_t cluster, const struct world_copy *copy);
void stage_contact(struct stage *stage, size_t cluster, enum contact contact); // with a byte received just now
void stage_refused(struct stage *stage, size_t cluster);                       // several probes in a row
void stage_contact_since(struct stage *stage, size_t cluster, enum contact contact, int64_t heard_ns);
// What the connection to the worker knows of its guard.
void stage_fence(struct stage *stage, size_t cluster, const struct fence_news *fence);
void stage_disconnect(struct stage *stage, size_t cluster);

// Users and third parties. JSON with ' for ".
void stage_submit(struct stage *stage, const char *name, const char *annotations); // a Job; annotations: members or ""
int stage_apply(struct stage *stage, size_t cluster, const char *group, const char *plural, const char *object);
int stage_patch(struct stage *stage, size_t cluster, const char *name, const char *subresource, const char *patch);
int stage_delete(struct stage *stage, size_t cluster, const char *name);
// A status for a mirror that runs, or has completed.
void stage_runs(struct stage *stage, size_t cluster, const char *name);
void stage_completes(struct stage *stage, size_t cluster, const char *name);

const char *stage_space(const struct stage *stage);                                  // of the workloads
const struct json *stage_job(struct stage *stage, size_t cluster, const char *name); // or NULL
bool stage_finished(struct stage *stage, const char *name);                          // by the workload's status
size_t stage_told(const struct stage *stage, const char *text); // how many Events have this in them
unsigned stage_attempt(struct stage *stage, const char *name);
size_t stage_where(struct stage *stage, const char *name); // the worker that its annotation names, 0: none
// As `wharf explain` says it, without the workers.
void stage_explain(struct stage *stage, const char *name, struct explain_view *out);
