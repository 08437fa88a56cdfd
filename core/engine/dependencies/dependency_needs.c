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

static bool is_unfinished(const struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->exists && !w->finished && !w->being_deleted;
}

// The mirror of a finished workload stays for a while, and this host may not have seen it.
static bool is_retained(const struct entry *entry, int64_t now_ns) {
    const struct workload_facts *w = &entry->workload->facts;
    return w->exists && w->finished && w->attempt && w->retain_until_ns > now_ns;
}

// The cluster of the placement; the management cluster: none, but the workload asks for one. False: neither.
static bool find_placement(const struct entry *entry, int64_t now_ns, uint32_t *cluster) {
    const struct workload_facts *w = &entry->workload->facts;
    *cluster = w->attempt ? w->cluster : ENGINE_MANAGEMENT;
    return (is_unfinished(entry) || is_retained(entry, now_ns)) &&
           (w->attempt ? w->cluster && w->cluster != DECIDE_UNKNOWN_CLUSTER : !w->suspended);
}

static bool find_places(const struct entry *entry, int64_t now_ns, struct place **places, size_t *count) {
    uint32_t placed;
    bool ok = true;
    *count = 0;
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (is_place(entry, m))
            ok &= add_place(places, count, m->facts.cluster, true);
    return find_placement(entry, now_ns, &placed) ? add_place(places, count, placed, false) && ok : ok;
}

// Without memory.
static uint64_t hash_places(const struct entry *entry, int64_t now_ns) {
    uint32_t placed;
    uint64_t hash = find_placement(entry, now_ns, &placed) ? placed + 2 : 1;
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
    if (copy->users == 0 && copy->presence != PRESENCE_UNKNOWN && copy->not_before_ns <= engine->now.mono_ns)
        copy->refused = false; // its first user brings the next try, and waits for the answer
    copy->users += add ? 1 : SIZE_MAX;
}

static void count(struct engine *engine, struct needs *needs, bool add) {
    for (size_t u = 0; u < needs->n_uses; u++)
        for (size_t p = 0; p < needs->n_places; p++)
            if (needs->uses[u].wanted || needs->places[p].of_mirror)
                count_in(engine, needs->uses[u].object, needs->places[p].cluster, add);
}

static bool is_read(const struct mirror *m) {
    return m->needs_read && strcmp(m->needs_uid, m->uid) == 0;
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
    count(engine, needs, true); // first, so that no copy is without a user meanwhile
    count(engine, &former, false);
    free(former.places);
}

// Uses ------------------------------------------------------------------------------------------------------------

static void link_use(struct use *use) {
    struct dependency *object = use->object;
    use->newer = NULL;
    use->older = object->users;
    if (object->users)
        object->users->newer = use;
    object->users = use;
    object->n_users++;
}

static void unlink_use(struct use *use) {
    struct dependency *object = use->object;
    *(use->newer ? &use->newer->older : &object->users) = use->older;
    if (use->older)
        use->older->newer = use->newer;
    object->n_users--;
}

static struct use *find_use(struct use *list, size_t n, const struct dependency *object) {
    for (size_t i = 0; i < n; i++)
        if (list[i].object == object)
            return &list[i];
    return NULL;
}

struct closing {
    struct engine *engine;
    struct needs *needs;
    struct use *list;
    size_t n;
    size_t bytes;
    bool open, ok;
};

// True: the object was not in the list, or was as an optional or former one.
static bool add_use(struct closing *c, struct dependency *object, bool optional, bool wanted) {
    struct use *use = find_use(c->list, c->n, object);
    if (use) {
        bool better = (use->optional && !optional) || (!use->wanted && wanted);
        use->optional &= optional;
        use->wanted |= wanted;
        return better;
    }
    use = array_next(&c->list, c->n, sizeof *use);
    if (!use) {
        c->ok = false;
        return false;
    }
    *use = (struct use){.object = object, .needs = c->needs, .optional = optional, .wanted = wanted};
    c->n++;
    c->bytes += wanted ? object->size : 0;
    return true;
}

const char *needs_namespace(const struct entry *entry, bool cluster_scoped, const char *named, char space[254]) {
    if (cluster_scoped || *named)
        return cluster_scoped ? "" : named;
    entry_namespace(entry, space);
    return space;
}

