// SPDX-License-Identifier: Apache-2.0

#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/elsewhere/retried.h"
#include "core/engine/elsewhere/suspicion.h"
#include "core/engine/engine_internal.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/placement/placing.h"
#include "core/engine/shard/shard.h"
#include "core/engine/tenancy/tenancy.h"

#include <stdarg.h>
#include <stdio.h>

#define REASONS_MAX 8 // workers, or reasons, in one sentence

// `text` is a format.
__attribute__((format(printf, 4, 5))) static void fill(struct worker_reason *out, enum worker_obstacle obstacle,
                                                       const char *brief, const char *text, ...) {
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(out->text, sizeof out->text, text, arguments);
    va_end(arguments);
    text_copy(out->brief, sizeof out->brief, brief);
    out->obstacle = obstacle;
}

// For "%s%s" after a text, which may have details.
#define DETAILS(details) *(details) ? ": " : "", details

static void fill_connection(const struct engine *engine, const struct entry *entry, size_t cluster,
                            struct worker_reason *out) {
    const struct watch_state *watch = cluster_watch(engine, cluster, entry->kind);
    bool silent = cluster_contact(engine, cluster) == CONTACT_LOST;
    const char *problem = silent ? "" : engine->stats.clusters[cluster].watches[entry->kind].problem;
    if (!silent && watch->state == REFLECTOR_ABSENT)
        fill(out, OBSTACLE_KIND, "does not serve the kind", "does not serve the kind; install the CRD%s%s",
             DETAILS(problem));
    else if (!silent && (watch->state == REFLECTOR_STARTING || (watch->state == REFLECTOR_CONNECTED && !watch->listed)))
        fill(out, OBSTACLE_CONNECTING, "connecting", "is still connecting");
    else {
        fill(out, OBSTACLE_UNREACHABLE, "unreachable", "is unreachable%s%s", DETAILS(problem));
        out->since_ns = watch->lost_since_ns;
    }
}

static const char *version_in(const struct engine *engine, const struct entry *entry, size_t cluster) {
    const char *version = cluster_watch(engine, cluster, entry->kind)->version;
    return version ? version : "an unknown version";
}

// The newest rejection by this worker.
static const struct attempt *rejection_by(const struct engine *engine, const struct entry *entry, size_t cluster) {
    for (const struct attempt *a = attempt_history_newest(entry); a; a = a->older)
        if ((a->outcome == OUTCOME_REJECTED || a->outcome == OUTCOME_WITHDRAWN) &&
            strcmp(a->cluster, engine->clusters[cluster].name) == 0)
            return a;
    return NULL;
}

// The newest failure that was the worker's.
static void fill_failed(const struct engine *engine, const struct entry *entry, size_t cluster,
                        struct worker_reason *out) {
    const struct attempt *a = attempt_history_newest(entry);
    while (a && (!text_equal(a->reason, "FailedInWorker") || strcmp(a->cluster, engine->clusters[cluster].name) != 0))
        a = a->older;
    fill(out, OBSTACLE_NONE, "the last choice", "is the last choice, since the workload failed there%s%s",
         DETAILS(a && a->message ? a->message : ""));
}

static const char *brief_of(const char *reason) {
    static const struct {
        const char *reason, *brief;
    } briefs[] = {
        {"QuotaExceeded", "quota exceeded"},
        {"NamespaceNotFound", "namespace missing"},
        {"Forbidden", "forbidden"},
        {"NotTenant", "host may not act as the tenant"},
        {"NamespaceTerminating", "namespace is being deleted"},
        {"KindNotFound", "kind not served"},
        {"Invalid", "invalid there"},
        {"Unauthorized", "credentials rejected"},
        {"NameConflict", "name is taken"},
        {"MarksTaken", "a policy strips wharf's labels"},
        {"CreateFailed", "creates fail"},
        {"FieldsDropped", "drops fields"},
        {"DidNotStart", "did not start"},
        {"MissingDependency", "lacks an object of the workload"},
        {"DependencyRejected", "rejects an object of the workload"},
    };
    for (size_t i = 0; reason && i < sizeof briefs / sizeof briefs[0]; i++)
        if (strcmp(briefs[i].reason, reason) == 0)
            return briefs[i].brief;
    return "rejected it";
}

