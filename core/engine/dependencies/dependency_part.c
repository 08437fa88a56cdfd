// SPDX-License-Identifier: Apache-2.0
// The part: the facts about an entry's needs for decide(), Events, and what the API shows.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/observe/observe.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

#define GRACE_NS CLOCK_SECOND  // for the state of checked objects in all workers
#define REPORT_NS CLOCK_SECOND // objects are often created together with the workload
#define NAMED_MAX 8            // objects in one sentence

// Facts ------------------------------------------------------------------------------------------------------------

static bool is_over(const struct engine *engine, const struct entry *entry) {
    return !engine->dependencies || !needs_is_unfinished(entry) || entry->workload->facts.too_large;
}

// Of one need; `cluster` ENGINE_MANAGEMENT: the source of a copied object, before the choice of a worker.
static enum needs_state state_of(const struct engine *engine, const struct use *use, size_t cluster) {
    bool of_source = cluster == ENGINE_MANAGEMENT;
    if (!use->wanted || (of_source && use->object->resource->use != DEPENDENCY_COPIED))
        return NEEDS_MET;
    switch (dependency_state_in(engine, use->object, cluster)) {
    case DEPENDENCY_UNKNOWN:
        return NEEDS_COMING;
    case DEPENDENCY_NEEDED:
        return of_source ? NEEDS_MET : NEEDS_COMING;
    case DEPENDENCY_MISSING:
    case DEPENDENCY_CONFLICT:
    case DEPENDENCY_REFUSED:
        return use->optional ? NEEDS_MET : of_source ? NEEDS_MISSING : NEEDS_LACKED;
    default:
        return NEEDS_MET;
    }
}

static enum needs_state worst(const struct engine *engine, const struct needs *needs, size_t cluster) {
    enum needs_state worst = NEEDS_MET;
    for (size_t i = 0; i < needs->uses.count; i++) {
        enum needs_state state = state_of(engine, &needs->uses.list[i], cluster);
        worst = state > worst ? state : worst;
    }
    return worst;
}

// Until the workers have told about checked objects, the first of them would get everything.
static bool waits_for_workers(const struct engine *engine, const struct entry *entry) {
    const struct needs *needs = entry->needs;
    if (engine->now.mono_ns >= needs->since_ns + GRACE_NS)
        return false;
    for (size_t i = 0; i < needs->uses.count; i++) {
        const struct dependency *object = needs->uses.list[i].object;
        if (dependency_use(engine, object) != DEPENDENCY_CHECKED)
            continue;
        for (size_t c = 1; c < engine->n_clusters; c++)
            if (engine->workers[entry->kind][c].eligible &&
                dependency_state_in(engine, object, c) == DEPENDENCY_UNKNOWN)
                return true;
    }
    return false;
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    const struct workload_facts *w = &entry->workload->facts;
    const struct needs *needs = entry->needs;
    if (is_over(engine, entry))
        return;
    if (!needs || !needs->read) {
        facts->needs = NEEDS_COMING;
        return;
    }
    facts->needs = *needs->excess ? NEEDS_MISSING : worst(engine, needs, ENGINE_MANAGEMENT);
    if (facts->needs == NEEDS_MET && (needs->open || needs->stale))
        facts->needs = NEEDS_COMING;
    if (facts->needs == NEEDS_MET && !w->attempt && waits_for_workers(engine, entry)) {
        facts->needs = NEEDS_COMING;
        facts->needs_at_ns = needs->since_ns + GRACE_NS;
    }
    if (w->attempt && facts_placed_cluster(entry) && !facts_placed_mirror(entry))
        facts->needs_there = worst(engine, needs, w->cluster);
}

bool dependencies_limit(const struct engine *engine, const struct entry *entry) {
    return engine->dependencies && entry->needs && entry->needs->uses.count > 0;
}

static bool is_lacked(const struct engine *engine, const struct use *use, size_t cluster) {
    return state_of(engine, use, cluster) == NEEDS_LACKED && state_of(engine, use, ENGINE_MANAGEMENT) == NEEDS_MET;
}

static const struct use *lacked(const struct engine *engine, const struct entry *entry, size_t cluster) {
    for (size_t i = 0; dependencies_limit(engine, entry) && i < entry->needs->uses.count; i++)
        if (is_lacked(engine, &entry->needs->uses.list[i], cluster))
            return &entry->needs->uses.list[i];
    return NULL;
}

