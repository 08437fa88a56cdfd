// SPDX-License-Identifier: Apache-2.0
// The families with samples that are fields of the snapshot: one row each.
#include "core/serve/metrics/metrics.h"

#define ABSENT UINT64_MAX // a sample that is left out

// The series of a family: one for each cluster, for each kind in each cluster, and so on.
enum over {
    OVER_NOTHING,
    OVER_CLUSTERS,
    OVER_WORKERS,
    OVER_KINDS,
    OVER_VERBS,
    OVER_REASONS,
    OVER_PHASES,
    OVER_CLASSES,
    OVER_CONTACTS,
    OVER_DROPS,
    OVER_STATES,
    OVER_POLICIES,
    OVER_WAITING,
    OVER_UNPLACED,
    OVER_DEPENDENCIES,
    OVER_COPIES,
    OVER_WORDS
};

struct position {
    size_t cluster, kind, index; // index: in an array, or a state
};

enum holder { OF_SNAPSHOT, OF_CLUSTER, OF_READING, OF_WATCH, OF_KIND };
enum form { COUNT, FLAG, SECONDS, IS_STATE, IS_FILLED }; // 1 if an enum is the state of the position; for a text
enum omits { OMITS_NOTHING, OMITS_ZEROS, OMITS_EMPTY };  // zeros; zeros, and the family without samples

struct family {
    const char *name, *help; // a counter ends with "_total", all others are gauges
    enum over over[3];
    enum holder holder;
    enum form form;
    size_t offset;
    enum omits omits;
    uint64_t (*value)(const struct host_snapshot *s, const struct position *at); // in place of the field
};

#define FIELD(of, structure, member)                                                                                   \
    .holder = (of), .offset = offsetof(structure, member),                                                             \
    .form = _Generic(((structure *)NULL)->member, bool                                                                 \
                     : FLAG, int64_t                                                                                   \
                     : SECONDS, unsigned                                                                               \
                     : IS_STATE, char *                                                                                \
                     : IS_FILLED, default                                                                              \
                     : COUNT)
#define FAMILY(metric, text, ...)                                                                                      \
    { .name = metric, .help = text, __VA_ARGS__ }
#define OVER(...) .over = {__VA_ARGS__}
#define VALUE(function) .value = function
#define SNAPSHOT(member) FIELD(OF_SNAPSHOT, struct host_snapshot, member)
#define CLUSTER(member) FIELD(OF_CLUSTER, struct stats_cluster, member)
#define READING(member) FIELD(OF_READING, struct cluster_reading, member)
#define WATCH(member) FIELD(OF_WATCH, struct stats_watch, member)
#define KIND(member) FIELD(OF_KIND, struct stats_kind, member)

static uint64_t is_contact(const struct host_snapshot *s, const struct position *at) {
    return (size_t)stats_contact(&s->stats, at->cluster) == at->index;
}

static uint64_t is_capacity_known(const struct host_snapshot *s, const struct position *at) {
    enum capacity_state state = s->stats.clusters[at->cluster].capacity.state;
    return state == CAPACITY_OFF ? ABSENT : state == CAPACITY_KNOWN;
}

static uint64_t nodes_of(const struct host_snapshot *s, const struct position *at) {
    const struct stats_capacity *capacity = &s->stats.clusters[at->cluster].capacity;
    return capacity->state == CAPACITY_OFF ? ABSENT : capacity->nodes;
}

static uint64_t events_lost(const struct host_snapshot *s, const struct position *at) {
    return s->stats.n_clusters > 0 ? s->readings[at->cluster].meter.events_lost : 0;
}

// The reasons are those of enum meter_pods from METER_PODS_OTHER on, and the limit of the host.
static uint64_t pod_events_dropped(const struct host_snapshot *s, const struct position *at) {
    size_t reason = METER_PODS_OTHER + at->index;
    return reason < METER_PODS ? s->readings[at->cluster].meter.pod_events[reason]
                               : s->stats.clusters[at->cluster].pod_reports_refused;
}

