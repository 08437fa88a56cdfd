// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/store.h"

#include "core/base/memory.h"
#include "core/engine/continuity/children_state.h"

#define KEY_MAX 512 // a namespace has at most 63 characters, a name 253

// The slots are a ring through [0], from the most recently used to the least; free slots are at the end.
static void link_slot(struct store *store, uint32_t slot, uint32_t newer) {
    struct parsed *all = store->parsed;
    uint32_t older = all[newer].older;
    all[slot].newer = newer;
    all[slot].older = older;
    all[newer].older = all[older].newer = slot;
}

static void move_slot(struct store *store, uint32_t slot, uint32_t newer) {
    struct parsed *all = store->parsed, *p = &all[slot];
    if (slot == newer)
        return;
    all[p->newer].older = p->older;
    all[p->older].newer = p->newer;
    link_slot(store, slot, newer);
}

struct error *store_init(struct store *store, size_t n_kinds, size_t max_trees, uint64_t seed) {
    *store = (struct store){.n_kinds = n_kinds, .max_trees = max_trees};
    store->maps = calloc(n_kinds ? n_kinds : 1, sizeof *store->maps);
    if (!store->maps)
        return error_no_memory();
    for (size_t i = 0; i < n_kinds; i++)
        map_init(&store->maps[i], seed + i);
    store->parsed = calloc(max_trees + 1, sizeof *store->parsed);
    for (uint32_t i = 1; store->parsed && i <= max_trees; i++)
        link_slot(store, i, 0);
    return store->parsed ? NULL : error_no_memory();
}

bool store_grow(struct store *store, size_t n_kinds, uint64_t seed) {
    struct map *maps = realloc(store->maps, n_kinds * sizeof *maps);
    if (!maps)
        return false;
    store->maps = maps;
    for (size_t i = store->n_kinds; i < n_kinds; i++)
        map_init(&maps[i], seed + i);
    return true;
}

static void drop_tree(struct store *store, uint32_t slot) {
    struct parsed *p = &store->parsed[slot];
    if (!p->doc)
        return;
    json_free(TAKE(p->tree));
    p->doc->slot = 0;
    p->doc = NULL;
    move_slot(store, slot, store->parsed->newer);
    store->trees--;
}

static void keep_tree(struct store *store, struct doc *doc, struct json *tree) {
    uint32_t slot = store->parsed->newer;
    drop_tree(store, slot);
    store->parsed[slot].doc = doc;
    store->parsed[slot].tree = tree;
    doc->slot = slot;
    move_slot(store, slot, 0);
    store->trees++;
}

const char *doc_version(struct store *store, struct doc *doc) {
    return *doc->version || !doc->text.own ? doc->version : object_version(doc_tree(store, doc));
}

static struct shared_text take_text(struct store *store, struct doc *doc) {
    struct shared_text text = doc->text;
    drop_tree(store, doc->slot);
    *doc = (struct doc){0};
    return text;
}

static void put_object(struct store *store, struct doc *doc, struct object *object) {
    shared_text_set(&doc->text, TAKE(object->text), object->len);
    const char *version = object_version(object->value);
    if (strlen(version) < sizeof doc->version)
        memcpy(doc->version, version, strlen(version) + 1);
    keep_tree(store, doc, TAKE(object->value));
    object_free(object);
}

// Versions of an object mostly have the shared text in common.
static void set_doc(struct store *store, struct doc *doc, struct object *object) {
    struct shared_text old = take_text(store, doc);
    if (object)
        put_object(store, doc, object);
    if (old.block)
        shared_text_share(&doc->text, &old);
    shared_text_clear(&old);
}

void entry_set_object(struct store *store, struct entry *entry, struct object *object) {
    entry->workload->facts.exists = object;
    set_doc(store, &entry->workload->doc, object);
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        shared_text_share(&entry->workload->doc.text, &m->doc.text);
}

void mirror_set_object(struct store *store, struct entry *entry, struct mirror *mirror, struct object *object) {
    mirror->facts.present = object;
    set_doc(store, &mirror->doc, object);
    shared_text_share(&mirror->doc.text, &entry->workload->doc.text);
}

struct shared_text entry_take_text(struct store *store, struct entry *entry) {
    entry->workload->facts.exists = false;
    return take_text(store, &entry->workload->doc);
}

struct shared_text mirror_take_text(struct store *store, struct mirror *mirror) {
    mirror->facts.present = false;
    return take_text(store, &mirror->doc);
}

struct json *store_parse(const struct shared_text *text) {
    AUTO_TEXT joined = NULL;
    const char *whole = shared_text_read(text, &joined);
    if (!whole)
        return NULL;
    struct json *tree = NULL;
    struct error *error = json_parse(whole, text->len, &tree);
    error_free(error);
    return error ? NULL : tree;
}

struct json *doc_tree(struct store *store, struct doc *doc) {
    if (doc->slot) {
        move_slot(store, doc->slot, 0);
        return store->parsed[doc->slot].tree;
    }
    struct json *tree = store_parse(&doc->text);
    if (tree)
        keep_tree(store, doc, tree);
    return tree;
}

bool store_begin_workload(struct entry *entry) {
    struct workload *workload = calloc(1, sizeof *workload);
    if (workload)
        entry->workload = workload;
    return workload;
}

void store_end_workload(struct store *store, struct entry *entry) {
    struct workload *workload = entry->workload;
    if (workload == &store->none)
        return;
    entry_set_object(store, entry, NULL);
    free(workload);
    entry->workload = &store->none;
}