// A copy that this host does not retry by itself is retried by the placement of a workload.
bool dependencies_exclude(const struct engine *engine, const struct entry *entry, size_t cluster, int64_t *until_ns) {
    *until_ns = CLOCK_NEVER;
    int64_t last_ns = engine->now.mono_ns;
    for (size_t i = 0; dependencies_limit(engine, entry) && i < entry->needs->uses.count; i++) {
        const struct use *use = &entry->needs->uses.list[i];
        if (!is_lacked(engine, use, cluster))
            continue;
        const struct copy *copy = dependency_copy(use->object, cluster);
        if (!copy || !copy->refused || copy->users > 0)
            return true;
        last_ns = copy->not_before_ns > last_ns ? copy->not_before_ns : last_ns;
    }
    if (last_ns == engine->now.mono_ns)
        return false;
    *until_ns = last_ns;
    return true;
}

// Sentences --------------------------------------------------------------------------------------------------------

static void put_name(const struct dependency *object, struct buffer *out) {
    buffer_printf(out, "%s %s%s%s", object->resource->name, object->namespace_, *object->namespace_ ? "/" : "",
                  object->name);
}

const char *dependencies_put_lack(const struct engine *engine, const struct entry *entry, size_t cluster,
                                  struct buffer *out) {
    const struct use *use = lacked(engine, entry, cluster);
    if (!use)
        return NULL;
    enum dependency_state state = dependency_state_in(engine, use->object, cluster);
    const char *problem = dependency_problem_in(use->object, cluster);
    const char *reason = state == DEPENDENCY_CONFLICT  ? "NameConflict"
                         : state == DEPENDENCY_MISSING ? "MissingDependency"
                                                       : "DependencyRejected";
    put_name(use->object, out);
    buffer_text(out, state == DEPENDENCY_CONFLICT  ? ": another writer's object there has other content"
                     : state == DEPENDENCY_MISSING ? ": does not exist there"
                                                   : ": the worker rejects the copy");
    if (state == DEPENDENCY_REFUSED && problem)
        buffer_printf(out, ": %s", problem);
    return reason;
}

// The names of the needs in this state, and their number. *denied: the host may not read a missing one, or failed to.
static size_t put_names(const struct engine *engine, const struct needs *needs, size_t cluster, enum needs_state state,
                        struct buffer *out, bool *denied) {
    size_t n = 0;
    *denied = false;
    for (size_t i = 0; i < needs->uses.count; i++) {
        const struct use *use = &needs->uses.list[i];
        if (state_of(engine, use, cluster) != state || n++ >= NAMED_MAX)
            continue;
        const char *problem = state == NEEDS_MISSING ? dependency_problem_in(use->object, ENGINE_MANAGEMENT) : NULL;
        buffer_text(out, n > 1 ? ", " : "");
        put_name(use->object, out);
        if (!problem)
            continue;
        *denied = true;
        buffer_printf(out, " (%s)", problem);
    }
    if (n > NAMED_MAX)
        buffer_printf(out, " and %zu more", n - NAMED_MAX);
    return n;
}

static size_t put_missing(const struct engine *engine, const struct needs *needs, struct buffer *out, bool *denied) {
    return put_names(engine, needs, ENGINE_MANAGEMENT, NEEDS_MISSING, out, denied);
}

void dependencies_put(const struct engine *engine, const struct entry *entry, struct buffer *out) {
    AUTO_BUFFER(names, 8192);
    const struct needs *needs = entry->needs;
    uint32_t cluster = facts_placed_cluster(entry);
    bool denied;
    if (!engine->dependencies || !needs)
        return;
    if (*needs->excess)
        buffer_text(out, needs->excess);
    else if (put_missing(engine, needs, &names, &denied) > 0)
        buffer_printf(out, "missing%s in the management cluster: %s", denied ? " or not readable" : "", names.data);
    else if (put_names(engine, needs, cluster, NEEDS_COMING, &names, &denied) > 0)
        buffer_printf(out, "waits for %s%s%s", names.data, cluster ? " in cluster " : "",
                      cluster ? engine->clusters[cluster].name : "");
    else
        buffer_text(out, waiting_text(WAITING_DEPENDENCY));
}

// Reports ------------------------------------------------------------------------------------------------------------