static const struct family families[] = {
    FAMILY("wharf_requests_total", "Outcomes of requests to API servers, by reason.",
           OVER(OVER_CLUSTERS, OVER_VERBS, OVER_REASONS), CLUSTER(answers), .omits = OMITS_ZEROS),
    FAMILY("wharf_requests_sent_total", "Requests sent to API servers, watches and lists not counted.",
           OVER(OVER_CLUSTERS, OVER_VERBS), CLUSTER(sent), .omits = OMITS_ZEROS),
    FAMILY("wharf_requests_window", "Requests that may be in flight to a cluster, found from the round-trip times.",
           OVER(OVER_CLUSTERS), CLUSTER(window)),
    FAMILY("wharf_requests_in_flight", "Requests to a cluster that are in flight.", OVER(OVER_CLUSTERS),
           CLUSTER(in_flight)),
    FAMILY("wharf_requests_waiting", "Objects that wait for a place in a cluster's window, by class of request.",
           OVER(OVER_CLUSTERS, OVER_CLASSES), CLUSTER(waiting)),
    FAMILY("wharf_cluster_contact", "State of a cluster's API server: 1 for the present state, else 0.",
           OVER(OVER_CLUSTERS, OVER_CONTACTS), VALUE(is_contact)),
    FAMILY("wharf_worker_guards", "Guards of a worker that were alive at the last read; 0 without fencing.",
           OVER(OVER_WORKERS), CLUSTER(guards)),
    FAMILY("wharf_watch_state", "State of the watch of a kind in a cluster: 1 for the present state, else 0.",
           OVER(OVER_CLUSTERS, OVER_KINDS, OVER_STATES), WATCH(state)),
    FAMILY("wharf_watch_objects_seen_total", "Listed, added or changed objects.", OVER(OVER_CLUSTERS, OVER_KINDS),
           WATCH(seen)),
    FAMILY("wharf_watch_objects_gone_total", "Deleted objects.", OVER(OVER_CLUSTERS, OVER_KINDS), WATCH(gone)),
    FAMILY("wharf_watch_lists_total", "Completed lists.", OVER(OVER_CLUSTERS, OVER_KINDS), WATCH(lists)),
    FAMILY("wharf_watch_losses_total", "Times that a connected watch was lost.", OVER(OVER_CLUSTERS, OVER_KINDS),
           WATCH(losses)),
    FAMILY("wharf_worker_active_workloads", "Unfinished workloads in a worker cluster.", OVER(OVER_WORKERS),
           CLUSTER(active)),
    FAMILY("wharf_worker_mirrors", "Mirrors that exist in a worker cluster, finished ones too.", OVER(OVER_WORKERS),
           CLUSTER(mirrors)),
    FAMILY("wharf_worker_eligible", "1 where a worker gets new workloads of a kind, else 0.",
           OVER(OVER_WORKERS, OVER_KINDS), WATCH(eligible)),
    FAMILY("wharf_kind_paused", "1 where a kind is paused in a cluster, see the log for why, else 0.",
           OVER(OVER_CLUSTERS, OVER_KINDS), WATCH(paused)),
    FAMILY("wharf_kind_managed_by_missing",
           "1 where the management cluster's API of a kind lacks the field managedBy, else 0.", OVER(OVER_KINDS),
           WATCH(no_field)),
    FAMILY("wharf_cluster_refused", "1 where the host does nothing because of the identity of a cluster, else 0.",
           OVER(OVER_CLUSTERS), CLUSTER(refused)),
    FAMILY("wharf_worker_suspect", "1 where the worker finishes workloads far faster than other workers do, else 0.",
           OVER(OVER_WORKERS), CLUSTER(suspect)),
    FAMILY("wharf_worker_failing",
           "1 where the worker gets no new workloads, since several failed there for the same reason, else 0.",
           OVER(OVER_WORKERS), CLUSTER(failing)),
    FAMILY("wharf_retried_elsewhere_total",
           "Attempts that failed in a worker, or did not start there, and ran in another one for that reason.",
           OVER(OVER_WORKERS), CLUSTER(retried_elsewhere)),
    FAMILY("wharf_mirrors_unproven",
           "Mirrors that are neither adopted nor deleted, because proof is missing that this host created the mirror.",
           OVER(OVER_WORKERS), CLUSTER(quarantined)),
    FAMILY("wharf_foreign_objects_total",
           "Times that an object with this host's marks and without a valid seal was seen.", OVER(OVER_WORKERS),
           CLUSTER(unsealed)),
    FAMILY("wharf_worker_status_bytes_total",
           "Bytes of workloads written to the management cluster for the statuses of a worker's mirrors.",
           OVER(OVER_WORKERS), CLUSTER(status_bytes)),
    FAMILY("wharf_worker_statuses_delayed",
           "1 while statuses of a worker's mirrors are delayed by rateLimit.statusBytes, else 0.", OVER(OVER_WORKERS),
           CLUSTER(statuses_wait)),
    FAMILY("wharf_dependencies", "Objects that workloads refer to, by their state in a cluster.",
           OVER(OVER_CLUSTERS, OVER_DEPENDENCIES), CLUSTER(dependencies), .omits = OMITS_EMPTY),
    FAMILY("wharf_copies_total", "Requests for copies of objects that workloads refer to, by their result.",
           OVER(OVER_WORKERS, OVER_COPIES), CLUSTER(copies), .omits = OMITS_EMPTY),
    FAMILY("wharf_orphans_held", "Mirrors without a workload that are held: not deleted before orphanGrace is over.",
           OVER(OVER_WORKERS), CLUSTER(orphans_held)),
    FAMILY("wharf_cluster_silence_seconds", "Time since the last byte from a cluster's API server, or since the start.",
           OVER(OVER_CLUSTERS), READING(silence_ns)),
    FAMILY("wharf_client_certificate_expiry_timestamp_seconds",
           "When the client certificate in use for a cluster expires.", OVER(OVER_CLUSTERS), READING(meter.expires_ns),
           .omits = OMITS_EMPTY),
    FAMILY("wharf_inbox_events", "Events from a cluster that wait for the engine.", OVER(OVER_CLUSTERS),
           READING(inbox)),
    FAMILY("wharf_inbox_oldest_age_seconds", "How long the oldest event in the inbox has waited; 0 if there is none.",
           OVER(OVER_CLUSTERS), READING(inbox_since_ns)),
    FAMILY("wharf_watch_restarts_total", "Watches opened again after an end.", OVER(OVER_CLUSTERS),
           READING(meter.restarts)),
    FAMILY("wharf_recorder_events_lost_total",
           "Kubernetes Events that could not be written, or exceeded the rate limit.", VALUE(events_lost)),
    FAMILY("wharf_pod_events_watched", "1 where the Events of pods are watched, else 0.", OVER(OVER_WORKERS),
           READING(meter.pod_events[METER_PODS_WATCHED])),
    FAMILY("wharf_pod_events_received_total", "Events of pods received from a worker.", OVER(OVER_WORKERS),
           READING(meter.pod_events[METER_PODS_RECEIVED])),
    FAMILY("wharf_pod_events_reported_total", "Reports to the engine, each for one or more Events of pods.",
           OVER(OVER_WORKERS), READING(meter.pod_events[METER_PODS_REPORTED])),
    FAMILY("wharf_pod_events_dropped_total", "Events of pods, or reports, that became no Event on a workload.",
           OVER(OVER_WORKERS, OVER_DROPS), VALUE(pod_events_dropped)),
    FAMILY("wharf_worker_capacity_known", "1 where the free capacity of a worker is known, 0 where not.",
           OVER(OVER_WORKERS), VALUE(is_capacity_known), .omits = OMITS_EMPTY),
    FAMILY("wharf_worker_nodes", "Nodes of a worker that take pods.", OVER(OVER_WORKERS), VALUE(nodes_of),
           .omits = OMITS_EMPTY),
    FAMILY("wharf_worker_policy", "Policy of a worker: 1 for the present policy, else 0.",
           OVER(OVER_WORKERS, OVER_POLICIES), CLUSTER(policy)),
    FAMILY("wharf_worker_leaving",
           "1 where a worker is no longer configured and leaves when all workloads have ended, else 0.",
           OVER(OVER_WORKERS), CLUSTER(leaving)),
    FAMILY("wharf_workloads", "Workloads delegated to this host, by phase.", OVER(OVER_KINDS, OVER_PHASES),
           KIND(phases)),
    FAMILY("wharf_adapter_errors_total", "Calls into an adapter that did not return OK.", OVER(OVER_KINDS),
           KIND(adapter_errors)),
    FAMILY("wharf_workloads_set_aside",
           "Workloads that the adapter failed for, see Events AdapterFailed, until they change or a later try.",
           OVER(OVER_KINDS), KIND(aside)),
    FAMILY("wharf_workloads_refused", "Workloads that are not handled because there are maxWorkloads already.",
           OVER(OVER_KINDS), KIND(refused)),
    FAMILY("wharf_workloads_also_run_here",
           "Delegated workloads that a controller in the management cluster runs too, see Events AlsoRunHere.",
           OVER(OVER_KINDS), KIND(also_run)),
    FAMILY("wharf_workloads_waiting", "Workloads that have waited for longer than a minute, by reason.",
           OVER(OVER_WAITING), SNAPSHOT(stats.waiting)),
    FAMILY("wharf_workloads_unplaced", "Unplaced workloads by reason, without suspended ones.", OVER(OVER_UNPLACED),
           SNAPSHOT(stats.unplaced)),
    FAMILY("wharf_tracked_objects", "Names that the host keeps state for.", SNAPSHOT(workloads)),
    FAMILY("wharf_placements_total", "Workloads placed for the first time.", SNAPSHOT(stats.placements)),
    FAMILY("wharf_replacements_total", "Workloads placed again.", SNAPSHOT(stats.replacements)),
    FAMILY("wharf_placements_unscored_total", "Placements that were decided without the scores of an adapter.",
           SNAPSHOT(stats.unscored)),
    FAMILY("wharf_conflicts_total", "Mirrors that could not be created because a foreign object has the name.",
           SNAPSHOT(stats.conflicts)),
    FAMILY("wharf_orphans_deleted_total", "Mirrors deleted because their workload is gone.", SNAPSHOT(stats.orphans)),
    FAMILY("wharf_other_host_writes_total",
           "Statuses that somebody else wrote just as this host was about to: another host of the same origin.",
           SNAPSHOT(stats.other_host_writes)),
    FAMILY("wharf_events_recorded_total", "Kubernetes Events recorded on workloads.", SNAPSHOT(stats.events)),
    FAMILY("wharf_events_dropped_total", "Events left out because requests waited.", SNAPSHOT(stats.events_dropped)),
    FAMILY("wharf_queue_length", "Workloads that wait to be reconciled.", SNAPSHOT(stats.queued)),
    FAMILY("wharf_engine_stalled_seconds",
           "How long there has been work without the engine finishing anything; 0 when all is well.",
           SNAPSHOT(stalled_ns)),
    FAMILY("wharf_last_words_total", "Failed attempts of workloads, by what became of their last words.",
           OVER(OVER_WORDS), SNAPSHOT(words.results)),
    FAMILY("wharf_last_words_waiting", "Failed attempts whose last words are being read or kept.",
           SNAPSHOT(words.waiting)),
    FAMILY("wharf_in_sync", "1 once all that can be reached was listed and nothing waits, else 0.", SNAPSHOT(in_sync)),
    FAMILY("wharf_config_last_reload_successful", "1 if the configuration was accepted at the last read, else 0.",
           SNAPSHOT(notes.reload.successful)),
    FAMILY("wharf_config_last_reload_success_timestamp_seconds", "When the configuration in use was read.",
           SNAPSHOT(notes.reload.success_wall_ns)),
};

