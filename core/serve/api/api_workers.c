// SPDX-License-Identifier: Apache-2.0
// /api/v1/workers.
#include "core/serve/api/api_internal.h"

#include "core/base/text.h"
#include "core/kube/client/meter.h"
#include "core/kube/object/quantity.h"

#include <stdio.h>
#include <string.h>

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

// Why the worker is unusable; NULL: usable.
static const char *broken_state(const struct stats_cluster *cluster, const struct watches *count, const char **reason) {
    bool silent = cluster->contact == CONTACT_LOST;
    if (*cluster->refused) {
        *reason = cluster->refused;
        return "Refused";
    }
    if (cluster->contact == CONTACT_REJECTED) {
        *reason = cluster->rejected;
        return "Rejected";
    }
    if (!silent && (count->lost == 0 || count->connected > 0))
        return NULL;
    *reason = !silent && count->problem ? count->problem : "its API server does not answer";
    return "Unreachable";
}

// Whether an operator closed the worker; NULL: no.
static const char *closed_state(const struct stats_cluster *cluster, const char **reason) {
    if (cluster->leaving)
        *reason = "it is not configured any longer, and leaves when nothing runs there";
    else if (cluster->policy == WORKER_DRAIN_MOVE)
        *reason = "its workloads are moved to other workers";
    else if (cluster->policy == WORKER_DRAIN_FINISH)
        *reason = "its workloads run to their end, and nothing new is placed there";
    else if (cluster->policy == WORKER_CORDONED)
        *reason = "nothing new is placed there";
    else
        return NULL;
    return cluster->leaving ? "Leaving" : cluster->policy == WORKER_CORDONED ? "Cordoned" : "Draining";
}

static const char *state_of(const struct stats_cluster *cluster, const struct watches *count, const char **reason) {
    *reason = NULL;
    const char *broken = broken_state(cluster, count, reason);
    if (broken)
        return broken;
    if (cluster->contact == CONTACT_SUSPECT) {
        *reason = "its API server is silent, late or refuses connections: nothing new is placed there";
        return "Suspect";
    }
    const char *closed = closed_state(cluster, reason);
    if (closed)
        return closed;
    if (count->eligible > 0) {
        *reason = count->problem           ? count->problem // of another kind
                  : cluster->statuses_wait ? "its statuses take more space in the management cluster than "
                                             "rateLimit.statusBytes allows, and are copied later"
                  : cluster->suspect ? "it finishes workloads far faster than other workers: compare their results"
                                     : NULL;
        return "Ready";
    }
    if (count->paused > 0) {
        *reason = "it has too many mirrors without a workload: nothing new is placed there until there are fewer";
        return "Paused";
    }
    *reason = count->starting > 0 || count->connected > 0 ? "it is being listed or identified"
                                                          : "it serves none of the enabled kinds";
    return "Connecting";
}

static const char *watch_name(enum reflector_state state) {
    static const char *const names[] = {[REFLECTOR_STARTING] = "Connecting",
                                        [REFLECTOR_CONNECTED] = "Watched",
                                        [REFLECTOR_LOST] = "Unreachable",
                                        [REFLECTOR_ABSENT] = "NotServed"};
    return names[state];
}

static void put_kinds(const struct host_snapshot *snapshot, const struct stats_cluster *cluster, struct writer *out) {
    writer_array(out, "kinds");
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++) {
        const struct stats_watch *watch = &cluster->watches[k];
        writer_object(out, NULL);
        api_put_kind(&snapshot->kinds[k]->abi, out);
        writer_string(out, "state", watch_name(watch->state));
        writer_bool(out, "eligible", watch->eligible);
        writer_bool(out, "paused", watch->paused);
        writer_string(out, "problem", *watch->problem ? watch->problem : NULL);
        writer_end(out, '}');
    }
    writer_end(out, ']');
}

static void put_latency(const struct histogram *recent, struct writer *out) {
    int64_t half_ns = histogram_quantile(recent, METER_RECENT_NS, 0.5);
    int64_t most_ns = histogram_quantile(recent, METER_RECENT_NS, 0.99);
    writer_object(out, "latencySeconds");
    if (half_ns > 0) {
        writer_seconds(out, "p50", half_ns);
        writer_seconds(out, "p99", most_ns);
    }
    writer_end(out, '}');
}

// "region=eu,gpu=yes" as an object.
static void put_labels(const char *labels, struct writer *out) {
    writer_object(out, "labels");
    for (const char *at = labels; at && *at;) {
        size_t key = strcspn(at, "=,"), value = at[key] == '=' ? strcspn(at + key + 1, ",") : 0;
        char name[320], text[64 + 1];
        snprintf(name, sizeof name, "%.*s", (int)key, at);
        snprintf(text, sizeof text, "%.*s", (int)value, at[key] == '=' ? at + key + 1 : "");
        writer_string(out, name, text);
        at += key + (at[key] == '=') + value;
        at += *at == ',';
    }
    writer_end(out, '}');
}