static void fill_rejection(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                           struct worker_reason *out) {
    const struct attempt *attempt = rejection_by(engine, entry, mirror->facts.cluster);
    out->reason = attempt ? attempt->reason : NULL;
    fill(out, OBSTACLE_REJECTED, brief_of(out->reason), "rejected the mirror%s%s",
         DETAILS(attempt && attempt->message ? attempt->message : ""));
    out->until_ns = mirror->facts.excluded_until_ns;
}

// The host withdrew the mirror, or the worker had rejected the mirror when the host gave up.
static void fill_tried(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                       struct worker_reason *out) {
    const struct attempt *attempt = rejection_by(engine, entry, mirror->facts.cluster);
    bool rejected = attempt && !mirror->facts.tried;
    out->reason = rejected ? attempt->reason : NULL;
    fill(out, OBSTACLE_TRIED, rejected ? brief_of(out->reason) : "did not start", "%s",
         attempt && attempt->message ? attempt->message : "did not start the mirror in time");
    if (!entry->workload->unstarted->gave_up)
        out->until_ns = entry->workload->unstarted->round_at_ns;
}

static void fill_policy(enum worker_policy policy, struct worker_reason *out) {
    fill(out, OBSTACLE_CLOSED, policy == WORKER_CORDONED ? "cordoned" : "drained", "%s",
         policy == WORKER_CORDONED     ? "is cordoned, so nothing new is placed there"
         : policy == WORKER_DRAIN_MOVE ? "is drained: running workloads move to other workers"
                                       : "is drained: running workloads finish there, and nothing new is placed there");
}

static void fill_suspect(const struct suspect *suspect, struct worker_reason *out) {
    fill(out, OBSTACLE_FAILING, "workloads fail there",
         "gets no new workloads, since several failed there within minutes for the same reason, %s", suspect->reason);
    out->until_ns = suspect->until_ns;
}

// Reasons that hold for all workloads of the kind.
static void find_of_worker(const struct engine *engine, const struct entry *entry, size_t cluster,
                           struct worker_reason *out) {
    const struct worker_facts *facts = &engine->workers[entry->kind][cluster];
    const struct stats_cluster *stats = &engine->stats.clusters[cluster];
    const struct suspect *suspect = suspicion_of(engine, cluster);
    if (*stats->refused)
        fill(out, OBSTACLE_REFUSED, "refused", "is refused: %s", stats->refused);
    else if (cluster_contact(engine, cluster) == CONTACT_REJECTED)
        fill(out, OBSTACLE_CREDENTIALS, "rejects the host", "rejects the host%s%s", DETAILS(stats->rejected));
    else if (!facts->connected)
        fill_connection(engine, entry, cluster, out);
    else if (facts->frozen)
        fill(out, OBSTACLE_CONNECTING, "not identified yet", "is not identified yet, so nothing is done there");
    else if (!facts->serves)
        fill(out, OBSTACLE_KIND, "other version of the kind",
             "serves the kind as %.40s, the management cluster as %.40s", version_in(engine, entry, cluster),
             version_in(engine, entry, ENGINE_MANAGEMENT));
    else if (cluster_watch(engine, cluster, entry->kind)->paused & PAUSE_FULL)
        fill(out, OBSTACLE_PAUSED, "paused", "is paused for the kind: too many mirrors without a workload are there");
    else if (cluster_contact(engine, cluster) == CONTACT_SUSPECT)
        fill(out, OBSTACLE_SUSPECT, "answers late", "answers late or not at all, so nothing new is placed there");
    else if (facts->closed)
        fill_policy(engine->clusters[cluster].settings.policy, out);
    else if (suspect)
        fill_suspect(suspect, out);
    else if (shard_is_in(facts->closed_shards, shard_of(engine, entry)))
        fill(out, OBSTACLE_FENCED, "guard has no heartbeat of the host",
             "has a guard without a heartbeat of this host, which would stop new mirrors");
}