// Values of labels that are not names of the snapshot.
static const char *const verb_labels[STATS_VERBS] = {
    [VERB_GET] = "get",           [VERB_CREATE] = "create",
    [VERB_MERGE_PATCH] = "patch", [VERB_STATUS_PATCH] = "patch_status",
    [VERB_DELETE] = "delete",     [VERB_RAW_GET] = "get_raw",
};

static const char *const state_labels[] = {
    [REFLECTOR_STARTING] = "starting",
    [REFLECTOR_CONNECTED] = "connected",
    [REFLECTOR_LOST] = "lost",
    [REFLECTOR_ABSENT] = "absent",
};
static const char *const phase_labels[STATS_PHASES] = {
    [WHARF_PENDING] = "pending",     [WHARF_SUSPENDED] = "suspended", [WHARF_ACTIVE] = "active",
    [WHARF_SUCCEEDED] = "succeeded", [WHARF_FAILED] = "failed",
};

static const char *const words_labels[WORDS_RESULTS] = {
    [WORDS_KEPT] = "kept", [WORDS_EMPTY] = "empty", [WORDS_DROPPED] = "dropped", [WORDS_FAILED] = "failed"};
static const char *const policy_labels[] = {
    [WORKER_ACTIVE] = "active",
    [WORKER_CORDONED] = "cordoned",
    [WORKER_DRAIN_FINISH] = "drain_finish",
    [WORKER_DRAIN_MOVE] = "drain_move",
};
static const char *const drop_labels[] = {"not-of-a-mirror", "limit", "crowded", "unreadable", "host-limit"};
#define COUNT_OF(labels) (sizeof(labels) / sizeof(labels)[0])