// Notes what an Event tells. False: an Event has told the same, or more.
static bool is_news(struct needs *needs, const char *told) {
    const char *former = needs->told ? needs->told : "";
    for (const char *at = told, *end; *at; at = *end ? end + 2 : end) {
        end = strstr(at, ", ");
        end = end ? end : at + strlen(at);
        AUTO_TEXT one = strndup(at, (size_t)(end - at));
        if (one && strstr(former, one))
            continue;
        AUTO_TEXT both = text_format("%s%s%s", former, *former ? ", " : "", told);
        return both && text_set(&needs->told, both);
    }
    return false;
}

// D3: once for the same names.
static void report_missing(struct engine *engine, struct entry *entry, const struct action *action) {
    struct needs *needs = entry->needs;
    AUTO_BUFFER(names, 8192);
    bool denied;
    if (action->waiting != WAITING_DEPENDENCY || put_missing(engine, needs, &names, &denied) == 0) {
        needs->missing_ns = action->waiting == WAITING_ANSWER ? needs->missing_ns : 0;
        return;
    }
    if (!needs->missing_ns)
        needs->missing_ns = engine->now.mono_ns;
    if (names.data && !queue_is_early(engine, entry, needs->missing_ns + REPORT_NS) && is_news(needs, names.data))
        report_event(engine, entry, true, "MissingDependency", "Place",
                     "waits for objects that do not exist%s in the management cluster: %s",
                     denied ? " or cannot be read" : "", names.data);
}

// False: an Event in this namespace has told the difference, or there is none.
static bool is_news_in(const struct dependency *object, struct copy *copy, uint64_t namespace_) {
    bool known = copy->equal || !copy_is_compared(object, copy);
    for (size_t i = 0; i < copy->n_told && !known; i++)
        known = copy->told[i] == namespace_;
    uint64_t *told = known ? NULL : array_next(&copy->told, copy->n_told, sizeof *told);
    if (!told)
        return false;
    *told = namespace_;
    copy->n_told++;
    return true;
}

// D4: a checked object of other content. Thousands of workloads may share it: the first that is handled has the Event.
static void report_other(struct engine *engine, struct entry *entry) {
    uint32_t cluster = facts_placed_cluster(entry);
    char namespace_[254];
    for (size_t i = 0; i < entry->needs->uses.count; i++) {
        const struct use *use = &entry->needs->uses.list[i];
        bool compares = use->wanted && use->object->resource->compares;
        struct copy *copy = compares ? dependency_copy(use->object, cluster) : NULL;
        if (!copy)
            continue;
        entry_namespace(entry, namespace_);
        if (is_news_in(use->object, copy, text_hash(TEXT_HASH, namespace_)))
            report_event(engine, entry, true, "DependencyDiffers", "Place",
                         "cluster %s: %s %s, version %s, differs from the one in the management cluster",
                         engine->clusters[cluster].name, use->object->resource->name, use->object->name, copy->version);
    }
}

static void after(struct engine *engine, struct entry *entry, const struct action *action) {
    struct needs *needs = entry->needs;
    if (is_over(engine, entry) || !needs)
        return;
    report_other(engine, entry);
    if (!*needs->excess)
        report_missing(engine, entry, action);
    else if (is_news(needs, needs->excess)) // D10
        report_event(engine, entry, true, "TooManyDependencies", "Place", "not placed: %s", needs->excess);
}

// D4: as a rejection of the mirror, which does not exist yet.
static void report_lack(struct engine *engine, struct entry *entry) {
    uint32_t cluster = facts_placed_cluster(entry);
    if (is_over(engine, entry) || !entry->needs || !cluster || facts_placed_mirror(entry))
        return;
    AUTO_BUFFER(text, 4096);
    const char *reason = dependencies_put_lack(engine, entry, cluster, &text);
    if (!reason)
        return;
    const char *message = text.len > 0 ? text.data : reason;
    uint64_t hash = text_hash(TEXT_HASH, message) + entry->workload->facts.attempt;
    if (hash == entry->needs->told_lack)
        return;
    entry->needs->told_lack = hash;
    attempt_history_failed(engine, entry, OUTCOME_REJECTED, reason, message);
    report_event(engine, entry, true, reason, "CreateMirror", "cluster %s cannot run the workload: %s",
                 engine->clusters[cluster].name, message);
}

// The part -----------------------------------------------------------------------------------------------------------

