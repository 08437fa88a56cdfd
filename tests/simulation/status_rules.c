// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/status_rules.h"

#include "core/engine/mirror/mirror.h"
#include "tests/simulation/guards.h"
#include "tests/simulation/rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STATES 8192
#define COUNTS 3

struct state { // of a mirror
    char uid[40];
    int64_t version, counts[COUNTS];
};

struct copied { // a Job, as this process of the host copies it
    char uid[40], mirror[40];
    int64_t version, counts[COUNTS]; // of the mirror that the host was told of last
    bool due;                        // it was told of other counts than before, and has sent nothing since
    unsigned writes;                 // of the workload since then, with the one in flight then
    uint64_t in_flight;              // a write of the workload
};

struct status_rules {
    struct state states[STATES];
    size_t n_states;
    struct copies {
        struct copied all[RULES_WORKLOADS];
        size_t n;
    } hosts[TRIAL_HOSTS];
};

struct status_rules *status_rules_new(void) {
    return calloc(1, sizeof(struct status_rules));
}

static struct copies *copies_of(const struct trial *trial) {
    return &trial->status->hosts[trial->host->index];
}

void status_restarted(struct trial *trial) {
    copies_of(trial)->n = 0;
}

static int64_t version_of(const struct json *object) {
    return strtoll(rules_text(object, "metadata", NULL, "resourceVersion"), NULL, 10);
}

// Of `status` after the patch, which may be NULL.
static void read_counts(const struct json *status, const struct json *patch, int64_t counts[COUNTS]) {
    static const char *const names[COUNTS] = {"active", "ready", "terminating"};
    for (size_t i = 0; i < COUNTS; i++) {
        const struct json *count = json_get(patch, names[i]);
        counts[i] = json_int64(count ? count : json_get(status, names[i]), 0);
    }
}

static struct copied *find(struct trial *trial, const char *uid) {
    struct copies *copies = copies_of(trial);
    for (size_t i = 0; i < copies->n; i++)
        if (strcmp(copies->all[i].uid, uid) == 0)
            return &copies->all[i];
    if (copies->n == RULES_WORKLOADS)
        return NULL;
    struct copied *copied = &copies->all[copies->n++];
    *copied = (struct copied){0};
    text_copy(copied->uid, sizeof copied->uid, uid);
    return copied;
}

void status_written(struct trial *trial, const struct json *mirror) {
    struct status_rules *rules = trial->status;
    if (rules->n_states == STATES)
        return;
    struct state *state = &rules->states[rules->n_states++];
    text_copy(state->uid, sizeof state->uid, rules_text(mirror, "metadata", NULL, "uid"));
    state->version = version_of(mirror);
    read_counts(json_get(mirror, "status"), NULL, state->counts);
}

void status_told(struct trial *trial, const struct json *mirror) {
    struct copied *copied = find(trial, rules_text(mirror, "metadata", "labels", MARK_UID));
    const char *uid = rules_text(mirror, "metadata", NULL, "uid");
    int64_t version = version_of(mirror), counts[COUNTS];
    if (!copied || (strcmp(copied->mirror, uid) == 0 && version <= copied->version))
        return;
    read_counts(json_get(mirror, "status"), NULL, counts);
    if (!copied->due && memcmp(counts, copied->counts, sizeof counts) != 0) {
        copied->due = true;
        copied->writes = copied->in_flight ? 1 : 0;
    }
    text_copy(copied->mirror, sizeof copied->mirror, uid);
    copied->version = version;
    memcpy(copied->counts, counts, sizeof counts);
}

// Its status follows from that of its only mirror, which the host watches.
static bool follows(struct trial *trial, const struct copied *copied, const struct tracked_workload *job,
                    const struct json *workload) {
    if (!workload || job->tampered || job->scaled || job->creates != 1 || trial->plan.back != TRIAL_BACK_NONE)
        return false;
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *mirror = trial_object(trial, c, 0, job->namespace_, job->name);
        if (mirror && strcmp(rules_text(mirror, "metadata", NULL, "uid"), copied->mirror) == 0)
            return trial->host->feeds[c][0].connected && !trial->host->silent[c] &&
                   mirror_attempt(mirror) == mirror_attempt(workload);
    }
    return false;
}

// The mirror had these counts in the version that the host was told of, or later: answers tell it of more. A guard's
// report may come first and be older, since the host has two threads for the two clusters.
static bool had_since(const struct trial *trial, const struct copied *copied, const int64_t counts[COUNTS]) {
    if (memcmp(counts, copied->counts, sizeof copied->counts) == 0)
        return true;
    for (size_t i = 0; i < trial->status->n_states; i++) {
        const struct state *state = &trial->status->states[i];
        if (strcmp(state->uid, copied->mirror) == 0 && (state->version > copied->version || guards_report(trial)) &&
            memcmp(state->counts, counts, sizeof state->counts) == 0)
            return true;
    }
    return false;
}

// What is sent is the newest, and it has not waited for more than one write of the same object (rule 5).
static void check_status(struct trial *trial, const struct copied *copied, const struct tracked_workload *job,
                         const struct json *body) {
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, 0, job->namespace_, job->name);
    if (!follows(trial, copied, job, workload))
        return;
    if (copied->due && copied->writes > 1)
        trial_fail(trial, "rule 5: a status of %s has waited for %u writes of the same object", job->name,
                   copied->writes);
    int64_t counts[COUNTS];
    read_counts(json_get(workload, "status"), json_get(body, "status"), counts);
    if (strcmp(rules_text(workload, "metadata", NULL, "resourceVersion"),
               rules_text(body, "metadata", NULL, "resourceVersion")) != 0)
        return; // it will be rejected
    if (!had_since(trial, copied, counts))
        trial_fail(trial, "pacing: a status of %s is sent that is older than the mirror's version %" PRId64, job->name,
                   copied->version);
}

void status_command(struct trial *trial, const struct command *command, const struct json *body) {
    const char *uid = rules_text(body, "metadata", NULL, "uid");
    const struct tracked_workload *job = rules_workload(trial, uid);
    struct copied *copied = job ? find(trial, uid) : NULL;
    if (!copied)
        return;
    if (command->request.verb == VERB_STATUS_PATCH) {
        check_status(trial, copied, job, body);
        copied->due = false;
    } else {
        copied->writes++;
    }
    copied->in_flight = command->id;
}

// One that was not accepted is sent again.
void status_answered(struct trial *trial, uint64_t command, bool accepted) {
    struct copies *copies = copies_of(trial);
    for (size_t i = 0; i < copies->n; i++) {
        struct copied *copied = &copies->all[i];
        if (copied->in_flight != command)
            continue;
        copied->in_flight = 0;
        copied->due = copied->due && accepted;
    }
}
