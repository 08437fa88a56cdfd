// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/promise_rules.h"

#include "core/engine/mirror/mirror.h"
#include "tests/simulation/members.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/steady.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_AT_ONCE 25 // of a workload and a reason (docs/events.md), and one more every 5 minutes
#define EVENTS_EVERY_NS (5 * CLOCK_MINUTE)
#define TOLD 1024
#define TEXT_MAX 1024      // of an Event's note (events.k8s.io/v1)
#define LISTS_A_MINUTE 100 // lists, watches and discovery, and as many for each kind: streams that break are reopened

struct told { // Events of one workload and reason
    char uid[40], reason[40];
    int64_t since_ns;
    unsigned count, process;
};

struct promises {
    struct heard {
        bool read;        // in the present process of that replica
        char uid[40];     // the last one
        char before[40];  // the first, when it last left: the engine may expect that one again
        int64_t since_ns; // of `requests`
        unsigned requests;
    } hosts[TRIAL_HOSTS][TRIAL_CLUSTERS];
    struct told told[TOLD];
    size_t n_told;
};

static struct heard *clusters_of(const struct trial *trial) {
    return trial->promises->hosts[trial->host->index];
}

struct promises *promises_new(void) {
    return calloc(1, sizeof(struct promises));
}

void promises_restarted(struct trial *trial) {
    memset(clusters_of(trial), 0, sizeof trial->promises->hosts[0]);
}

void promises_connected(struct trial *trial, size_t cluster) {
    clusters_of(trial)[cluster].requests = 0;
}

void promises_identity(struct trial *trial, size_t cluster, const char *uid) {
    trial_trace(trial, "host: the uid of %s is \"%s\", the first was \"%s\"", world_name(trial->worlds[cluster]), uid,
                trial->host->identity[cluster]);
    clusters_of(trial)[cluster].read = true;
    if (*uid) // where it cannot be read any longer, the last one counts
        text_copy(clusters_of(trial)[cluster].uid, sizeof clusters_of(trial)->uid, uid);
}

void promises_left(struct trial *trial, size_t cluster) {
    if (*trial->host->identity[cluster])
        text_copy(clusters_of(trial)[cluster].before, sizeof clusters_of(trial)->before,
                  trial->host->identity[cluster]);
    clusters_of(trial)[cluster].read = false;
    clusters_of(trial)[cluster].uid[0] = '\0';
}

static bool is_other(const struct trial *trial, size_t cluster) {
    const char *uid = clusters_of(trial)[cluster].uid;
    return *uid && strcmp(uid, trial->host->identity[cluster]) != 0 &&
           strcmp(uid, clusters_of(trial)[cluster].before) != 0;
}

// Rule 9: nothing is written before it is known which cluster that is, nor to another one, nor while the management
// cluster is another one.
static void check_identity(struct trial *trial, size_t cluster) {
    size_t both[] = {ENGINE_MANAGEMENT, cluster};
    for (size_t i = 0; i < 2; i++) {
        const char *name = world_name(trial->worlds[both[i]]);
        if (!clusters_of(trial)[both[i]].read)
            trial_fail(trial, "rule 9: a write to %s before the uid of %s was read", world_name(trial->worlds[cluster]),
                       name);
        else if (is_other(trial, both[i]))
            trial_fail(trial, "rule 9: a write to %s while %s is another cluster", world_name(trial->worlds[cluster]),
                       name);
    }
}

// Somebody else wrote the annotations, or they were restored.
static bool is_clean(const struct trial *trial, const struct tracked_workload *job) {
    return job && !job->tampered && trial->plan.back == TRIAL_BACK_NONE;
}

// The label says what the annotation says, and is written with it.
static void check_record(struct trial *trial, const char *name, const struct json *object) {
    const char *cluster = rules_text(object, "metadata", "annotations", MARK_CLUSTER);
    const char *label = rules_text(object, "metadata", "labels", MARK_CLUSTER);
    if (mirror_attempt(object) == 0)
        trial_fail(trial, "%s is placed with attempt \"%s\"", name,
                   rules_text(object, "metadata", "annotations", MARK_ATTEMPT));
    if (strcmp(cluster, label) != 0)
        trial_fail(trial, "%s is placed in %s, and its label says \"%s\"", name, cluster, label);
}

