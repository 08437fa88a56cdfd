// SPDX-License-Identifier: Apache-2.0
// Decides about the touched objects and their copies, and sends requests.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/base/sensitive.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/tenancy/tenancy.h"

#define SOON_NS (5 * CLOCK_SECOND)  // for so long the content is kept for a repetition
#define LEARN_NS (2 * CLOCK_SECOND) // usually the copy is there by then
#define HELD_NS (5 * CLOCK_SECOND)  // between two tries of a deletion that an unknown mirror delays

// Clusters ---------------------------------------------------------------------------------------------------------

// Rule 9: nothing is written while either cluster is not the expected one.
static bool is_usable(const struct engine *engine, size_t cluster) {
    if (!cluster_is_identified(engine, ENGINE_MANAGEMENT) || cluster_is_other(engine, ENGINE_MANAGEMENT))
        return false;
    if (cluster == ENGINE_MANAGEMENT)
        return cluster_contact(engine, cluster) != CONTACT_LOST;
    bool connected = false;
    for (size_t k = 0; k < engine->n_kinds && !connected; k++)
        connected = engine->workers[k][cluster].connected && !engine->workers[k][cluster].frozen;
    return connected;
}

// D5.
static bool is_listed(const struct engine *engine, size_t cluster) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        const struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (watch->state != REFLECTOR_ABSENT && !cluster_is_connected(engine, cluster, k))
            return false;
    }
    return cluster_unlisted_kind(engine) == engine->n_kinds;
}

static bool is_permitted(struct engine *engine, const struct dependency *object, size_t cluster) {
    return is_listed(engine, cluster) && !needs_hold(engine, object->namespace_, cluster);
}

// Bodies -----------------------------------------------------------------------------------------------------------

// The content with the marks for a worker. The caller frees it.
static struct json *marked_content(const struct engine *engine, const struct dependency *object, size_t cluster) {
    SENSITIVE_WHILE(object->resource->sensitive);
    AUTO_JSON content = NULL;
    error_free(json_parse(object->content, strlen(object->content), &content));
    if (!content)
        return NULL;
    char uid[STORE_UID_MAX], kind[COPY_KIND_MAX], seal[SEAL_TEXT_MAX];
    text_copy(uid, sizeof uid, object->source);
    uid[strcspn(uid, "/")] = '\0';
    struct seal_subject subject = copy_seal_subject(engine, object, cluster, uid, kind);
    bool sealed = seal_make(engine->seals, &subject, seal);
    return copy_set_marks(content, &subject, object->source, sealed ? seal : NULL) ? TAKE(content) : NULL;
}

// `body` NULL: none, of a read; else out of memory.
static void send_text(struct engine *engine, struct dependency *object, struct copy *copy,
                      enum dependency_request_type type, const char *body) {
    bool has_all = body || type == DEPENDENCY_READ_COPY;
    copy->busy = has_all && dependency_send(engine, object, copy->cluster, type, body);
    if (!copy->busy)
        copy->not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
}

// Takes the body. NULL: out of memory.
static void send_json(struct engine *engine, struct dependency *object, struct copy *copy,
                      enum dependency_request_type type, struct json *body) {
    SENSITIVE_WHILE(object->resource->sensitive);
    AUTO_BUFFER(text, REQUEST_BODY_MAX);
    bool printed = body && json_print(body, &text);
    send_text(engine, object, copy, type, printed ? text.data : NULL);
    json_free(body);
}

void dependency_read_copy(struct engine *engine, struct dependency *object, struct copy *copy) {
    send_text(engine, object, copy, DEPENDENCY_READ_COPY, NULL);
}