static const struct dimension {
    const char *label;
    size_t first, count; // 0: as many as the snapshot has
    const char *const *values;
} dimensions[] = {
    [OVER_CLUSTERS] = {"cluster", 0, 0, NULL},
    [OVER_WORKERS] = {"cluster", 1, 0, NULL},
    [OVER_KINDS] = {"kind", 0, 0, NULL},
    [OVER_VERBS] = {"verb", 0, STATS_VERBS, verb_labels},
    [OVER_REASONS] = {"reason", 0, STATS_REASONS, NULL},
    [OVER_PHASES] = {"phase", 0, STATS_PHASES, phase_labels},
    [OVER_CLASSES] = {"class", 0, WORK_CLASSES, NULL},
    [OVER_CONTACTS] = {"contact", 0, CONTACTS, NULL},
    [OVER_STATES] = {"state", 0, COUNT_OF(state_labels), state_labels},
    [OVER_DROPS] = {"reason", 0, COUNT_OF(drop_labels), drop_labels},
    [OVER_POLICIES] = {"policy", 0, COUNT_OF(policy_labels), policy_labels},
    [OVER_WAITING] = {"reason", WAITING_ANSWER + 1, WAITINGS, NULL},
    [OVER_UNPLACED] = {"reason", 0, WAITINGS, NULL},
    [OVER_DEPENDENCIES] = {"state", 0, DEPENDENCY_STATES, NULL},
    [OVER_COPIES] = {"result", 0, COPY_RESULTS, NULL},
    [OVER_WORDS] = {"result", 0, WORDS_RESULTS, words_labels},
};

