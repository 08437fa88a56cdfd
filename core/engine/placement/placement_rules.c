// SPDX-License-Identifier: Apache-2.0
// The rules of the configuration, and the view of one workload.
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/placement/placing.h"
#include "core/engine/shard/shard.h"
#include "core/engine/tenancy/tenancy.h"

#include <stdio.h>

struct placement_rules {
    size_t n;
    bool limited; // not every worker may get every workload, or the policy is not the default
    bool retries; // retryElsewhere, in some rule
    struct parsed_rule {
        struct placement_rule rule; // owns kinds and namespaces; the selectors are NULL
        struct selector namespaces, workers;
    } list[]; // [n], and the rule for all others
};

static void free_rules(struct placement_rules *rules) {
    for (size_t i = 0; rules && i <= rules->n; i++) {
        free((char *)rules->list[i].rule.kinds);
        free((char *)rules->list[i].rule.namespaces);
        free((char *)rules->list[i].rule.retry.reasons);
        free((char *)rules->list[i].rule.retry.exit_codes);
        selector_clear(&rules->list[i].namespaces);
        selector_clear(&rules->list[i].workers);
    }
    free(rules);
}

static struct error *parse_selector(const char *text, const char *key, struct selector *out) {
    struct error *error = text ? selector_parse(text, out) : NULL;
    return error_wrap(error, "%s", key);
}

static struct error *parse_rule(const struct placement_rule *from, struct parsed_rule *to) {
    to->rule = *from;
    to->rule.namespace_selector = to->rule.worker_selector = NULL;
    const char **const texts[] = {&to->rule.kinds, &to->rule.namespaces, &to->rule.retry.reasons,
                                  &to->rule.retry.exit_codes};
    bool missing = false;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = *texts[i];
        *texts[i] = text ? strdup(text) : NULL;
        missing |= text && !*texts[i];
    }
    if (missing)
        return error_no_memory();
    struct error *error = parse_selector(from->worker_selector, "workerSelector", &to->workers);
    return error ? error : parse_selector(from->namespace_selector, "namespaceSelector", &to->namespaces);
}

struct error *placement_set_rules(struct engine *engine, const struct placement_options *options) {
    const struct placement_rule *otherwise = &options->otherwise;
    size_t n = options->n_rules;
    struct placement_rules *rules = calloc(1, sizeof *rules + (n + 1) * sizeof *rules->list);
    if (!rules)
        return error_no_memory();
    struct error *error = NULL;
    rules->n = n;
    rules->limited = n > 0 || otherwise->worker_selector || otherwise->policy != PLACEMENT_LEAST_ACTIVE;
    for (size_t i = 0; i <= n && !error; i++)
        error = parse_rule(i < n ? &options->rules[i] : otherwise, &rules->list[i]);
    for (size_t i = 0; i <= n; i++)
        rules->retries |= rules->list[i].rule.retry.max > 0;
    free_rules(error ? rules : engine->placement.rules);
    if (!error)
        engine->placement.rules = rules;
    return error;
}

void placement_drop_rules(struct engine *engine) {
    free_rules(engine->placement.rules);
    engine->placement.rules = NULL;
}

const struct placement_rule *placement_rule_of(const struct engine *engine, const struct entry *entry, bool *known,
                                               const struct selector **workers) {
    const struct placement_rules *rules = engine->placement.rules;
    const struct kind *kind = engine->kinds[entry->kind];
    size_t i = 0;
    bool labels_known = true;
    char namespace_[254];
    if (rules->n > 0)
        entry_namespace(entry, namespace_);
    for (; i < rules->n; i++) {
        const struct placement_rule *rule = &rules->list[i].rule;
        const char *labels = NULL;
        if ((rule->kinds && !pattern_list_matches(rule->kinds, kind->plural_group) &&
             !pattern_list_matches(rule->kinds, kind->abi.kind)) ||
            (rule->namespaces && !pattern_list_matches(rule->namespaces, namespace_)))
            continue;
        if (rules->list[i].namespaces.n_terms > 0)
            labels_known = namespace_labels_of(engine, entry, &labels);
        if (!labels_known)
            i = rules->n;
        if (!labels_known || selector_is_met(&rules->list[i].namespaces, labels))
            break;
    }
    if (known)
        *known = labels_known;
    if (workers)
        *workers = &rules->list[i].workers;
    return &rules->list[i].rule;
}

bool placement_waits_when_lost(const struct engine *engine, const struct entry *entry) {
    bool known = false;
    return placement_rule_of(engine, entry, &known, NULL)->wait_when_lost || !known;
}