static void make_namespace(struct engine *engine, struct dependency *object, struct copy *copy) {
    copy->namespace_missing = false;
    AUTO_TEXT body = text_format("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                                 object->namespace_);
    send_text(engine, object, copy, DEPENDENCY_NAMESPACE, body);
}

static void send_delete(struct engine *engine, struct dependency *object, struct copy *copy) {
    AUTO_TEXT body = text_format("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"%s\","
                                 "\"resourceVersion\":\"%s\"}}",
                                 copy->uid, copy->version);
    send_text(engine, object, copy, DEPENDENCY_DELETE, body);
    copy->deleting = copy->busy;
}

// A read -------------------------------------------------------------------------------------------------------------

static bool is_current(const struct dependency *object, const struct copy *copy) {
    return copy->marked == object->mark && !copy->unsealed;
}

static void send_change(struct engine *engine, struct dependency *object, struct copy *copy, const struct json *content,
                        const struct json *there) {
    SENSITIVE_WHILE(object->resource->sensitive);
    bool recreate = false;
    struct json *patch = copy_patch(object->resource->name, content, there, &recreate);
    copy->recreate = recreate && copy->state == COPY_OWN;
    if (recreate)
        json_free(patch);
    else
        send_json(engine, object, copy, DEPENDENCY_CHANGE, patch);
}

// An administrator of the worker decides. The log has the difference once for each version, and each workload that
// refers to the object looks whether its namespace needs an Event.
static void compare_checked(struct engine *engine, struct dependency *object, struct copy *copy) {
    copy->n_told = 0;
    dependency_set_problem(&copy->problem, copy->equal ? NULL : "differs from the one in the management cluster");
    if (!copy->equal)
        report_log(engine, LOG_WARN, copy->cluster, LOG_NO_KIND,
                   "%s %s differs from the one in the management cluster: workloads that refer to it may be "
                   "scheduled differently",
                   object->resource->name, object->name);
    for (const struct use *u = copy->equal ? NULL : object->users; u; u = u->older)
        queue_entry(engine, u->needs->entry);
}

static void compare_other(struct engine *engine, struct dependency *object, struct copy *copy,
                          const struct json *content, const struct json *there) {
    copy->equal = copy_equals(object->resource->name, content, there);
    copy->compared = copy_versions(object, copy);
    if (dependency_use(engine, object) == DEPENDENCY_CHECKED)
        compare_checked(engine, object, copy);
    else if (!dependency_is_held(engine, object)) // the holder of the shard writes
        copy->equal &= copy->state != COPY_GIVEN;
    else if (copy->equal && copy->state == COPY_GIVEN)
        send_change(engine, object, copy, content, there);
    else if (copy->equal && copy->state == COPY_ORIGIN && !copy->also_used)
        send_json(engine, object, copy, DEPENDENCY_CHANGE_ORIGINS, copy_use_patch(there, engine->origin, true));
    dependency_changed(engine, object);
}

// The entries have changed, or may change now.
static void forget_holds(struct dependency_part *all) {
    map_free_values(&all->holds);
    all->holds_known = false;
}

static struct copy_action next_action(struct engine *engine, const struct dependency *object, struct copy *copy);

void dependency_compare(struct engine *engine, struct dependency *object, struct copy *copy, const struct json *there) {
    if (!copy_is_there(copy) || copy->busy)
        return;
    if (!dependency_is_kept(engine, object, copy)) {
        bool leaves = next_action(engine, object, copy).type == COPY_LEAVE;
        forget_holds(engine->dependencies);
        if (leaves)
            send_json(engine, object, copy, DEPENDENCY_CHANGE_ORIGINS,
                      copy->state == COPY_OWN ? copy_hand_over_patch(there, engine->origin)
                                              : copy_use_patch(there, engine->origin, false));
        return;
    }
    bool copied = dependency_use(engine, object) == DEPENDENCY_COPIED;
    AUTO_JSON content = object->content && (copied || object->resource->compares)
                            ? marked_content(engine, object, copy->cluster)
                            : NULL;
    if (content && copied && copy->state == COPY_OWN) {
        if (!dependency_is_held(engine, object))
            return;
        if (!is_current(object, copy))
            send_change(engine, object, copy, content, there);
    } else if (content) {
        compare_other(engine, object, copy, content, there);
    }
}

// The source ----------------------------------------------------------------------------------------------------------

static void read_source(struct engine *engine, struct dependency *object) {
    int64_t at_ns = object->not_before_ns;
    if (object->read_ns && object->read_mark != object->mark)
        at_ns = clock_later(at_ns, object->read_ns + DEPENDENCY_READ_NS);
    if (object->busy || object->presence != PRESENCE_THERE || !is_usable(engine, ENGINE_MANAGEMENT) ||
        shard_mask(engine) == 0)
        return;
    if (at_ns > engine->now.mono_ns) {
        dependency_wake(engine, object, at_ns);
        return;
    }
    if (!dependency_has_room(engine, ENGINE_MANAGEMENT)) {
        dependency_turn_wait(engine, ENGINE_MANAGEMENT, &object->turn, object);
        return;
    }
    object->busy = dependency_send(engine, object, ENGINE_MANAGEMENT, DEPENDENCY_READ_SOURCE, NULL);
    if (!object->busy)
        dependency_wake(engine, object, engine->now.mono_ns + CLOCK_SECOND);
}

// Copies --------------------------------------------------------------------------------------------------------------

static bool is_remembered(const struct engine *engine, const struct dependency *object, const struct copy *copy) {
    bool searches =
        copy->state == COPY_UNKNOWN && copy->watched && engine->now.mono_ns < engine->dependencies->search_until_ns;
    bool others = copy_is_there(copy) && copy->state != COPY_OWN;
    bool told = object->resource->compares && copy->compared; // the next workload is not told the same again
    return dependency_is_checked(engine, object) || told || (object->users && (copy->refused || searches || others));
}

// Until then the worker may have had mirrors that this host does not know.
static int64_t unknown_ns(struct engine *engine, const struct copy *copy) {
    struct dependency_cluster *of = dependency_cluster_of(engine, copy->cluster);
    if (of && !is_listed(engine, copy->cluster))
        of->unknown_ns = engine->now.mono_ns;
    return of ? of->unknown_ns : engine->now.mono_ns;
}

// An author may write the placement.
static bool permits_namespace(const struct engine *engine, const struct entry *entry, size_t cluster) {
    struct namespaces_subject subject = facts_namespace(engine, entry);
    return namespaces_judge(engine->settings.namespaces, &subject) == NAMESPACES_PERMITTED &&
           namespaces_judge(engine->clusters[cluster].settings.namespaces, &subject) == NAMESPACES_PERMITTED;
}

// A copy is made for what a workload refers to that is placed there, or has a proven mirror there. Users of the worker
// may change a mirror, and would get any Secret of the namespace by that.
static bool is_certain(const struct engine *engine, const struct use *use, size_t cluster) {
    const struct entry *entry = use->needs->entry;
    const struct workload_facts *w = &entry->workload->facts;
    const struct mirror *m = entry_mirror(entry, cluster);
    bool placed =
        needs_is_unfinished(entry) && w->attempt && w->cluster == cluster && permits_namespace(engine, entry, cluster);
    bool there = m && m->facts.present && m->facts.proven && m->facts.of_workload && !m->facts.unsure &&
                 engine->workers[entry->kind][cluster].connected;
    return use->wanted && (placed || there);
}

// `own`: a workload of a shard of this host.
static bool has_certain_user(const struct engine *engine, const struct dependency *object, const struct copy *copy,
                             bool own) {
    for (const struct use *u = object->users; u; u = u->older)
        if (is_certain(engine, u, copy->cluster) && (!own || shard_is_held(engine, u->needs->entry)))
            return true;
    return false;
}

static bool must_create(const struct engine *engine, const struct dependency *object, const struct copy *copy) {
    return object->waits_ns && object->waits_ns + LEARN_NS <= engine->now.mono_ns &&
           has_certain_user(engine, object, copy, true);
}

static enum copy_need need_of(const struct engine *engine, const struct dependency *object, const struct copy *copy) {
    if (copy->users > 0 && (copy->state != COPY_ABSENT || has_certain_user(engine, object, copy, false)))
        return COPY_WANTED;
    if (dependency_is_kept(engine, object, copy))
        return COPY_KEPT;
    return is_remembered(engine, object, copy) ? COPY_REMEMBERED : COPY_UNUSED;
}

static struct copy_facts facts_of(struct engine *engine, const struct dependency *object, const struct copy *copy) {
    return (struct copy_facts){
        .copy = *copy,
        .use = dependency_use(engine, object),
        .source = object->presence,
        .usable = is_usable(engine, copy->cluster),
        .held = dependency_is_held(engine, object),
        .creates = must_create(engine, object, copy),
        // The host itself makes those of a cluster, without a tenant.
        .consents = object->resource->cluster_scoped || tenancy_consents(engine, copy->cluster, object->namespace_),
        .need = need_of(engine, object, copy),
        .compares = object->resource->compares,
        .current = is_current(object, copy),
        .compared = copy_is_compared(object, copy),
        .unused_ns = clock_later(copy->unused_ns, unknown_ns(engine, copy)),
        .now_ns = engine->now.mono_ns,
    };
}

static struct copy_action next_action(struct engine *engine, const struct dependency *object, struct copy *copy) {
    bool kept = dependency_is_kept(engine, object, copy);
    copy->unused_ns = kept ? 0 : copy->unused_ns ? copy->unused_ns : engine->now.mono_ns;
    struct copy_facts facts = facts_of(engine, object, copy);
    struct copy_action action = copy_decide(&facts);
    bool ends = !kept && (action.type == COPY_LEAVE || action.type == COPY_DELETE);
    if (ends && !is_permitted(engine, object, copy->cluster))
        return (struct copy_action){.type = COPY_WAIT, .at_ns = engine->now.mono_ns + HELD_NS};
    return action;
}

static void perform(struct engine *engine, struct dependency *object, struct copy *copy, enum copy_action_type type) {
    if (type == COPY_CREATE && copy->namespace_missing)
        make_namespace(engine, object, copy);
    else if (type == COPY_CREATE)
        send_json(engine, object, copy, DEPENDENCY_CREATE, marked_content(engine, object, copy->cluster));
    else if (type == COPY_DELETE)
        send_delete(engine, object, copy);
    else
        dependency_read_copy(engine, object, copy);
}

// *pending: the content is needed, or soon.
static void work_copy(struct engine *engine, struct dependency *object, struct copy *copy, bool *pending) {
    struct copy_action action = next_action(engine, object, copy);
    bool needs_content = action.type == COPY_CREATE || action.type == COPY_COMPARE;
    bool soon = action.type == COPY_WAIT && action.at_ns - engine->now.mono_ns < SOON_NS;
    *pending |= copy->busy || needs_content || soon;
    if (action.type == COPY_NOTHING)
        return;
    if (action.type == COPY_FORGET)
        dependency_copy_drop(engine, object, copy);
    else if (action.type == COPY_WAIT)
        dependency_wake(engine, object, action.at_ns);
    else if (needs_content && !object->content)
        read_source(engine, object);
    else if (!dependency_has_room(engine, copy->cluster))
        dependency_turn_wait(engine, copy->cluster, &copy->turn, object);
    else
        perform(engine, object, copy, action.type);
}

// Objects -------------------------------------------------------------------------------------------------------------

// D11: the holder of the object's shard makes the copy. If the copy does not come, this host makes it for its own
// workloads, and so learns of a denied type or a rejection.
static void note_wait(struct engine *engine, struct dependency *object) {
    bool waits = false;
    for (const struct copy *c = object->copies; c; c = c->next)
        waits |= c->users > 0 && c->state == COPY_ABSENT;
    if (!waits || dependency_use(engine, object) != DEPENDENCY_COPIED || dependency_is_held(engine, object))
        object->waits_ns = 0;
    else if (object->waits_ns == 0)
        object->waits_ns = engine->now.mono_ns;
    if (object->waits_ns && object->waits_ns + LEARN_NS > engine->now.mono_ns)
        dependency_wake(engine, object, object->waits_ns + LEARN_NS);
}

static void work(struct engine *engine, struct dependency *object) {
    bool pending = object->busy;
    dependency_watch_object(engine, object);
    if (object->resource->refers && object->users && object->read_mark != object->mark)
        read_source(engine, object);
    note_wait(engine, object);
    for (struct copy *c = object->copies, *next; c; c = next) {
        next = c->next;
        work_copy(engine, object, c, &pending);
    }
    if (!pending && object->content)
        dependency_drop_content(object);
    dependency_drop_if_unused(engine, object);
}

bool dependencies_may_leave(const struct engine *engine, size_t cluster) {
    size_t cursor = 0;
    if (!engine->dependencies || !is_usable(engine, cluster))
        return true;
    for (const struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));) {
        const struct copy *copy = dependency_copy(o, cluster);
        if (copy && copy->state == COPY_OWN && copy->failures == 0 && o->resource->use == DEPENDENCY_COPIED)
            return false;
    }
    return true;
}