// The source and the policy of a worker.
static void put_origin(const struct stats_cluster *cluster, struct writer *out) {
    enum worker_policy policy = cluster->policy;
    writer_string(out, "source", cluster->source);
    writer_string(out, "from", cluster->from);
    put_labels(cluster->labels, out);
    writer_bool(out, "cordoned", policy != WORKER_ACTIVE);
    writer_string(out, "drain", policy == WORKER_DRAIN_FINISH ? "finish" : policy == WORKER_DRAIN_MOVE ? "move" : NULL);
    writer_bool(out, "leaving", cluster->leaving);
}

static void put_credentials(const struct meter_reading *meter, struct writer *out) {
    static const char *const kinds[] = {[CREDENTIALS_NONE] = "none",
                                        [CREDENTIALS_TOKEN] = "token",
                                        [CREDENTIALS_CERTIFICATE] = "certificate",
                                        [CREDENTIALS_PLUGIN] = "plugin"};
    writer_object(out, "credentials");
    writer_string(out, "kind", kinds[meter->credentials]);
    writer_time(out, "expiresAt", meter->token_ns > 0 ? meter->token_ns : meter->expires_ns);
    writer_end(out, '}');
}

// Null where fencing is not enabled.
static void put_guard(const struct host_snapshot *snapshot, const struct stats_cluster *cluster, struct writer *out) {
    static const char *const states[] = {[GUARD_STATE_OFF] = "unknown",
                                         [GUARD_STATE_UNKNOWN] = "unknown",
                                         [GUARD_STATE_NONE] = "none",
                                         [GUARD_STATE_ALIVE] = "alive",
                                         [GUARD_STATE_FENCING] = "fencing"};
    if (!snapshot->features.fencing) {
        writer_null(out, "guard");
        return;
    }
    writer_object(out, "guard");
    writer_string(out, "state", states[cluster->guard]);
    writer_time(out, "since", cluster->guard_since_ns);
    writer_uint(out, "guards", cluster->guards);
    writer_end(out, '}');
}

static void put_quantity(const char *key, const char *resource, int64_t amount, struct writer *out) {
    AUTO_BUFFER(text, QUANTITY_MAX);
    quantity_put(&text, resource, amount);
    writer_string(out, key, text.data);
}

// Null where the capacity is not tracked.
static void put_capacity(const struct stats_capacity *capacity, struct writer *out) {
    static const char *const states[] = {[CAPACITY_READING] = "unknown",
                                         [CAPACITY_KNOWN] = "known",
                                         [CAPACITY_STALE] = "stale",
                                         [CAPACITY_UNKNOWN] = "unknown"};
    if (capacity->state == CAPACITY_OFF) {
        writer_null(out, "capacity");
        return;
    }
    writer_object(out, "capacity");
    writer_string(out, "state", states[capacity->state]);
    writer_string(out, "problem", *capacity->problem ? capacity->problem : NULL);
    writer_uint(out, "nodes", capacity->nodes);
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
    struct watches count = count_watches(snapshot, cluster);
    const char *reason = NULL, *state = state_of(cluster, &count, &reason);
    uint64_t waiting = 0;
    for (size_t w = 0; w < WORK_CLASSES; w++)
        waiting += cluster->waiting[w];
    writer_object(out, NULL);
    writer_string(out, "name", snapshot->names[c]);
    writer_string(out, "state", state);
    writer_string(out, "reason", reason);
    put_origin(cluster, out);
    writer_string(out, "contact", contact_name(stats_contact(&snapshot->stats, c)));
    if (snapshot->readings[c].unheard)
        writer_null(out, "lastContactSeconds");
    else
        writer_seconds(out, "lastContactSeconds", snapshot->readings[c].silence_ns);
    writer_uint(out, "active", cluster->active);
    if (cluster->max_active > 0)
        writer_uint(out, "maxActive", cluster->max_active);
    writer_uint(out, "mirrors", cluster->mirrors);
    writer_uint(out, "waiting", waiting);
    writer_uint(out, "window", cluster->window);
    writer_uint(out, "inFlight", cluster->in_flight);
    put_credentials(&snapshot->readings[c].meter, out);
    put_guard(snapshot, cluster, out);
    put_capacity(&cluster->capacity, out);
    put_latency(&snapshot->readings[c].recent, out);
    put_kinds(snapshot, cluster, out);
    writer_end(out, '}');
}

struct error *api_put_workers(const struct api_source *source, struct writer *out) {
    struct host_snapshot snapshot;
    TRY(source->snapshot(source->ctx, &snapshot));
    writer_array(out, "items");
    for (size_t c = 1; c < snapshot.stats.n_clusters; c++)
        put_worker(&snapshot, c, out);
    writer_end(out, ']');
    source->free_snapshot(&snapshot);
    return NULL;
}