// The record of intent comes first: a host that is restarted must find it.
static void check_intent(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror) {
    const struct tracked_workload *job = rules_workload(trial, rules_text(mirror, "metadata", "labels", MARK_UID));
    const struct json *workload = job ? trial_object(trial, ENGINE_MANAGEMENT, kind, job->namespace_, job->name) : NULL;
    if (!workload || !is_clean(trial, job) || strcmp(rules_text(workload, "metadata", NULL, "uid"), job->uid) != 0)
        return;
    const char *named = rules_text(workload, "metadata", "annotations", MARK_CLUSTER);
    if (strcmp(named, world_name(trial->worlds[cluster])) != 0 || mirror_attempt(workload) != mirror_attempt(mirror))
        trial_fail(trial, "attempt %u of %s is created in %s while its annotations say \"%s\", attempt %u",
                   mirror_attempt(mirror), job->name, world_name(trial->worlds[cluster]), named,
                   mirror_attempt(workload));
}

// mirrorFinalizer: the mirror of a finished workload stays until its final status is written.
static void check_release(struct trial *trial, const struct request *request, size_t cluster, size_t kind,
                          const struct json *body) {
    const struct tracked_mirror *mirror = rules_mirror(trial, rules_text(body, "metadata", NULL, "uid"));
    const struct tracked_workload *job = mirror ? rules_workload(trial, mirror->workload) : NULL;
    const struct json *there = trial_object(trial, cluster, kind, request->namespace_, request->name);
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, kind, request->namespace_, request->name);
    // Where a policy takes marks, the mirror is deleted as rejected.
    if (!there || !workload || !is_clean(trial, job) || job->stray || pests_rule(trial, cluster) ||
        !rules_was_final(trial, mirror) || strcmp(rules_text(workload, "metadata", NULL, "uid"), job->uid) != 0 ||
        *rules_text(workload, "metadata", NULL, "deletionTimestamp") || !trial_is_ours(trial, kind, workload) ||
        mirror_attempt(workload) != mirror->attempt)
        return;
    if (!sim_finished(trial->kinds[kind], workload))
        trial_fail(trial, "the mirror of %s is released before its final status is written", job->name);
}

void promises_command(struct trial *trial, const struct command *command, size_t kind, const struct json *body) {
    const struct request *request = &command->request;
    bool patch = request->verb == VERB_MERGE_PATCH;
    if (!members_knows(trial, command->cluster))
        trial_fail(trial, "a request about %s to %s, which has left", request->name,
                   world_name(trial->worlds[command->cluster]));
    if (request->verb == VERB_GET || request->verb == VERB_RAW_GET)
        return;
    check_identity(trial, command->cluster);
    if (kind == trial->n_kinds)
        return;
    if (patch && command->cluster == ENGINE_MANAGEMENT && json_path(body, "metadata", "annotations", NULL))
        check_record(trial, request->name, body);
    else if (request->verb == VERB_CREATE)
        check_intent(trial, command->cluster, kind, body);
    else if (patch && command->cluster != ENGINE_MANAGEMENT && json_path(body, "metadata", "finalizers", NULL))
        check_release(trial, request, command->cluster, kind, body);
}

// An attempt is one more than the one before it, if any, and is never recorded for two clusters. Where the record of a
// process that has ended arrives late, the next one restores what its mirror says.
void promises_placed(struct trial *trial, const struct tracked_workload *job, const struct world_write *write) {
    if (write->noop || !is_clean(trial, job))
        return;
    check_record(trial, write->name, write->now);
    uint32_t before = mirror_attempt(write->old), after = mirror_attempt(write->now);
    bool moved = strcmp(rules_text(write->old, "metadata", "annotations", MARK_CLUSTER),
                        rules_text(write->now, "metadata", "annotations", MARK_CLUSTER)) != 0;
    if (after > before + 1 || (after < before + moved && !job->stray))
        trial_fail(trial, "%s goes from attempt %u to attempt %u%s", write->name, before, after,
                   moved ? " in another cluster" : "");
}

static bool names_cluster(const struct trial *trial, const char *text) {
    for (size_t c = 0; c < trial->plan.n_clusters; c++)
        if (strstr(text, world_name(trial->worlds[c])))
            return true;
    return false;
}

