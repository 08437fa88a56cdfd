// SPDX-License-Identifier: Apache-2.0
// /api/v1/workers.
#include "core/serve/api/api_internal.h"

#include "core/kube/client/client.h"
#include "core/kube/object/object.h"

static const char *const watch_names[] = {[REFLECTOR_STARTING] = "Connecting",
                                          [REFLECTOR_CONNECTED] = "Watched",
                                          [REFLECTOR_LOST] = "Unreachable",
                                          [REFLECTOR_ABSENT] = "NotServed"};
static const char *const credentials_names[] = {[CREDENTIALS_NONE] = "none",
                                                [CREDENTIALS_TOKEN] = "token",
                                                [CREDENTIALS_CERTIFICATE] = "certificate",
                                                [CREDENTIALS_PLUGIN] = "plugin"};
static const char *const guard_names[] = {[GUARD_STATE_OFF] = "unknown",
                                          [GUARD_STATE_UNKNOWN] = "unknown",
                                          [GUARD_STATE_NONE] = "none",
                                          [GUARD_STATE_ALIVE] = "alive",
                                          [GUARD_STATE_FENCING] = "fencing"};
static const char *const capacity_names[] = {[CAPACITY_READING] = "unknown",
                                             [CAPACITY_KNOWN] = "known",
                                             [CAPACITY_STALE] = "stale",
                                             [CAPACITY_UNKNOWN] = "unknown"};

struct watches { // of a worker, by state
    size_t connected, lost, absent, starting, paused, eligible;
    const char *problem; // of one that is lost, or that the host lacks rights for, or NULL
};

static struct watches count_watches(const struct host_snapshot *snapshot, const struct stats_cluster *cluster) {
    struct watches count = {.problem = NULL};
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++) {
        const struct stats_watch *watch = &cluster->watches[k];
        count.connected += watch->state == REFLECTOR_CONNECTED;
        count.lost += watch->state == REFLECTOR_LOST;
        count.absent += watch->state == REFLECTOR_ABSENT;
        count.starting += watch->state == REFLECTOR_STARTING;
        count.paused += watch->paused;
        count.eligible += watch->eligible;
        if (watch->state == REFLECTOR_LOST && *watch->problem)
            count.problem = watch->problem;
        else if (*watch->denied)
            count.problem = watch->denied;
    }
    return count;
}

struct worker_state {
    const char *name, *reason;
};

// Orders of an operator.
static const struct {
    struct worker_state state;
    const char *drain;
} orders[WORKER_LEFT + 1] = {
    [WORKER_CORDONED] = {{"Cordoned", "nothing new is placed there"}, NULL},
    [WORKER_DRAIN_FINISH] = {{"Draining", "its workloads run to their end, and nothing new is placed there"}, "finish"},
    [WORKER_DRAIN_MOVE] = {{"Draining", "its workloads are moved to other workers"}, "move"},
};

// A reason that does not keep new work from the worker; NULL: none.
static const char *ready_reason(const struct stats_cluster *cluster, const struct watches *count) {
    if (count->problem) // of another kind
        return count->problem;
    if (cluster->statuses_wait)
        return "its statuses take more space in the management cluster than rateLimit.statusBytes allows, and are "
               "copied later";
    return cluster->suspect ? "it finishes workloads far faster than other workers: compare their results" : NULL;
}

// `failing` is the sentence about a worker in which workloads fail.
static struct worker_state state_of(const struct stats_cluster *cluster, const struct watches *count,
                                    const char *failing) {
    bool silent = cluster->contact == CONTACT_LOST;
    if (*cluster->refused)
        return (struct worker_state){"Refused", cluster->refused};
    if (cluster->contact == CONTACT_REJECTED)
        return (struct worker_state){"Rejected", cluster->rejected};
    if (silent || (count->lost > 0 && count->connected == 0))
        return (struct worker_state){"Unreachable",
                                     !silent && count->problem ? count->problem : "its API server does not answer"};
    if (cluster->contact == CONTACT_SUSPECT)
        return (struct worker_state){
            "Suspect", "its API server is silent, late or refuses connections: nothing new is placed there"};
    if (cluster->leaving)
        return (struct worker_state){"Leaving", "it is not configured any longer, and leaves when nothing runs there"};
    if (orders[cluster->policy].state.name)
        return orders[cluster->policy].state;
    if (cluster->failing)
        return (struct worker_state){"Suspect", failing};
    if (count->eligible > 0)
        return (struct worker_state){"Ready", ready_reason(cluster, count)};
    if (count->paused > 0)
        return (struct worker_state){
            "Paused", "it has too many mirrors without a workload: nothing new is placed there until there are fewer"};
    return (struct worker_state){"Connecting", count->starting > 0 || count->connected > 0
                                                   ? "it is being listed or identified"
                                                   : "it serves none of the enabled kinds"};
}

static void put_kinds(const struct host_snapshot *snapshot, const struct stats_cluster *cluster, struct writer *out) {
    writer_array(out, "kinds");
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++) {
        const struct stats_watch *watch = &cluster->watches[k];
        writer_object(out, NULL);
        api_put_kind(&snapshot->kinds[k]->abi, out);
        api_put(out, "state=%s eligible=%d paused=%d problem=%s", watch_names[watch->state], watch->eligible,
                watch->paused, api_filled(watch->problem));
        writer_end(out, '}');
    }
    writer_end(out, ']');
}