static void fill_selector(const struct engine *engine, const struct entry *entry, const struct placement_view *view,
                          size_t cluster, struct worker_reason *out) {
    const struct selector *workers = NULL;
    (void)placement_rule_of(engine, entry, NULL, &workers);
    if (*view->problem && view->selector.n_terms == 0)
        fill(out, OBSTACLE_SELECTOR, "invalid selector", "is not chosen: %s", view->problem);
    else if (!selector_is_met(workers, engine->clusters[cluster].settings.labels))
        fill(out, OBSTACLE_SELECTOR, "not matched by workerSelector",
             "has labels that placement.workerSelector does not match");
    else
        fill(out, OBSTACLE_SELECTOR, "not matched by its selector",
             "has labels that annotation " MARK_CLUSTER_SELECTOR " does not match");
}

static void fill_full(const struct engine *engine, const struct entry *entry, size_t cluster,
                      struct worker_reason *out) {
    size_t limit = 0, active = 0, kind = 0;
    char brief[sizeof out->brief];
    if (placement_limit_of(engine, entry, cluster, &limit, &active, &kind)) {
        snprintf(brief, sizeof brief, "full (%zu of %zu)", active, limit);
        fill(out, OBSTACLE_FULL, brief, "is full: %zu workloads are there, and maxActive is %zu", active, limit);
    } else
        fill(out, OBSTACLE_FULL, "not counted yet",
             "has maxActive, but the count of workloads is incomplete: %.80s are not listed",
             engine->kinds[kind]->plural_group);
}

static void fill_tenant(const struct engine *engine, const struct entry *entry, size_t cluster,
                        struct worker_reason *out) {
    tenancy_explain(engine, entry, cluster, out->brief, out->text);
    out->obstacle = OBSTACLE_TENANT;
}

static void fill_dependency(const struct engine *engine, const struct entry *entry, size_t cluster,
                            struct worker_reason *out) {
    AUTO_BUFFER(text, 4096);
    const char *reason = dependencies_put_lack(engine, entry, cluster, &text);
    const char *brief = text_equal(reason, "NameConflict") ? "has an object with other content"
                                                           : brief_of(reason ? reason : "MissingDependency");
    fill(out, OBSTACLE_DEPENDENCY, brief, "cannot run the workload: %s",
         text.len > 0 ? text.data : "an object that the workload refers to");
}

// The obstacle that the view has.
static void find_in_view(const struct engine *engine, const struct entry *entry, const struct placement_view *view,
                         size_t cluster, struct worker_reason *out) {
    const struct placement_option *option = &view->workers[cluster];
    if (option->obstacle == OBSTACLE_SELECTOR)
        fill_selector(engine, entry, view, cluster, out);
    else if (option->obstacle == OBSTACLE_PINNED)
        fill(out, OBSTACLE_PINNED, "not among its cluster-names", "is not in annotation " MARK_CLUSTER_NAMES);
    else if (option->obstacle == OBSTACLE_FULL)
        fill_full(engine, entry, cluster, out);
    else if (option->obstacle == OBSTACLE_TENANT)
        fill_tenant(engine, entry, cluster, out);
    else if (option->obstacle == OBSTACLE_DEPENDENCY)
        fill_dependency(engine, entry, cluster, out);
    else if (option->obstacle == OBSTACLE_UNDECIDED)
        fill(out, OBSTACLE_UNDECIDED, "not decided yet",
             "is not decided on: a rule of placement selects by the labels of the namespace, which are unknown");
    if (out->obstacle != OBSTACLE_NONE)
        out->until_ns = option->until_ns;
}

static void fill_unnamed(const struct engine *engine, size_t cluster, const char *space, struct worker_reason *out) {
    AUTO_BUFFER(text, sizeof out->text - 1);
    namespace_describe_none(engine->clusters[cluster].settings.namespace_map, engine->origin, space, &text);
    fill(out, OBSTACLE_NAMESPACE, "no name for the namespace", "is not chosen: %s", text.data ? text.data : "");
}