// Whoever reads one must see where to look.
void promises_event(struct trial *trial, const struct workload_event *event) {
    // About the workload itself, any cluster, or one that is not in the configuration.
    static const char *const general[] = {
        "NotDelegated",     "OwnedByKueue",        "HadFinished",     "StatusRewritten",  "AnotherHost",
        "Waiting",          "AlsoRunHere",         "Unschedulable",   "NotCarried",       "AlreadyStarted",
        "ClusterSelector",  "TooManyAttempts",     "Refused",         "FieldsDropped",    "TooLarge",
        "UnknownCluster",   "AnnotationsTooLarge", "NamespaceDenied", "TooManyWorkloads", "AdapterFailed",
        "MissingDependency"};
    trial_trace(trial, "host: Event %s on %s: %s", event->reason, event->name, event->text);
    struct tracked_workload *told = rules_workload(trial, event->uid);
    need_rules_text(trial, event->text);
    progress_event(trial, event);
    if (told && strcmp(event->reason, "GaveUp") == 0)
        told->gave_up = true;
    if (told && strcmp(event->reason, "Withdrawn") == 0)
        told->withdrawn++;
    if (told && strcmp(event->reason, "Fenced") == 0)
        told->fenced = true;
    if (told && strcmp(event->reason, "AlsoRunHere") == 0)
        told->also_run = true;
    if (strcmp(event->reason, "Withdrawn") == 0)
        steady_moved(trial, event->uid, 1);
    if (strcmp(event->reason, "Rescheduled") == 0 && text_has_prefix(event->text, "the mirror did not start in "))
        steady_moved(trial, event->uid, 3);
    if (told && strcmp(event->reason, "NamespaceDenied") == 0)
        told->denied = true;
    // Of one that was restored from a backup nobody may know it.
    bool named = names_cluster(trial, event->text) || strcmp(event->text, "there are no workers") == 0 ||
                 strstr(event->text, "workers accept it: ") || // of many workers only the reasons
                 text_has_prefix(event->text, "succeeded (") || text_has_prefix(event->text, "failed (") ||
                 strstr(event->text, " in nowhere "); // which users write
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        named |= strcmp(event->reason, general[i]) == 0;
    if (!named)
        trial_fail(trial, "Event %s on %s names no cluster: %s", event->reason, event->name, event->text);
    if (!*event->text || strlen(event->text) > TEXT_MAX)
        trial_fail(trial, "Event %s on %s has a text of %zu bytes", event->reason, event->name, strlen(event->text));
}

static struct told *told_of(struct trial *trial, const char *uid, const char *reason) {
    struct promises *promises = trial->promises;
    for (size_t i = 0; i < promises->n_told; i++)
        if (strcmp(promises->told[i].uid, uid) == 0 && strcmp(promises->told[i].reason, reason) == 0)
            return &promises->told[i];
    if (promises->n_told == TOLD)
        return NULL;
    struct told *told = &promises->told[promises->n_told++];
    text_copy(told->uid, sizeof told->uid, uid);
    text_copy(told->reason, sizeof told->reason, reason);
    return told;
}

void promises_told(struct trial *trial, const struct json *event) {
    const char *reason = json_string_or(json_get(event, "reason"), "");
    struct told *told = told_of(trial, rules_text(event, "regarding", NULL, "uid"), reason);
    if (!told)
        return;
    if (told->process != trial->host->number) // which has forgotten how many there were
        told->process = trial->host->number, told->count = 0, told->since_ns = trial->now_ns;
    int64_t more = (trial->now_ns - told->since_ns) / EVENTS_EVERY_NS;
    unsigned processes = trial->plan.elects ? trial->processes : 1;
    if (++told->count > EVENTS_AT_ONCE * processes + more)
        trial_fail(trial, "%u Events %s on %s", told->count, reason, rules_text(event, "regarding", NULL, "name"));
}

void promises_request(struct trial *trial, size_t cluster, const struct http_request *request) {
    unsigned *requests = &clusters_of(trial)[cluster].requests;
    int64_t *since_ns = &clusters_of(trial)[cluster].since_ns;
    if (trial->now_ns - *since_ns > CLOCK_MINUTE) {
        *since_ns = trial->now_ns;
        *requests = 0;
    }
    size_t watched = 1 + trial->n_kinds + needs_count(trial);
    if (++*requests > LISTS_A_MINUTE * watched)
        trial_fail(trial, "rule 8: %u lists, watches and the like of %s in a minute, the last one %s", *requests,
                   world_name(trial->worlds[cluster]), request->path);
}
