// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/queues.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/simulation/rules.h"

#include <stdlib.h>
#include <string.h>

#define TICK_NS (700 * CLOCK_MS)
#define QUOTA 4 // pods, in each worker
#define TICKETS 256
#define GROUP "kueue.x-k8s.io"
#define QUOTA_STATUS(reserved, admitted, evicted)                                                                      \
    "{\"status\":{\"conditions\":[" CONDITION("QuotaReserved", reserved) "," CONDITION(                                \
        "Admitted", admitted) "," CONDITION("Evicted", evicted) "]}}"
#define CONDITION(type, status)                                                                                        \
    "{\"type\":\"" type "\",\"status\":\"" status                                                                      \
    "\",\"reason\":\"Played\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}"

struct ticket { // the queue's state of a Job
    char uid[40];
    bool admitted, suspended; // by the queue, which was the last to do so
    int64_t pods;             // that it requests
};

struct queues {
    bool in[TRIAL_CLUSTERS];
    bool over;
    int64_t next_ns;
    struct ticket tickets[TICKETS];
    size_t n;
};

struct queues *queues_new(struct trial *trial) {
    struct queues *queues = calloc(1, sizeof *queues);
    if (!queues)
        return NULL;
    queues->next_ns = trial->plan.queues ? trial->now_ns + TICK_NS : CLOCK_NEVER;
    for (size_t c = 1; c < trial->plan.n_clusters && trial->plan.queues; c++)
        queues->in[c] = trial_chance(trial, 70);
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        if (queues->in[c] &&
            !world_register(trial->worlds[c],
                            &(struct world_kind){
                                .group = GROUP, .versions = {"v1beta2"}, .plural = "workloads", .kind = "Workload"}))
            abort();
    return queues;
}

bool queues_has(const struct trial *trial, size_t cluster) {
    return trial->queues && trial->queues->in[cluster];
}

void queues_admit(const struct trial *trial, size_t cluster, struct json *job) {
    if (!queues_has(trial, cluster))
        return;
    if (!pointer_set(job, "/spec/suspend", json_new_bool(true)) ||
        !pointer_set(job, "/metadata/labels/kueue.x-k8s.io~1queue-name", json_new_string("default")))
        abort();
}

static bool is_suspended(const struct json *job) {
    return json_bool(json_path(job, "spec", "suspend", NULL), false);
}

static struct ticket *ticket_of(struct queues *queues, const struct json *job) {
    for (size_t i = 0; i < queues->n; i++)
        if (strcmp(queues->tickets[i].uid, object_uid(job)) == 0)
            return &queues->tickets[i];
    if (queues->n == TICKETS)
        return NULL;
    struct ticket *ticket = &queues->tickets[queues->n++];
    text_copy(ticket->uid, sizeof ticket->uid, object_uid(job));
    ticket->pods = json_int64(json_path(job, "spec", "parallelism", NULL), 1);
    ticket->suspended = is_suspended(job);
    return ticket;
}

void queues_written(struct trial *trial, size_t cluster, const struct world_write *write) {
    if (!queues_has(trial, cluster) || !write->now || strcmp(write->plural, "jobs") != 0)
        return;
    struct ticket *ticket = ticket_of(trial->queues, write->now);
    bool before = is_suspended(write->old), after = is_suspended(write->now);
    const struct tracked_workload *job = rules_workload(trial, object_label(write->now, "wharf.dev/uid"));
    const char *record = object_annotation(write->now, "wharf.dev/carried");
    // If both suspended it, the host without knowing of the queue, either may resume it.
    if (ticket && after && record && text_has_prefix(record, "v2:s"))
        ticket->suspended = false;
    if (!ticket || !write->old || before == after)
        return;
    // Intermediate states are not always observed: the host may rely on its own last decision.
    const char *last = object_annotation(write->old, "wharf.dev/carried");
    bool its_own = last && text_has_prefix(last, "v2:s");
    if (!after && ticket->suspended && !its_own && !(job && job->tampered))
        trial_fail(trial, "rule 10: %s in %s was resumed although the queue suspended it", write->name,
                   world_name(trial->worlds[cluster]));
    ticket->suspended = false;
}

static void patch(struct trial *trial, size_t cluster, const struct json *job, const char *text) {
    AUTO_TEXT space = strdup(object_namespace(job));
    AUTO_TEXT name = strdup(object_name(job));
    trial->user_acts = true;
    world_patch(trial->worlds[cluster], "batch", "jobs", space, name, NULL, text, trial->now_ns);
    trial->user_acts = false;
}

static char *workload_name(const struct json *job) {
    return text_format("job-%s-%.8s", object_name(job), object_uid(job));
}

// Whether the Job's Workload is active; it is made if it is missing.
static bool is_active(struct trial *trial, size_t cluster, const struct json *job) {
    AUTO_TEXT name = workload_name(job);
    const struct json *there = world_object(trial->worlds[cluster], GROUP, "workloads", object_namespace(job), name);
    if (there)
        return json_bool(json_path(there, "spec", "active", NULL), true);
    AUTO_TEXT text =
        text_format("{\"apiVersion\":\"" GROUP
                    "/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                    "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":\"%s\","
                    "\"controller\":true}]},\"spec\":{\"active\":true,\"queueName\":\"default\"}}",
                    name, object_namespace(job), object_name(job), object_uid(job));
    AUTO_JSON workload = NULL;
    if (json_parse(text, strlen(text), &workload))
        abort();
    trial->user_acts = true;
    world_apply(trial->worlds[cluster], GROUP, "workloads", workload, trial->now_ns);
    trial->user_acts = false;
    return true;
}