static void free_entry(struct store *store, struct entry *entry) {
    while (entry->mirrors)
        entry_remove_mirror(store, entry, entry_mirrors(entry));
    fair_queue_remove(&entry->node);
    store_end_workload(store, entry);
    free(entry);
}

void store_free(struct store *store) {
    for (size_t i = 0; i < store->n_kinds && store->maps; i++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&store->maps[i], &cursor));)
            free_entry(store, e);
        map_free(&store->maps[i]);
    }
    free(TAKE(store->maps));
    free(TAKE(store->parsed));
}

struct entry *store_next(const struct store *store, struct store_cursor *cursor) {
    for (; cursor->kind < store->n_kinds; cursor->kind++, cursor->slot = 0) {
        struct entry *entry = map_next(&store->maps[cursor->kind], &cursor->slot);
        if (entry)
            return entry;
    }
    return NULL;
}

// The length of the key; 0: too long.
static size_t write_key(char key[KEY_MAX], const char *namespace_, const char *name) {
    size_t namespace_len = strlen(namespace_), name_len = strlen(name), len = namespace_len + 1 + name_len;
    if (len >= KEY_MAX)
        return 0;
    text_copy(key, KEY_MAX, namespace_);
    key[namespace_len] = '/';
    text_copy(key + namespace_len + 1, KEY_MAX - namespace_len - 1, name);
    return len;
}

struct entry *store_get(const struct store *store, size_t kind, const char *namespace_, const char *name) {
    char key[KEY_MAX];
    return write_key(key, namespace_, name) ? map_get(&store->maps[kind], key) : NULL;
}

struct entry *store_make(struct store *store, size_t kind, const char *namespace_, const char *name) {
    char key[KEY_MAX];
    size_t len = write_key(key, namespace_, name);
    struct entry *entry = len ? map_get(&store->maps[kind], key) : NULL;
    if (entry || !len || !(entry = calloc(1, sizeof *entry + len + 1)))
        return entry;
    memcpy(entry->key, key, len + 1);
    entry->name_at = (uint16_t)(strlen(namespace_) + 1);
    entry->kind = (uint32_t)kind;
    entry->workload = &store->none;
    timer_init(&entry->timer);
    if (!map_put(&store->maps[kind], entry->key, entry)) {
        free(entry);
        return NULL;
    }
    store->entries++;
    return entry;
}

void store_remove(struct store *store, struct entry *entry) {
    map_remove(&store->maps[entry->kind], entry->key);
    store->entries--;
    free_entry(store, entry);
}

struct mirror *entry_mirrors(const struct entry *entry) {
    return (struct mirror *)entry->mirrors;
}

struct mirror *mirror_next(const struct mirror *mirror) {
    return (struct mirror *)mirror->facts.next;
}

struct mirror *entry_mirror(const struct entry *entry, size_t cluster) {
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.cluster == cluster)
            return m;
    return NULL;
}

struct mirror *entry_make_mirror(struct entry *entry, size_t cluster) {
    struct mirror *m = entry_mirror(entry, cluster);
    if (m || !(m = calloc(1, sizeof *m)))
        return m;
    m->facts.cluster = (uint32_t)cluster;
    m->facts.next = entry->mirrors;
    entry->mirrors = &m->facts;
    return m;
}

void entry_remove_mirror(struct store *store, struct entry *entry, struct mirror *mirror) {
    struct mirror_facts **at = &entry->mirrors;
    while (*at && *at != &mirror->facts)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = mirror->facts.next;
    fair_queue_remove(&mirror->node);
    mirror_set_object(store, entry, mirror, NULL);
    free(mirror->kueue_status);
    free(mirror->record);
    free(mirror->progress.problem);
    children_free(mirror->progress.children);
    free(mirror->reduced);
    rejections_end(&mirror->refused);
    free(mirror);
}

const char *entry_name(const struct entry *entry) {
    return entry->key + entry->name_at;
}

void entry_namespace(const struct entry *entry, char out[254]) {
    size_t len = size_least(entry->name_at - 1U, 253);
    memcpy(out, entry->key, len);
    out[len] = '\0';
}

static const char *const outcome_names[OUTCOMES] = {
    [OUTCOME_SUCCEEDED] = "Succeeded", [OUTCOME_FAILED] = "Failed",       [OUTCOME_REJECTED] = "Rejected",
    [OUTCOME_DELETED] = "Deleted",     [OUTCOME_LOST] = "Lost",           [OUTCOME_DRAINED] = "Drained",
    [OUTCOME_REPLACED] = "Replaced",   [OUTCOME_WITHDRAWN] = "Withdrawn",
};

const char *outcome_name(enum outcome outcome) {
    return outcome_names[outcome];
}

static void drop_attempts(struct attempt **from) {
    while (*from) {
        struct attempt *attempt = *from;
        *from = attempt->older;
        free(attempt->message);
        free(attempt->scores);
        free(attempt);
    }
}

void attempt_history_clear(struct attempt_history *history) {
    drop_attempts(&history->newest);
    history->leaving = OUTCOME_NONE;
}

void attempt_history_trim(struct attempt_history *history) {
    struct attempt **at = &history->newest;
    for (size_t i = 0; i < ATTEMPTS_MAX && *at; i++)
        at = &(*at)->older;
    drop_attempts(at);
}
