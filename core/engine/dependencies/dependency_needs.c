// SPDX-License-Identifier: Apache-2.0
// The needs of an entry: the references of its workload and of its mirrors, with the references of references; and the
// clusters in which they count as users.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

// Places ----------------------------------------------------------------------------------------------------------

// The mirror is there, or may be. Of an earlier placement or a finished workload, a list without the mirror is proof.
static bool is_place(const struct entry *entry, const struct mirror *m) {
    const struct workload_facts *w = &entry->workload->facts;
    bool expected = w->exists && !w->finished, placed = w->cluster == m->facts.cluster;
    return m->facts.present || m->facts.busy || (expected && (m->facts.may_exist || (m->facts.unsure && placed)));
}

static bool has_mirror(const struct entry *entry) {
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (is_place(entry, m))
            return true;
    return false;
}

static bool add_place(struct place **places, size_t *count, uint32_t cluster, bool of_mirror) {
    for (size_t i = 0; i < *count; i++)
        if ((*places)[i].cluster == cluster)
            return true;
    struct place *place = array_next(places, *count, sizeof *place);
    if (place)
        (*places)[(*count)++] = (struct place){cluster, of_mirror};
    return place;
}

bool needs_is_unfinished(const struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->exists && !w->finished && !w->being_deleted;
}

// The mirror of a finished workload stays for a while, and this host may not have seen it.
static bool is_retained(const struct entry *entry, int64_t now_ns) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->exists && w->finished && w->attempt && w->retain_until_ns > now_ns;
}

// The cluster of the placement; the management cluster while the workload asks for one; else DECIDE_UNKNOWN_CLUSTER. A
// suspended workload gets no mirror before it is resumed, perhaps elsewhere.
static uint32_t placement_of(const struct entry *entry, int64_t now_ns) {
    const struct workload_facts *w = &entry->workload->facts;
    bool counts = (needs_is_unfinished(entry) && !w->suspended) || is_retained(entry, now_ns);
    if (!counts || (w->attempt && w->cluster == DECIDE_UNPLACED))
        return DECIDE_UNKNOWN_CLUSTER;
    return w->attempt ? w->cluster : ENGINE_MANAGEMENT;
}

static bool find_places(const struct entry *entry, int64_t now_ns, struct place **places, size_t *count) {
    uint32_t placed = placement_of(entry, now_ns);
    bool ok = true;
    *count = 0;
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (is_place(entry, m))
            ok &= add_place(places, count, m->facts.cluster, true);
    return (placed == DECIDE_UNKNOWN_CLUSTER || add_place(places, count, placed, false)) && ok;
}

// Without memory. Never 0.
static uint64_t hash_places(const struct entry *entry, int64_t now_ns) {
    uint64_t hash = UINT64_C(1) + placement_of(entry, now_ns);
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (is_place(entry, m))
            hash = hash * UINT64_C(0x9e3779b97f4a7c15) + m->facts.cluster;
    return hash;
}

static void count_in(struct engine *engine, struct dependency *object, uint32_t cluster, bool add) {
    dependency_touch(engine, object);
    if (cluster == ENGINE_MANAGEMENT) {
        object->unplaced += add ? 1 : SIZE_MAX;
        return;
    }
    struct copy *copy = add ? dependency_copy_make(engine, object, cluster) : dependency_copy(object, cluster);
    if (!copy || (!add && copy->users == 0))
        return;
    if (copy->users == 0 && copy->state != COPY_UNKNOWN && copy->not_before_ns <= engine->now.mono_ns)
        copy->refused = false; // its first user brings the next try, and waits for the answer
    copy->users += add ? 1 : SIZE_MAX;
}

void needs_count_users(struct engine *engine, const struct needs *needs, bool add) {
    for (size_t u = 0; u < needs->uses.count; u++)
        for (size_t p = 0; p < needs->n_places; p++)
            if (needs->uses.list[u].wanted || needs->places[p].of_mirror)
                count_in(engine, needs->uses.list[u].object, needs->places[p].cluster, add);
}

