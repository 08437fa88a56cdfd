// SPDX-License-Identifier: Apache-2.0
// The safety rules of docs/lifecycle.md (rules.c: requests as they are sent; writes.c: what the API servers accept and
// reject; outcome.c: the final state). They check the clusters themselves, not the host's view of them.
#pragma once

#include "tests/simulation/trial.h"

#define RULES_WORKLOADS 128
#define RULES_MIRRORS 512
#define RULES_OBJECTS 4096                 // a power of two
#define RULES_STRAY_NS (90 * CLOCK_SECOND) // a lost request arrives by then

struct tracked_workload { // an object of the management cluster, by uid
    char uid[40], namespace_[32], name[32];
    size_t kind;
    bool ours;     // delegated to this host, now or before
    bool tampered; // a user changed the host's annotations or marks
    bool touched;  // a user changed it after it was created
    bool scaled;
    bool unsure, mirror_unsure; // an answer to a write of it, or of its mirror, was lost, or the host was restarted
    uint32_t begun;             // an attempt that was correct to record or create: a restarted host continues with it
    int64_t blind_ns;           // since when the host follows a mirror that does not exist; 0: it does not
    int64_t stopped_ns;         // since when its mirror is suspended by the host without reason; 0: it is not
    bool twice;                 // it runs in two workers
    int64_t twice_ns;           // since then; 0: it does not
    bool stray;                 // an answer to a write of it was lost
    bool gave_up;               // an Event said that no worker starts it
    bool fenced;                // an Event said that a guard suspended its mirror
    bool denied;                // an Event said that its namespace is
    bool rival_end;             // another writer has given it a final status
    int64_t end_ns;             // the host has; 0: it has not
    bool also_run;              // an Event said that a controller of the management cluster runs it
    unsigned withdrawn;         // Events that said that a mirror of it did not start
    unsigned placements, creates, statuses, deletes, releases, changes, events;
};

struct tracked_mirror { // created by the host, or equivalent
    char uid[40], workload[40];
    size_t cluster, kind;
    int64_t attempt;
    bool guessed;                // its attempt: a policy removed the mark
    bool gone;                   // it was, when its cluster was restored
    unsigned made;               // the process of the host that ran when it was created
    unsigned final[TRIAL_HOSTS]; // the process of each replica that has seen it finished
    int64_t late_ns;             // it was created or changed late, when the host expected no answer any longer; 0: not
    unsigned told[TRIAL_HOSTS];  // the process of each replica that has seen it
    int64_t told_ns;             // the last first time of one of them
    int64_t patched_ns, others_ns; // the host's last patch was sent; somebody else last wrote to it
};

struct tracked_object { // requests about one object in one cluster
    char key[96];
    int64_t since_ns;
    unsigned requests, changes;
};

struct rules {
    struct tracked_workload workloads[RULES_WORKLOADS];
    struct tracked_mirror mirrors[RULES_MIRRORS];
    struct tracked_object objects[RULES_OBJECTS];
    size_t n_workloads, n_mirrors, n_objects;
    uint64_t requests;
    uint64_t late_writes; // see sim_counts
    bool late;            // the present write: its process of the host has ended, or waits for it no longer
    int64_t looked_ns[TRIAL_HOSTS];
    int64_t back_ns[TRIAL_CLUSTERS]; // when it was last restored or wiped
};

struct rules *rules_new(struct trial *trial);

// trial->host has seen the mirror; and has seen it finished.
bool rules_was_told(const struct trial *trial, const struct tracked_mirror *mirror);
bool rules_was_final(const struct trial *trial, const struct tracked_mirror *mirror);
// Each replica has seen it, before the decisions of this instant: when a write is served, its sender is not known.
bool rules_was_told_to_all(const struct trial *trial, const struct tracked_mirror *mirror);
// The engine receives an object of a worker.
void rules_told(struct trial *trial, const struct json *object);
// The engine has decided to send this.
void rules_command(struct trial *trial, const struct command *command);
// A request is about to be sent. For a write to an object of a trial's kind: its path, owned by the caller; else NULL.
char *rules_request(struct trial *trial, size_t cluster, const struct http_request *request);
// `object` as above.
void rules_answered(struct trial *trial, size_t cluster, const char *object, const struct http_result *result);
// A cluster is about to be restored: deleted objects may exist again, writes may be lost.
void rules_went_back(struct trial *trial, size_t cluster);
void rules_restarted(struct trial *trial);
// The first list of a kind is complete: of a mirror whose workload it did not know it has kept the name only, while it
// existed (docs/lifecycle.md, Orphans, rule 8).
void rules_management_listed(struct trial *trial, size_t kind);
// The engine forgets what it has seen in a worker, of workloads that it does not know yet.
void rules_left(struct trial *trial, size_t cluster);

// The hook of the clusters; ctx is a struct side.
void rules_hook(void *ctx, const struct world_write *write);

struct tracked_workload *rules_workload(struct trial *trial, const char *uid);
struct tracked_mirror *rules_mirror(struct trial *trial, const char *uid);
// Whether the host must recognise it as its own mirror.
bool rules_is_ours(const struct trial *trial, size_t cluster, size_t kind, const struct json *object);
// From now on an object counts as a mirror that the host created.
void rules_adopt(struct trial *trial, size_t cluster, size_t kind, const struct json *object);
// A request, or (change) something that happened to an object.
void rules_count(struct trial *trial, size_t cluster, size_t kind, const char *namespace_, const char *name,
                 bool change);
// A worker loses the kind, and all its objects.
void rules_crd_gone(struct trial *trial, size_t cluster, size_t kind);

// silence.c
void silence_check(struct trial *trial);

// outcome.c: what has not converged yet, or NULL. The text is owned by the caller.
char *outcome_missing(struct trial *trial);
// In a trial without faults: exactly the writes that a life needs.
void outcome_count(struct trial *trial);
// The status of a workload against that of its first mirror.
void outcome_compare(struct trial *trial, const struct json *workload, const struct json *mirror);

// Parts of objects.
const char *rules_text(const struct json *object, const char *part, const char *map, const char *key);
bool rules_condition(const struct json *job, const char *type); // True
bool rules_has_condition(const struct json *job, const char *type);
bool rules_finished(const struct json *job);
bool rules_gave_up(const struct json *job); // by the host: no worker accepted it
// A member "managedBy" anywhere in the spec, or anything else that a mirror must not have; NULL: nothing.
const char *rules_forbidden(const struct trial *trial, size_t kind, const struct json *mirror, bool as_sent);