void dependency_leave(struct engine *engine, size_t cluster) {
    dependency_end_requests(engine, cluster);
    size_t cursor = 0;
    for (struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));) {
        struct copy *copy = dependency_copy(o, cluster);
        if (copy)
            dependency_copy_drop(engine, o, copy);
        dependency_touch(engine, o);
    }
    cursor = 0;
    for (struct dependency_resource *r; (r = map_next(&engine->dependencies->resources, &cursor));) {
        struct dependency_watch *watch = cluster < r->n_watches ? &r->watches[cluster] : NULL;
        if (!watch)
            continue;
        free(watch->problem);
        *watch = (struct dependency_watch){.epoch = watch->epoch};
    }
}

// A quota, or the namespace. In the management cluster its labels, by which rules may permit it.
void dependency_on_namespace(struct engine *engine, const struct engine_event *event) {
    const char *name = event->namespace_.name;
    size_t cursor = 0;
    for (struct dependency *o; (o = map_next(&engine->dependencies->objects, &cursor));) {
        bool other = name && strcmp(name, o->namespace_) != 0;
        if (event->cluster == ENGINE_MANAGEMENT && !other)
            dependency_touch(engine, o);
        struct copy *copy = other || event->cluster == ENGINE_MANAGEMENT ? NULL : dependency_copy(o, event->cluster);
        if (!copy || !copy->refused)
            continue;
        copy->not_before_ns = 0;
        copy->namespace_made = false;
        dependency_changed(engine, o);
    }
}