static bool is_read(const struct mirror *m) {
    return *m->needs_uid && strcmp(m->needs_uid, m->uid) == 0;
}

static bool has_unread(const struct needs *needs, bool stubs) {
    for (const struct mirror *m = entry_mirrors(needs->entry); m; m = mirror_next(m))
        if (m->facts.present && !is_read(m) && (stubs || (!m->facts.name_only && !m->stub)))
            return true;
    return false;
}

// D5: copies stay for a while after a mirror with unknown needs as well.
static void note_unknown(struct engine *engine, const struct needs *needs) {
    for (size_t p = 0; (needs->unread || needs->open) && p < needs->n_places; p++) {
        struct dependency_cluster *of = dependency_cluster_of(engine, needs->places[p].cluster);
        if (of)
            of->unknown_ns = engine->now.mono_ns;
    }
}

static void refresh_places(struct engine *engine, struct needs *needs) {
    struct place *places = NULL;
    size_t n = 0;
    uint64_t hash = hash_places(needs->entry, engine->now.mono_ns);
    if (hash == needs->places_hash)
        return;
    if (!find_places(needs->entry, engine->now.mono_ns, &places, &n)) {
        free(places);
        queue_wake(engine, needs->entry, engine->now.mono_ns + CLOCK_SECOND);
        return;
    }
    note_unknown(engine, needs);
    struct needs former = *needs;
    needs->places_hash = hash;
    needs->places = places;
    needs->n_places = n;
    needs->unread = has_unread(needs, true);
    needs_count_users(engine, needs, true); // first, so that no copy is without a user meanwhile
    needs_count_users(engine, &former, false);
    free(former.places);
}

// Direct references -----------------------------------------------------------------------------------------------

// The objects stay also while no use has them: without memory for uses.
static bool hold_direct(struct needs *needs, struct dependency *object, bool optional, bool wanted) {
    enum put_use put =
        needs_put_use(&needs->direct, &(struct use){.object = object, .optional = optional, .wanted = wanted});
    object->held += put == PUT_NEW;
    return put != PUT_FAILED;
}

static void release(struct engine *engine, const struct use *direct) {
    direct->object->held--;
    dependency_touch(engine, direct->object);
}

static void release_all(struct engine *engine, struct uses *direct) {
    for (size_t i = 0; i < direct->count; i++)
        release(engine, &direct->list[i]);
    free(direct->list);
    *direct = (struct uses){.count = 0};
}

static bool add_direct(struct engine *engine, struct needs *needs, const struct reference *r, bool wanted) {
    struct dependency_resource *resource = dependency_resource_of(engine, r);
    if (!resource)
        return false;
    if (resource->use == DEPENDENCY_IGNORED || r->is_made)
        return true;
    char space[254];
    const char *in = needs_namespace(needs->entry, resource->cluster_scoped, r->namespace_, space);
    struct dependency *object = dependency_make(engine, resource, in, r->name);
    return object && hold_direct(needs, object, r->optional, wanted);
}

static wharf_result read_references(struct engine *engine, struct needs *needs, struct adapter_call *call,
                                    const struct json *object, bool wanted) {
    __attribute__((cleanup(references_clear))) struct references found = {.count = 0};
    wharf_result result = object ? references_of(call, object, &found) : WHARF_RETRY;
    bool ok = true;
    for (size_t i = 0; i < found.count && result == WHARF_OK; i++)
        ok &= add_direct(engine, needs, found.list[i], wanted);
    return ok ? result : WHARF_RETRY;
}