static const char *label_value(enum over over, const struct host_snapshot *s, size_t i) {
    switch (over) {
    case OVER_KINDS:
        return s->kinds[i]->plural_group;
    case OVER_REASONS:
        return reason_text((enum reason)i);
    case OVER_CLASSES:
        return work_class_name((enum work_class)i);
    case OVER_CONTACTS:
        return contact_name((enum contact)i);
    case OVER_DEPENDENCIES:
        return dependency_state_name((enum dependency_state)i);
    case OVER_COPIES:
        return copy_result_name((enum copy_result)i);
    case OVER_WAITING:
    case OVER_UNPLACED:
        return i == WAITING_NOT ? "turn" : waiting_name((enum waiting)i);
    default:
        return dimensions[over].values ? dimensions[over].values[i] : s->names[i];
    }
}

static const void *field_of(const struct family *family, const struct host_snapshot *s, const struct position *at) {
    const char *holder = (const char *)s;
    if (family->holder == OF_CLUSTER)
        holder = (const char *)&s->stats.clusters[at->cluster];
    else if (family->holder == OF_READING)
        holder = (const char *)&s->readings[at->cluster];
    else if (family->holder == OF_WATCH)
        holder = (const char *)&s->stats.clusters[at->cluster].watches[at->kind];
    else if (family->holder == OF_KIND)
        holder = (const char *)&s->stats.kinds[at->kind];
    return holder + family->offset;
}