static void close_over(struct closing *c, struct dependency *object, bool optional, bool wanted, unsigned depth);

static void close_refers(struct closing *c, struct dependency *object, bool optional, bool wanted, unsigned depth) {
    char space[254];
    bool denied = object->problem || dependency_source_state(object) == DEPENDENCY_REFUSED;
    bool needless = object->resource->use == DEPENDENCY_CHECKED && (denied || object->presence == PRESENCE_ABSENT);
    c->open |= !object->refers_known && !needless;
    for (size_t i = 0; i < object->n_refers; i++) {
        const struct reference_to *to = &object->refers[i];
        const char *in = needs_namespace(c->needs->entry, to->resource->cluster_scoped, to->namespace_, space);
        struct dependency *next =
            to->resource->use == DEPENDENCY_IGNORED ? NULL : dependency_make(c->engine, to->resource, in, to->name);
        if (next)
            close_over(c, next, optional || to->optional, wanted, depth + 1);
    }
}

// D10: to the depth and the number; a circle ends where it began. Direct references all count: a mirror has needs
// beside those of the workload.
static void close_over(struct closing *c, struct dependency *object, bool optional, bool wanted, unsigned depth) {
    if ((c->n <= REFERENCES_MAX || depth == 1) && add_use(c, object, optional, wanted) && depth < REFERENCES_DEPTH &&
        object->resource->refers)
        close_refers(c, object, optional, wanted, depth);
}

static void check_limits(struct needs *needs, const struct closing *c) {
    size_t wanted = 0;
    for (size_t i = 0; i < c->n; i++)
        wanted += c->list[i].wanted;
    needs->many = wanted > REFERENCES_MAX || c->bytes > REFERENCES_BYTES;
    if (wanted > REFERENCES_MAX)
        snprintf(needs->problem, sizeof needs->problem,
                 "the workload refers to more than %d objects, directly or through others", REFERENCES_MAX);
    else if (needs->many)
        snprintf(needs->problem, sizeof needs->problem,
                 "the objects that the workload refers to have more than %zu bytes together", REFERENCES_BYTES);
    else
        *needs->problem = '\0';
}

static void use_list(struct engine *engine, struct needs *needs, struct use *list, size_t n) {
    struct needs former = *needs;
    needs->uses = list;
    needs->n_uses = n;
    for (size_t i = 0; i < n; i++)
        link_use(&list[i]);
    count(engine, needs, true);
    count(engine, &former, false);
    for (size_t i = 0; i < former.n_uses; i++)
        unlink_use(&former.uses[i]);
    for (size_t i = 0; i < former.n_uses; i++)
        dependency_touch(engine, former.uses[i].object);
    free(former.uses);
}

// D5: while there is a mirror, former needs stay.
static void close_needs(struct engine *engine, struct needs *needs) {
    struct closing c = {.engine = engine, .needs = needs, .ok = true};
    for (size_t i = 0; i < needs->n_direct; i++)
        close_over(&c, needs->direct[i].object, needs->direct[i].optional, needs->direct[i].wanted, 1);
    for (size_t i = 0; i < needs->n_uses && has_mirror(needs->entry); i++)
        if (!find_use(c.list, c.n, needs->uses[i].object))
            (void)add_use(&c, needs->uses[i].object, needs->uses[i].optional, false);
    if (!c.ok) { // without memory the former needs count
        free(c.list);
        return;
    }
    needs->stale = false;
    needs->open = c.open;
    check_limits(needs, &c);
    use_list(engine, needs, c.list, c.n);
}

// Direct references -----------------------------------------------------------------------------------------------

// The objects stay also while no use has them: without memory for uses.
static void add_held(struct needs *needs, const struct direct *direct) {
    needs->direct[needs->n_direct++] = *direct;
    direct->object->held++;
}

static void release_direct(struct engine *engine, const struct direct *direct, size_t n) {
    for (size_t i = 0; i < n; i++) {
        direct[i].object->held--;
        dependency_touch(engine, direct[i].object);
    }
}