// The former references stay, for the mirrors.
static void read_workload(struct engine *engine, struct needs *needs) {
    struct entry *entry = needs->entry;
    size_t kept = has_mirror(entry) ? needs->direct.count : 0;
    struct uses former = needs->direct;
    needs->direct = (struct uses){.count = 0};
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_result result = read_references(engine, needs, &call, doc_tree(&engine->store, &entry->workload->doc), true);
    if (!call_succeeded(engine, entry, result, &call, "Place", &needs->refusals, &needs->retry_ns)) {
        release_all(engine, &needs->direct);
        needs->direct = former; // these count
        needs->read = 0;
        needs->retry_ns = clock_later(needs->retry_ns, engine->now.mono_ns + CLOCK_SECOND);
        return;
    }
    for (size_t i = 0; i < kept; i++)
        if (!needs_find_use(&needs->direct, former.list[i].object))
            (void)hold_direct(needs, former.list[i].object, former.list[i].optional, false);
    release_all(engine, &former);
    needs->read = entry->workload->carry_hash;
    needs->epoch = engine->dependencies->epoch;
    needs->retry_ns = 0;
    needs->stale = true;
    if (!needs->since_ns)
        needs->since_ns = engine->now.mono_ns;
}

// The host made the mirror of this version of the workload, or reads the mirror's own document.
static void read_mirror(struct engine *engine, struct needs *needs, struct mirror *m) {
    const struct workload *w = needs->entry->workload;
    bool own = w->facts.exists && needs->read && w->placed_attempt && w->placed_attempt == m->facts.attempt &&
               m->facts.of_workload;
    if (m->facts.name_only || m->stub)
        return;
    if (!own) {
        AUTO_CALL call;
        call_begin(engine, needs->entry, WHARF_MIRROR_NONE, &call);
        if (read_references(engine, needs, &call, doc_tree(&engine->store, &m->doc), false) != WHARF_OK)
            return;
        needs->stale = true;
    }
    text_copy(m->needs_uid, sizeof m->needs_uid, m->uid);
}

static void read_mirrors(struct engine *engine, struct needs *needs) {
    for (struct mirror *m = entry_mirrors(needs->entry); m; m = mirror_next(m)) {
        if (m->facts.present && !is_read(m))
            read_mirror(engine, needs, m);
        needs->unread |= m->facts.present && !is_read(m); // until the next change of the places
    }
}

static struct needs *make_needs(struct dependency_part *all, struct entry *entry) {
    struct needs *needs = calloc(1, sizeof *needs);
    if (!needs)
        return NULL;
    needs->entry = entry;
    needs->next = all->needs;
    needs->at = &all->needs;
    if (needs->next)
        needs->next->at = &needs->next;
    all->needs = needs;
    return needs;
}

static bool is_current(const struct engine *engine, const struct needs *needs) {
    return needs->read && needs->read == needs->entry->workload->carry_hash &&
           needs->epoch == engine->dependencies->epoch;
}

// The last mirror is gone, and what it alone needed goes with it.
static void drop_unwanted(struct engine *engine, struct needs *needs) {
    size_t n = 0;
    for (size_t i = 0; i < needs->direct.count; i++)
        if (needs->direct.list[i].wanted)
            needs->direct.list[n++] = needs->direct.list[i];
        else
            release(engine, &needs->direct.list[i]);
    needs->direct.count = n;
    for (size_t i = 0; i < needs->uses.count; i++)
        needs->stale |= !needs->uses.list[i].wanted;
}