static void find_of_workload(struct engine *engine, const struct entry *entry, size_t cluster, int64_t now_ns,
                             struct worker_reason *out) {
    const struct mirror *mirror = entry_mirror(entry, cluster);
    const char *problem = capacity_problem(engine, cluster);
    char lack[sizeof out->brief];
    struct namespaces_subject subject = facts_namespace(engine, entry);
    char space[254], there[NAMESPACE_SIZE];
    entry_namespace(entry, space);
    if (namespaces_judge(engine->clusters[cluster].settings.namespaces, &subject) != NAMESPACES_PERMITTED)
        fill(out, OBSTACLE_NAMESPACE, "namespace not permitted", "does not accept workloads of the namespace");
    else if (!cluster_namespace(engine, cluster, space, there))
        fill_unnamed(engine, cluster, space, out);
    else if (mirror && mirror->facts.excluded_until_ns > now_ns)
        fill_rejection(engine, entry, mirror, out);
    else if (mirror && entry->workload->unstarted &&
             (mirror->facts.tried || (entry->workload->unstarted->gave_up && mirror->facts.excluded_until_ns)))
        fill_tried(engine, entry, mirror, out);
    else if (mirror && mirror->facts.present && cluster != entry->workload->facts.cluster)
        fill(out, OBSTACLE_OCCUPIED, "an earlier mirror is there", "has an earlier mirror of this name");
    else if (capacity_lacks(engine, entry, cluster, lack, sizeof lack))
        fill(out, OBSTACLE_CAPACITY, lack, "%s: %s",
             problem ? "has unknown free capacity, so no workload that requests pods is placed there"
                     : "lacks free capacity",
             problem ? problem : lack);
    else if (cluster != entry->workload->facts.cluster && retried_from(engine, entry, cluster))
        fill_failed(engine, entry, cluster, out);
    else
        fill(out, OBSTACLE_NONE, "fit", "%s", cluster == entry->workload->facts.cluster ? "has the workload" : "fits");
}

void worker_reason_find(struct engine *engine, const struct entry *entry, const struct placement_view *view,
                        size_t cluster, int64_t now_ns, struct worker_reason *out) {
    *out = (struct worker_reason){.until_ns = CLOCK_NEVER};
    find_of_worker(engine, entry, cluster, out);
    if (out->obstacle == OBSTACLE_NONE && view)
        find_in_view(engine, entry, view, cluster, out);
    if (out->obstacle == OBSTACLE_NONE)
        find_of_workload(engine, entry, cluster, now_ns, out);
}

struct brief_count {
    char brief[sizeof((struct worker_reason *)0)->brief];
    size_t workers;
};

static void count_brief(struct brief_count *counts, size_t *n, const char *brief) {
    size_t i = 0;
    while (i < *n && strcmp(counts[i].brief, brief) != 0)
        i++;
    if (i == REASONS_MAX)
        return;
    if (i == *n)
        text_copy(counts[(*n)++].brief, sizeof counts->brief, brief);
    counts[i].workers++;
}

void worker_reasons_put(struct engine *engine, struct entry *entry, int64_t now_ns, struct buffer *out) {
    AUTO_BUFFER(list, 4096);
    AUTO_BUFFER(summary, 4096);
    __attribute__((cleanup(placement_view_clear))) struct placement_view view = {.workers = NULL};
    bool limited = placement_is_limited(engine, entry) && placement_view_make(engine, entry, &view);
    struct brief_count counts[REASONS_MAX] = {0};
    size_t workers = 0, fit = 0, named = 0, n_counts = 0;
    for (size_t c = 1; c < engine->n_clusters; c++) {
        struct worker_reason reason;
        if (cluster_is_vacant(engine, c))
            continue;
        worker_reason_find(engine, entry, limited ? &view : NULL, c, now_ns, &reason);
        workers++;
        fit += reason.obstacle == OBSTACLE_NONE;
        if (reason.obstacle == OBSTACLE_NONE)
            continue;
        if (named++ < REASONS_MAX)
            buffer_printf(&list, "%s%s %s", named > 1 ? "; " : "", engine->clusters[c].name, reason.brief);
        count_brief(counts, &n_counts, reason.brief);
    }
    for (size_t i = 0; i < n_counts; i++)
        buffer_printf(&summary, "%s%zu %s", i > 0 ? "; " : "", counts[i].workers, counts[i].brief);
    const struct buffer *reasons = named > REASONS_MAX ? &summary : &list;
    if (workers == 0)
        buffer_text(out, "there are no workers");
    else
        buffer_printf(out, "%zu/%zu workers accept it%s%s%s%s", fit, workers, *view.problem ? ": " : "", view.problem,
                      reasons->len ? ": " : "", reasons->len ? reasons->data : "");
}