static void set_status(struct trial *trial, size_t cluster, const struct json *job, const char *status) {
    AUTO_TEXT name = workload_name(job);
    AUTO_TEXT space = strdup(object_namespace(job));
    trial->user_acts = true;
    world_patch(trial->worlds[cluster], GROUP, "workloads", space, name, "status", status, trial->now_ns);
    trial->user_acts = false;
}

void queues_activated(struct trial *trial, const struct world_write *write) {
    bool before = json_bool(json_path(write->old, "spec", "active", NULL), true);
    bool after = json_bool(json_path(write->now, "spec", "active", NULL), true);
    bool ours = object_annotation(write->old, KUEUE_DEACTIVATED), is = object_annotation(write->now, KUEUE_DEACTIVATED);
    if (write->status < 300 && (write->verb != WORLD_UPDATE || (!before && after && !ours) || after == is))
        trial_fail(trial, "rule 10: the Workload %s was written, other than to hold its user's suspension",
                   write->name);
}

// As the garbage collector does.
static void drop_workloads(struct trial *trial, size_t cluster) {
    const void *cursor = NULL;
    const struct json *workload;
    while ((workload = world_next(trial->worlds[cluster], GROUP, "workloads", &cursor))) {
        const struct json *owner = object_controller(workload);
        const struct json *job = world_object(trial->worlds[cluster], "batch", "jobs", object_namespace(workload),
                                              json_string_or(json_get(owner, "name"), ""));
        if (job && text_equal(object_uid(job), json_string(json_get(owner, "uid"))))
            continue;
        AUTO_TEXT space = strdup(object_namespace(workload));
        AUTO_TEXT name = strdup(object_name(workload));
        trial->user_acts = true;
        world_delete(trial->worlds[cluster], GROUP, "workloads", space, name, NULL, trial->now_ns);
        trial->user_acts = false;
        return; // the next one another time: the cursor is no longer valid
    }
}

static void stop(struct trial *trial, size_t cluster, const struct json *job, struct ticket *ticket) {
    AUTO_TEXT text = text_format("{\"spec\":{\"suspend\":true,\"parallelism\":%lld}}", (long long)ticket->pods);
    ticket->admitted = false;
    ticket->suspended = true;
    patch(trial, cluster, job, text);
    set_status(trial, cluster, job, QUOTA_STATUS("False", "False", "True"));
}

static void admit(struct trial *trial, size_t cluster, const struct json *job, struct ticket *ticket, int64_t room) {
    const char *mode = json_string_or(json_path(job, "spec", "completionMode", NULL), "");
    bool partial = ticket->pods > room && strcmp(mode, "Indexed") != 0;
    const struct json *status = json_get(job, "status");
    // As the API server has it (shouldAllowMutablePodTemplate).
    bool mutable = json_int64(json_get(status, "active"), 0) == 0 &&
                   (!json_get(status, "startTime") || rules_condition(job, "Suspended"));
    if (!mutable || room < 1)
        return;
    AUTO_TEXT text = text_format("{\"spec\":{\"suspend\":false,\"parallelism\":%lld,"
                                 "\"template\":{\"spec\":{\"nodeSelector\":{\"flavor\":\"f%llu\"}}}}}",
                                 (long long)(partial ? room : ticket->pods), (unsigned long long)trial_below(trial, 3));
    ticket->admitted = true;
    ticket->suspended = false;
    patch(trial, cluster, job, text);
    set_status(trial, cluster, job, QUOTA_STATUS("True", "True", "False"));
}

static bool is_over(const struct json *job) {
    return rules_condition(job, "Complete") || rules_condition(job, "Failed") || object_is_being_deleted(job);
}

static int64_t look_at(struct trial *trial, size_t cluster, const struct json *job, int64_t room) {
    struct ticket *ticket = ticket_of(trial->queues, job);
    if (!ticket || is_over(job))
        return room;
    bool suspended = is_suspended(job), active = is_active(trial, cluster, job);
    if (ticket->admitted && suspended)
        ticket->admitted = false; // somebody else did: it is resumed, as its Workload is active
    else if ((!active && !suspended) ||
             (ticket->admitted ? !trial->queues->over && trial_chance(trial, 5) : !suspended))
        stop(trial, cluster, job, ticket);
    else if (!ticket->admitted && active)
        admit(trial, cluster, job, ticket, room);
    return ticket->admitted ? room - ticket->pods : room;
}

static void look_in(struct trial *trial, size_t cluster) {
    AUTO_JSON copies = json_new_array(); // of those that may change
    size_t n = 0;
    const void *cursor = NULL;
    for (const struct json *job; n < TICKETS && (job = world_next(trial->worlds[cluster], "batch", "jobs", &cursor));) {
        if (!object_label(job, KUEUE_QUEUE_NAME) || object_controller(job))
            continue;
        n++;
        if (ticket_of(trial->queues, job) && !is_over(job) && !json_append(copies, json_copy(job)))
            abort();
    }
    int64_t room = trial->queues->over ? INT32_MAX : QUOTA;
    for (const struct json *job = json_first(copies); job; job = json_next(job))
        room = look_at(trial, cluster, job, room);
}

int64_t queues_due(const struct trial *trial) {
    return trial->queues->next_ns;
}

void queues_act(struct trial *trial) {
    struct queues *queues = trial->queues;
    if (queues->next_ns > trial->now_ns)
        return;
    queues->next_ns = trial->now_ns + TICK_NS;
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        if (queues->in[c]) {
            look_in(trial, c);
            drop_workloads(trial, c);
        }
}

void queues_end(struct trial *trial) {
    trial->queues->over = true;
}