bool placement_retries_elsewhere(const struct engine *engine) {
    return engine->placement.rules->retries;
}

// Settings of workers ------------------------------------------------------------------------------------------

void placement_workers_changed(struct engine *engine) {
    engine->placement.workers_are_limited = false;
    for (size_t c = 1; c < engine->n_clusters; c++)
        engine->placement.workers_are_limited |=
            engine->clusters[c].settings.max_active > 0 || engine->clusters[c].settings.max_kinds;
    placement_queue_retry(engine);
}

// From a list like "jobs.batch=5,JobSet=2"; 0: no limit.
static size_t limit_of_kind(const char *list, const struct kind *kind) {
    const char *const names[] = {kind->plural_group, kind->abi.kind};
    for (size_t i = 0; list && i < 2; i++) {
        int64_t limit = 0;
        char text[24];
        if (labels_value(list, names[i], text, sizeof text) && text_to_int64(text, &limit) && limit > 0)
            return (size_t)limit;
    }
    return 0;
}

void placement_worker_refresh(const struct engine *engine, size_t cluster, size_t kind) {
    const struct worker_settings *settings = &engine->clusters[cluster].settings;
    struct worker_facts *facts = &engine->workers[kind][cluster];
    facts->weight = settings->weight ? settings->weight : 1;
    facts->order = settings->order;
    facts->max_active = settings->max_active;
    facts->max_kind = limit_of_kind(settings->max_kinds, engine->kinds[kind]);
}

// The view -----------------------------------------------------------------------------------------------------

bool placement_is_limited(const struct engine *engine, const struct entry *entry) {
    return entry->workload->placement.has_placement_annotations || capacity_is_used(engine) ||
           engine->placement.workers_are_limited || engine->settings.tenancy.impersonate ||
           engine->placement.rules->limited || scoring_is_used(engine, entry) || dependencies_limit(engine, entry) ||
           retried_any(entry);
}

static void exclude_all(struct placement_view *view, enum worker_obstacle obstacle) {
    for (size_t c = 1; c < view->n_clusters; c++)
        placement_exclude(view, c, obstacle, CLOCK_NEVER);
}

static void exclude_unmatched(const struct engine *engine, const struct selector *selector,
                              struct placement_view *view) {
    for (size_t c = 1; selector->n_terms > 0 && c < view->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && !selector_is_met(selector, engine->clusters[c].settings.labels))
            placement_exclude(view, c, OBSTACLE_SELECTOR, CLOCK_NEVER);
}

// wharf.dev/cluster-selector.
static void read_selector(const struct engine *engine, const char *text, struct placement_view *view) {
    struct error *error = selector_parse(text, &view->selector);
    if (error) {
        snprintf(view->problem, sizeof view->problem, "annotation " MARK_CLUSTER_SELECTOR ": %s", error_text(error));
        error_free(error);
        exclude_all(view, OBSTACLE_SELECTOR);
        return;
    }
    exclude_unmatched(engine, &view->selector, view);
}

static size_t find_worker(const struct engine *engine, const char *name, size_t len) {
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && strlen(engine->clusters[c].name) == len &&
            strncmp(engine->clusters[c].name, name, len) == 0)
            return c;
    return 0;
}

// wharf.dev/cluster-names. Ignores names that no worker has: the worker may join later.
static void read_names(const struct engine *engine, const char *text, struct placement_view *view) {
    uint32_t rank = 0;
    view->pinned = true;
    for (const char *at = text; *at;) {
        at += strspn(at, ", ");
        size_t len = strcspn(at, ", ");
        size_t cluster = len > 0 ? find_worker(engine, at, len) : 0;
        if (cluster && view->workers[cluster].rank == 0)
            view->workers[cluster].rank = ++rank;
        at += len;
    }
    if (rank == 0)
        snprintf(view->problem, sizeof view->problem, "annotation " MARK_CLUSTER_NAMES ": %.80s is no worker", text);
    for (size_t c = 1; c < view->n_clusters; c++)
        if (view->workers[c].rank == 0)
            placement_exclude(view, c, OBSTACLE_PINNED, CLOCK_NEVER);
}

bool placement_limit_of(const struct engine *engine, const struct entry *entry, size_t cluster, size_t *limit,
                        size_t *active, size_t *kind) {
    const struct worker_facts *facts = &engine->workers[entry->kind][cluster];
    size_t own = entry->workload->active_in == cluster ? 1 : 0;
    *limit = facts->max_kind;
    *active = facts->active_kind - own;
    if (facts->max_active == 0 || (*limit > 0 && *active >= *limit))
        return true;
    *limit = facts->max_active;
    *active = facts->active - own;
    *kind = cluster_unlisted_kind(engine); // the worker may have workloads of the kind
    return *active >= *limit || *kind == engine->n_kinds;
}