static void configure_resources(struct engine *engine) {
    engine->dependencies->watches_due = true;
    dependency_resources_configure(engine);
    dependency_touch_all(engine);
}

static struct error *start(struct engine *engine) {
    struct dependency_part *all = engine->dependencies = calloc(1, sizeof *all);
    if (!all)
        return error_no_memory();
    map_init(&all->objects, engine->seed);
    map_init(&all->resources, engine->seed);
    map_init(&all->holds, engine->seed);
    heap_init(&all->timers);
    all->due_end = &all->due;
    all->epoch = 1;
    all->watches_due = true;
    all->search_until_ns = engine->now.mono_ns + CLOCK_MINUTE;
    return NULL;
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    struct error *error = dependency_options_any(&options->settings.dependencies) ? start(engine) : NULL;
    if (engine->dependencies)
        engine->dependencies->adopt_until_ns = options->adopt_until_ns;
    return error;
}

static void end(struct engine *engine) {
    if (engine->dependencies)
        dependency_free_all(engine);
}

// Without memory for a feature that a reload enables, the next reload tries again.
static void configure(struct engine *engine, const struct engine_settings *former) {
    (void)former;
    if (!engine->dependencies && dependency_options_any(&engine->settings.dependencies))
        error_free(start(engine));
    if (!engine->dependencies)
        return;
    engine->dependencies->epoch++;
    configure_resources(engine);
}

static void before(struct engine *engine, struct entry *entry) {
    if (!engine->dependencies)
        return;
    needs_refresh(engine, entry, false);
    report_lack(engine, entry);
}

// The host may have the shard of an object that the entry's mirrors use, and has to know when these end.
static void stand_by(struct engine *engine, struct entry *entry) {
    if (!engine->dependencies)
        return;
    if (observe_is_unread(entry) && !aside_is_closed(engine, entry))
        observe_again(engine, entry);
    if (observe_is_unread(entry))
        queue_wake(engine, entry, engine->now.mono_ns + DEPENDENCY_UNREAD_NS);
    needs_refresh(engine, entry, true);
}

// A cluster's state changed: what waits for it is decided again.
static void on_cluster(struct engine *engine, const struct engine_event *event) {
    if (event->type == EVENT_WORKER) {
        engine->dependencies->watches_due = true;
        if (cluster_is_vacant(engine, event->cluster))
            dependency_leave(engine, event->cluster);
    }
    dependency_touch_all(engine);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (!engine->dependencies)
        return;
    if (event->type == EVENT_ANSWER)
        dependency_on_answer(engine, event);
    else if (event->type == EVENT_DEPENDENCY)
        dependency_on_event(engine, event);
    else if (event->type == EVENT_NAMESPACE)
        dependency_on_namespace(engine, event);
    else
        on_cluster(engine, event);
}

static void work(struct engine *engine) {
    struct dependency_part *all = engine->dependencies;
    if (!all)
        return;
    if (all->n_kinds != engine->n_kinds) // new kinds bring resources, and references of known ones
        configure_resources(engine);
    all->n_kinds = engine->n_kinds;
    dependency_work(engine);
}

static int64_t due_ns(struct engine *engine) {
    return engine->dependencies ? dependency_due_ns(engine) : CLOCK_NEVER;
}

#define EVENTS                                                                                                         \
    (PART_EVENT(EVENT_ANSWER) | PART_EVENT(EVENT_DEPENDENCY) | PART_EVENT(EVENT_NAMESPACE) |                           \
     PART_EVENT(EVENT_WORKER) | PART_EVENT(EVENT_LISTED) | PART_EVENT(EVENT_STATE) | PART_EVENT(EVENT_CONTACT) |       \
     PART_EVENT(EVENT_IDENTITY) | PART_EVENT(EVENT_LEASE) | PART_EVENT(EVENT_TENANT))

const struct part part_dependencies = {.name = "dependencies",
                                       .begin = begin,
                                       .end = end,
                                       .configure = configure,
                                       .events = EVENTS,
                                       .event = on_event,
                                       .tick = work,
                                       .step_ends = work,
                                       .due_ns = due_ns,
                                       .before = before,
                                       .stand_by = stand_by,
                                       .facts = facts,
                                       .after = after,
                                       .workload_ends = needs_workload_ends,
                                       .entry_ends = needs_free,
                                       .count = dependencies_count};