static uint64_t value_of(const struct family *family, const struct host_snapshot *s, const struct position *at) {
    const void *field = field_of(family, s, at);
    if (family->value)
        return family->value(s, at);
    switch (family->form) {
    case FLAG:
        return *(const bool *)field;
    case IS_STATE:
        return *(const unsigned *)field == at->index;
    case IS_FILLED:
        return *(const char *)field != '\0';
    default:
        return ((const uint64_t *)field)[at->index];
    }
}

static void print_sample(const struct family *family, const struct host_snapshot *s, const struct position *at,
                         const struct label *labels, bool *begun, struct buffer *out) {
    uint64_t value = value_of(family, s, at);
    if (value == ABSENT || (value == 0 && family->omits != OMITS_NOTHING && !family->value))
        return;
    if (!*begun)
        metrics_family(out, family->name, NULL, family->help);
    *begun = true;
    if (family->form == SECONDS)
        metrics_sample_seconds(out, family->name, labels, (int64_t)value);
    else
        metrics_sample(out, family->name, labels, value);
}

// The samples of all positions in the dimensions from number `depth` on.
static void print_samples(const struct family *family, const struct host_snapshot *s, const struct position *at,
                          struct label labels[4], size_t depth, bool *begun, struct buffer *out) {
    enum over over = depth < 3 ? family->over[depth] : OVER_NOTHING;
    const struct dimension *dimension = &dimensions[over];
    if (over == OVER_NOTHING) {
        labels[depth] = (struct label){NULL, NULL};
        print_sample(family, s, at, labels, begun, out);
        return;
    }
    bool cluster = over == OVER_CLUSTERS || over == OVER_WORKERS, kind = over == OVER_KINDS;
    size_t count = cluster ? s->stats.n_clusters : kind ? s->stats.n_kinds : dimension->count;
    for (size_t i = dimension->first; i < count; i++) {
        struct position next = *at;
        if (cluster)
            next.cluster = i;
        else if (kind)
            next.kind = i;
        else
            next.index = at->index * count + i;
        labels[depth] = (struct label){dimension->label, label_value(over, s, i)};
        print_samples(family, s, &next, labels, depth + 1, begun, out);
    }
}

void metrics_print_families(const struct host_snapshot *s, struct buffer *out) {
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        struct label labels[4];
        bool begun = families[f].omits != OMITS_EMPTY;
        if (begun)
            metrics_family(out, families[f].name, NULL, families[f].help);
        print_samples(&families[f], s, &(struct position){.cluster = ENGINE_MANAGEMENT}, labels, 0, &begun, out);
    }
}