static void put_latency(const struct histogram *recent, struct writer *out) {
    int64_t half_ns = histogram_quantile(recent, METER_RECENT_NS, 0.5);
    writer_object(out, "latencySeconds");
    if (half_ns > 0) {
        writer_seconds(out, "p50", half_ns);
        writer_seconds(out, "p99", histogram_quantile(recent, METER_RECENT_NS, 0.99));
    }
    writer_end(out, '}');
}

// "region=eu,gpu=yes" as an object.
static void put_labels(const char *labels, struct writer *out) {
    AUTO_TEXT copy = strdup(labels ? labels : "");
    out->out->failed |= !copy;
    writer_object(out, "labels");
    for (char *rest = copy, *value; rest && *rest;) {
        value = strsep(&rest, ",");
        const char *name = strsep(&value, "=");
        writer_string(out, name, value ? value : "");
    }
    writer_end(out, '}');
}

// Null where fencing is not enabled.
static void put_guard(const struct host_snapshot *snapshot, const struct stats_cluster *cluster, struct writer *out) {
    if (snapshot->features.fencing)
        api_put_object(out, "guard", "state=%s since=%jd guards=%ju", guard_names[cluster->guard],
                       cluster->guard_since_ns, cluster->guards);
    else
        writer_null(out, "guard");
}

static void put_quantity(const char *key, const char *resource, int64_t amount, struct writer *out) {
    AUTO_BUFFER(text, QUANTITY_MAX);
    quantity_put(&text, resource, amount);
    writer_string(out, key, text.data);
}

// Null where the capacity is not tracked.
static void put_capacity(const struct stats_capacity *capacity, struct writer *out) {
    if (capacity->state == CAPACITY_OFF) {
        writer_null(out, "capacity");
        return;
    }
    writer_object(out, "capacity");
    api_put(out, "state=%s problem=%s nodes=%ju", capacity_names[capacity->state], api_filled(capacity->problem),
            capacity->nodes);
    writer_array(out, "resources");
    for (size_t r = 0; r < capacity->n_resources; r++) {
        const struct stats_resource *resource = &capacity->resources[r];
        writer_object(out, NULL);
        writer_string(out, "name", resource->name);
        put_quantity("allocatable", resource->name, resource->allocatable, out);
        put_quantity("free", resource->name, resource->left, out);
        writer_end(out, '}');
    }
    writer_end(out, ']');
    writer_end(out, '}');
}

static void put_worker(const struct host_snapshot *snapshot, size_t c, struct writer *out) {
    const struct stats_cluster *cluster = &snapshot->stats.clusters[c];
    const struct cluster_reading *reading = &snapshot->readings[c];
    const struct meter_reading *meter = &reading->meter;
    struct watches count = count_watches(snapshot, cluster);
    AUTO_TEXT failing = cluster->failing ? text_format("several workloads failed there within minutes for the same "
                                                       "reason, %s: nothing new is placed there for 10 minutes, or "
                                                       "until wharf uncordon",
                                                       cluster->failing_for)
                                         : NULL;
    struct worker_state state = state_of(cluster, &count, failing);
    uint64_t waiting = 0;
    for (size_t w = 0; w < WORK_CLASSES; w++)
        waiting += cluster->waiting[w];
    writer_object(out, NULL);
    api_put(out, "name=%s state=%s reason=%s source=%s from=%s", snapshot->names[c], state.name, state.reason,
            cluster->source, cluster->from);
    put_labels(cluster->labels, out);
    api_put(out, "cordoned=%d drain=%s leaving=%d failing=%s contact=%s", cluster->policy != WORKER_ACTIVE,
            orders[cluster->policy].drain, cluster->leaving, cluster->failing ? cluster->failing_for : NULL,
            contact_name(stats_contact(&snapshot->stats, c)));
    if (reading->unheard)
        writer_null(out, "lastContactSeconds");
    else
        writer_seconds(out, "lastContactSeconds", reading->silence_ns);
    writer_uint(out, "active", cluster->active);
    if (cluster->max_active > 0)
        writer_uint(out, "maxActive", cluster->max_active);
    api_put(out, "mirrors=%ju waiting=%ju window=%ju inFlight=%ju", cluster->mirrors, waiting, cluster->window,
            cluster->in_flight);
    api_put_object(out, "credentials", "kind=%s expiresAt=%jd", credentials_names[meter->credentials],
                   meter->token_ns > 0 ? meter->token_ns : meter->expires_ns);
    put_guard(snapshot, cluster, out);
    put_capacity(&cluster->capacity, out);
    put_latency(&reading->recent, out);
    put_kinds(snapshot, cluster, out);
    writer_end(out, '}');
}

void api_show_workers(const struct api_source *source, const struct host_snapshot *snapshot, struct writer *out) {
    (void)source;
    writer_array(out, "items");
    for (size_t c = 1; c < snapshot->stats.n_clusters; c++)
        put_worker(snapshot, c, out);
    writer_end(out, ']');
}