static void queue_due(struct engine *engine) {
    struct heap *timers = &engine->dependencies->timers;
    for (struct timer *t; (t = heap_first(timers)) && t->at_ns <= engine->now.mono_ns;) {
        heap_remove(timers, t);
        dependency_touch(engine, (struct dependency *)(void *)t);
    }
}

// The objects that wait for a request to a cluster, as far as there is room now.
static void take_turns(struct engine *engine) {
    const struct dependency_part *all = engine->dependencies;
    for (size_t c = 0; c < all->n_clusters; c++)
        while (all->clusters[c].first && dependency_has_room(engine, c)) {
            struct dependency *object = all->clusters[c].first->object;
            dependency_turn_end(engine, c, all->clusters[c].first);
            work(engine, object);
        }
}

void dependency_work(struct engine *engine) {
    struct dependency_part *all = engine->dependencies;
    queue_due(engine);
    if (all->watches_due)
        dependency_watch_copied(engine);
    all->watches_due = false;
    take_turns(engine);
    struct dependency *object = all->due, *next;
    all->due = NULL;
    all->due_end = &all->due;
    for (; object; object = next) {
        next = object->next_due;
        object->due = false;
        work(engine, object);
    }
    forget_holds(all);
}

int64_t dependency_due_ns(struct engine *engine) {
    const struct timer *first = heap_first(&engine->dependencies->timers);
    int64_t at_ns = first ? first->at_ns : CLOCK_NEVER;
    const struct dependency_part *all = engine->dependencies;
    bool waits = all->due;
    for (size_t c = 0; c < all->n_clusters && !waits; c++)
        waits = all->clusters[c].first;
    // An answer makes room, or the rate limit.
    return waits ? clock_earlier(at_ns, engine->now.mono_ns + CLOCK_SECOND / 10) : at_ns;
}