static void exclude_full(const struct engine *engine, const struct entry *entry, struct placement_view *view) {
    for (size_t c = 1; engine->placement.workers_are_limited && c < view->n_clusters; c++) {
        size_t limit = 0, active = 0, kind = 0;
        if (cluster_is_vacant(engine, c) || view->workers[c].obstacle != OBSTACLE_NONE ||
            (placement_limit_of(engine, entry, c, &limit, &active, &kind) && (limit == 0 || active < limit)))
            continue;
        placement_exclude(view, c, OBSTACLE_FULL, CLOCK_NEVER);
        view->waits_for_limit = true;
    }
}

static void exclude_without_consent(const struct engine *engine, const struct entry *entry,
                                    struct placement_view *view) {
    int64_t until_ns = CLOCK_NEVER;
    for (size_t c = 1; engine->settings.tenancy.impersonate && c < view->n_clusters; c++)
        if (!cluster_is_vacant(engine, c) && !tenancy_permits(engine, entry, c, &until_ns))
            placement_exclude(view, c, OBSTACLE_TENANT, until_ns);
}

static void exclude_without_capacity(struct engine *engine, struct entry *entry, struct placement_view *view) {
    uint32_t shard = shard_of(engine, entry);
    for (size_t c = 1; capacity_is_used(engine) && c < view->n_clusters; c++) {
        struct placement_option *option = &view->workers[c];
        int64_t next_ns = CLOCK_NEVER;
        const struct worker_facts *worker = &engine->workers[entry->kind][c];
        if (option->obstacle != OBSTACLE_NONE || !worker->eligible || shard_is_in(worker->closed_shards, shard))
            continue;
        if (!capacity_fits(engine, entry, c, &next_ns)) {
            placement_exclude(view, c, OBSTACLE_CAPACITY, next_ns);
            view->lacks_capacity = true;
        } else if (view->policy == PLACEMENT_BIN_PACK) {
            option->fullness = capacity_fullness(engine, entry, c);
        }
    }
}

static void exclude_by_dependencies(const struct engine *engine, const struct entry *entry,
                                    struct placement_view *view) {
    for (size_t c = 1; dependencies_limit(engine, entry) && c < view->n_clusters; c++) {
        int64_t until_ns = CLOCK_NEVER;
        if (!cluster_is_vacant(engine, c) && dependencies_exclude(engine, entry, c, &until_ns))
            placement_exclude(view, c, OBSTACLE_DEPENDENCY, until_ns);
    }
}

static void read_annotations(struct engine *engine, struct entry *entry, struct placement_view *view) {
    const struct json *object = doc_tree(&engine->store, &entry->workload->doc);
    const char *names = object_annotation(object, MARK_CLUSTER_NAMES);
    const char *selector = object_annotation(object, MARK_CLUSTER_SELECTOR);
    if (names)
        read_names(engine, names, view);
    if (selector)
        read_selector(engine, selector, view);
}

bool placement_view_make(struct engine *engine, struct entry *entry, struct placement_view *out) {
    *out = (struct placement_view){.n_clusters = engine->n_clusters};
    out->workers = calloc(engine->n_clusters, sizeof *out->workers);
    if (!out->workers ||
        (entry->workload->placement.has_placement_annotations && !doc_tree(&engine->store, &entry->workload->doc))) {
        placement_view_clear(out);
        return false;
    }
    for (size_t c = 0; c < out->n_clusters; c++)
        out->workers[c].until_ns = CLOCK_NEVER;
    bool known = true;
    const struct selector *workers = NULL;
    out->policy = placement_rule_of(engine, entry, &known, &workers)->policy;
    if (!known)
        exclude_all(out, OBSTACLE_UNDECIDED);
    if (entry->workload->placement.has_placement_annotations)
        read_annotations(engine, entry, out);
    if (retried_any(entry))
        elsewhere_avoid(engine, entry, out);
    exclude_unmatched(engine, workers, out);
    exclude_without_consent(engine, entry, out);
    exclude_full(engine, entry, out);
    exclude_without_capacity(engine, entry, out);
    exclude_by_dependencies(engine, entry, out);
    return true;
}

void placement_view_clear(struct placement_view *view) {
    free(view->workers);
    selector_clear(&view->selector);
    *view = (struct placement_view){.workers = NULL};
}