void needs_refresh(struct engine *engine, struct entry *entry, bool stands_by) {
    const struct workload_facts *w = &entry->workload->facts;
    bool unfinished = needs_is_unfinished(entry), mirrors = has_mirror(entry);
    bool retained = is_retained(entry, engine->now.mono_ns);
    if (!unfinished && !mirrors && !retained)
        needs_free(engine, entry);
    else if (!entry->needs && (unfinished || mirrors) && !(entry->needs = make_needs(engine->dependencies, entry)))
        queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
    struct needs *needs = entry->needs;
    if (!needs)
        return;
    if (retained)
        queue_wake(engine, entry, w->retain_until_ns);
    bool due = !is_current(engine, needs) && needs->retry_ns <= engine->now.mono_ns;
    bool wants = due || has_unread(needs, false);
    bool callable = stands_by ? !wants || !aside_is_closed(engine, entry) : !aside_waits(entry);
    if (unfinished && !w->too_large && due && callable)
        read_workload(engine, needs);
    if (callable)
        read_mirrors(engine, needs);
    if (!mirrors)
        drop_unwanted(engine, needs);
    if (needs->stale || needs->open) // an absent source, or a denied one, may have ended the wait for references
        needs_close(engine, needs, mirrors);
    refresh_places(engine, needs);
    if (has_unread(needs, false)) // the adapter had no result
        queue_wake(engine, entry, engine->now.mono_ns + DEPENDENCY_UNREAD_NS);
    if (unfinished && !needs->read)
        queue_wake(engine, entry, clock_later(needs->retry_ns, engine->now.mono_ns + CLOCK_SECOND));
}

static void free_memory(struct needs *needs) {
    free(needs->uses.list);
    free(needs->direct.list);
    free(needs->places);
    free(needs->told);
    free(needs);
}

void needs_free(struct engine *engine, struct entry *entry) {
    struct needs *needs = TAKE(entry->needs);
    if (!needs)
        return;
    note_unknown(engine, needs);
    needs_count_users(engine, needs, false);
    release_all(engine, &needs->direct);
    needs_drop_uses(engine, &needs->uses);
    *needs->at = needs->next;
    if (needs->next)
        needs->next->at = needs->at;
    free_memory(needs);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        *m->needs_uid = '\0';
}

void needs_free_all(struct dependency_part *all) {
    for (struct needs *n = all->needs, *next; n; n = next) {
        next = n->next;
        free_memory(n);
    }
}

// The needs of the mirrors stay.
void needs_workload_ends(struct engine *engine, struct entry *entry) {
    struct needs *needs = entry->needs;
    (void)engine;
    if (!needs)
        return;
    free(TAKE(needs->told));
    needs->told_lack = 0;
    needs->since_ns = needs->missing_ns = needs->retry_ns = 0;
    needs->refusals = 0;
    needs->read = 0;
    *needs->excess = '\0';
    for (size_t i = 0; i < needs->direct.count; i++)
        needs->direct.list[i].wanted = false;
    needs->stale = true;
}

// Holds: mirrors with unknown needs -----------------------------------------------------------------------------------

#define HOLD_FORMAT "%zu/%.*s"
#define HOLD_MAX 280

static bool is_unknown(const struct entry *entry, const struct mirror *m) {
    return is_place(entry, m) && (!entry->needs || entry->needs->open || !is_read(m));
}

static bool add_hold(struct map *holds, size_t cluster, const char *namespace_, int len) {
    char key[HOLD_MAX];
    snprintf(key, sizeof key, HOLD_FORMAT, cluster, len, namespace_);
    if (map_get(holds, key))
        return true;
    char *text = strdup(key);
    if (text && map_put(holds, text, text))
        return true;
    free(text);
    return false;
}

static bool find_holds(const struct engine *engine, struct map *holds) {
    struct store_cursor at = {0};
    for (const struct entry *e; (e = store_next(&engine->store, &at));)
        for (const struct mirror *m = entry_mirrors(e); m; m = mirror_next(m))
            if (is_unknown(e, m) && !(add_hold(holds, m->facts.cluster, "", 0) &&
                                      add_hold(holds, m->facts.cluster, e->key, e->name_at - 1)))
                return false;
    return true;
}

bool needs_hold(struct engine *engine, const char *namespace_, size_t cluster) {
    struct dependency_part *all = engine->dependencies;
    char key[HOLD_MAX];
    snprintf(key, sizeof key, HOLD_FORMAT, cluster, (int)strlen(namespace_), namespace_);
    all->holds_known = all->holds_known || find_holds(engine, &all->holds);
    return !all->holds_known || map_get(&all->holds, key);
}