static struct direct *find_direct(struct needs *needs, const struct dependency *object) {
    for (size_t i = 0; i < needs->n_direct; i++)
        if (needs->direct[i].object == object)
            return &needs->direct[i];
    return NULL;
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
    if (!object)
        return false;
    struct direct *direct = find_direct(needs, object);
    if (direct) {
        direct->optional &= r->optional;
        direct->wanted |= wanted;
        return true;
    }
    if (!array_next(&needs->direct, needs->n_direct, sizeof *direct))
        return false;
    add_held(needs, &(struct direct){.object = object, .optional = r->optional, .wanted = wanted});
    return true;
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

static void keep_direct(struct needs *needs, const struct direct *former) {
    if (find_direct(needs, former->object) || !array_next(&needs->direct, needs->n_direct, sizeof *needs->direct))
        return;
    add_held(needs, &(struct direct){.object = former->object, .optional = former->optional});
}

// The former references stay, for the mirrors.
static void read_workload(struct engine *engine, struct needs *needs) {
    struct entry *entry = needs->entry;
    bool keep = has_mirror(entry);
    size_t kept = keep ? needs->n_direct : 0;
    struct direct *former = TAKE(needs->direct);
    size_t n_former = needs->n_direct;
    needs->n_direct = 0;
    AUTO_CALL call;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    wharf_result result = read_references(engine, needs, &call, doc_tree(&engine->store, &entry->workload->doc), true);
    bool ok = call_succeeded(engine, entry, result, &call, "Place", &needs->refusals, &needs->retry_ns);
    if (!ok) { // the former ones count
        release_direct(engine, needs->direct, needs->n_direct);
        free(needs->direct);
        needs->direct = former;
        needs->n_direct = n_former;
        needs->known = false;
        needs->retry_ns = clock_later(needs->retry_ns, engine->now.mono_ns + CLOCK_SECOND);
        return;
    }
    for (size_t i = 0; i < kept; i++)
        keep_direct(needs, &former[i]);
    release_direct(engine, former, n_former);
    free(former);
    needs->read = entry->workload->carry_hash;
    needs->epoch = engine->dependencies->epoch;
    needs->retry_ns = 0;
    needs->known = needs->stale = true;
    if (!needs->since_ns)
        needs->since_ns = engine->now.mono_ns;
}

// The host made the mirror of this version of the workload, or reads the mirror's own document.
static void read_mirror(struct engine *engine, struct needs *needs, struct mirror *m) {
    const struct workload *w = needs->entry->workload;
    bool own = w->facts.exists && needs->known && w->placed_attempt && w->placed_attempt == m->facts.attempt &&
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
    m->needs_read = true;
    text_copy(m->needs_uid, sizeof m->needs_uid, m->uid);
}

static void read_mirrors(struct engine *engine, struct needs *needs) {
    for (struct mirror *m = entry_mirrors(needs->entry); m; m = mirror_next(m)) {
        if (m->facts.present && !is_read(m))
            read_mirror(engine, needs, m);
        needs->unread |= m->facts.present && !is_read(m); // until the next change of the places
    }
}

static void link_needs(struct dependency_part *all, struct needs *needs) {
    needs->next = all->needs;
    needs->at = &all->needs;
    if (needs->next)
        needs->next->at = &needs->next;
    all->needs = needs;
}

static bool is_current(const struct engine *engine, const struct needs *needs) {
    return needs->known && needs->read == needs->entry->workload->carry_hash &&
           needs->epoch == engine->dependencies->epoch;
}

// The last mirror is gone, and what it alone needed goes with it.
static void drop_unwanted(struct engine *engine, struct needs *needs) {
    size_t n = 0;
    for (size_t i = 0; i < needs->n_direct; i++)
        if (needs->direct[i].wanted)
            needs->direct[n++] = needs->direct[i];
        else
            release_direct(engine, &needs->direct[i], 1);
    needs->n_direct = n;
    for (size_t i = 0; i < needs->n_uses; i++)
        needs->stale |= !needs->uses[i].wanted;
}

void needs_refresh(struct engine *engine, struct entry *entry, bool stands_by) {
    const struct workload_facts *w = &entry->workload->facts;
    bool unfinished = is_unfinished(entry), mirrors = has_mirror(entry);
    if (!entry->needs && (unfinished || mirrors)) {
        entry->needs = calloc(1, sizeof *entry->needs);
        if (!entry->needs) {
            queue_wake(engine, entry, engine->now.mono_ns + CLOCK_SECOND);
            return;
        }
        link_needs(engine->dependencies, entry->needs);
        entry->needs->entry = entry;
    }
    struct needs *needs = entry->needs;
    if (!needs)
        return;
    bool retained = is_retained(entry, engine->now.mono_ns);
    if (!unfinished && !mirrors && !retained) {
        needs_free(engine, entry);
        return;
    }
    if (retained)
        queue_wake(engine, entry, w->retain_until_ns);
    bool due = !is_current(engine, needs) && needs->retry_ns <= engine->now.mono_ns;
    bool wants = due || has_unread(needs, false);
    bool callable = stands_by ? !wants || !aside_is_closed(engine, entry) : !aside_waits(entry);
    if (w->exists && unfinished && !w->too_large && due && callable)
        read_workload(engine, needs);
    if (callable)
        read_mirrors(engine, needs);
    if (!mirrors)
        drop_unwanted(engine, needs);
    if (needs->stale || needs->open) // an absent source, or a denied one, may have ended the wait for references
        close_needs(engine, needs);
    refresh_places(engine, needs);
    if (has_unread(needs, false)) // the adapter had no result
        queue_wake(engine, entry, engine->now.mono_ns + DEPENDENCY_UNREAD_NS);
    if (w->exists && unfinished && !needs->known)
        queue_wake(engine, entry, clock_later(needs->retry_ns, engine->now.mono_ns + CLOCK_SECOND));
}

static void free_memory(struct needs *needs) {
    free(needs->uses);
    free(needs->direct);
    free(needs->places);
    free(needs->told);
    free(needs);
}

void needs_free(struct engine *engine, struct entry *entry) {
    struct needs *needs = TAKE(entry->needs);
    if (!needs)
        return;
    note_unknown(engine, needs);
    count(engine, needs, false);
    release_direct(engine, needs->direct, needs->n_direct);
    for (size_t i = 0; i < needs->n_uses; i++) {
        unlink_use(&needs->uses[i]);
        dependency_touch(engine, needs->uses[i].object);
    }
    *needs->at = needs->next;
    if (needs->next)
        needs->next->at = needs->at;
    free_memory(needs);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        m->needs_read = false;
}

void needs_free_all(struct dependency_part *all) {
    for (struct needs *n = all->needs, *next; n; n = next) {
        next = n->next;
        free_memory(n);
    }
}

// The needs of the mirrors stay.
void needs_workload_ends(struct entry *entry) {
    struct needs *needs = entry->needs;
    if (!needs)
        return;
    free(TAKE(needs->told));
    needs->told_lack = 0;
    needs->since_ns = needs->missing_ns = needs->retry_ns = 0;
    needs->refusals = 0;
    needs->known = needs->many = false;
    for (size_t i = 0; i < needs->n_direct; i++)
        needs->direct[i].wanted = false;
    needs->stale = true;
}

static bool is_unknown(const struct entry *entry, const struct mirror *m) {
    return is_place(entry, m) && (!entry->needs || entry->needs->open || !is_read(m));
}

bool needs_find_holds(struct engine *engine) {
    struct store_cursor at = {0};
    for (size_t c = 0; c < engine->dependencies->n_clusters; c++)
        engine->dependencies->clusters[c].holds = false;
    for (const struct entry *e; (e = store_next(&engine->store, &at));)
        for (const struct mirror *m = entry_mirrors(e); m; m = mirror_next(m)) {
            struct dependency_cluster *of = is_unknown(e, m) ? dependency_cluster_of(engine, m->facts.cluster) : NULL;
            if (of)
                of->holds = true;
            else if (is_unknown(e, m))
                return false;
        }
    return true;
}

// The worker has a mirror in the namespace whose needs the host does not know.
bool needs_hold(const struct engine *engine, const char *namespace_, size_t cluster) {
    struct store_cursor at = {0};
    size_t len = strlen(namespace_);
    for (const struct entry *e; (e = store_next(&engine->store, &at));) {
        if (len > 0 && (e->name_at - 1U != len || memcmp(e->key, namespace_, len) != 0))
            continue;
        const struct mirror *m = entry_mirror(e, cluster);
        if (m && is_unknown(e, m))
            return true;
    }
    return false;
}
