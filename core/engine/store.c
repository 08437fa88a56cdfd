// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store.h"

#include <stdlib.h>
#include <string.h>

#define KEY_MAX 512 // a namespace has at most 63 characters, a name 253

struct error *store_init(struct store *store, size_t n_kinds, size_t max_trees, uint64_t seed) {
    *store = (struct store){.n_kinds = n_kinds, .max_trees = max_trees};
    store->maps = calloc(n_kinds ? n_kinds : 1, sizeof *store->maps);
    if (!store->maps)
        return error_no_memory();
    for (size_t i = 0; i < n_kinds; i++)
        map_init(&store->maps[i], seed + i);
    return NULL;
}

static void unlink_doc(struct store *store, struct doc *doc) {
    if (doc->newer)
        doc->newer->older = doc->older;
    else
        store->newest = doc->older;
    if (doc->older)
        doc->older->newer = doc->newer;
    else
        store->oldest = doc->newer;
    doc->newer = doc->older = NULL;
    store->trees--;
}

static void drop_tree(struct store *store, struct doc *doc) {
    if (!doc->tree)
        return;
    unlink_doc(store, doc);
    json_free(doc->tree);
    doc->tree = NULL;
}

static void link_newest(struct store *store, struct doc *doc) {
    doc->newer = NULL;
    doc->older = store->newest;
    if (store->newest)
        store->newest->newer = doc;
    else
        store->oldest = doc;
    store->newest = doc;
    store->trees++;
    while (store->trees > store->max_trees && store->oldest != doc)
        drop_tree(store, store->oldest);
}

void store_forget_trees(struct store *store, size_t keep) {
    while (store->trees > keep)
        drop_tree(store, store->oldest);
}

const char *doc_version(struct store *store, struct doc *doc) {
    return *doc->version || !doc->text ? doc->version : object_version(doc_tree(store, doc));
}

void doc_clear(struct store *store, struct doc *doc) {
    drop_tree(store, doc);
    doc->version[0] = '\0';
    free(doc->text);
    doc->text = NULL;
    doc->len = 0;
}

char *doc_take(struct store *store, struct doc *doc, uint32_t *len) {
    char *text = doc->text;
    *len = doc->len;
    doc->text = NULL;
    doc_clear(store, doc);
    return text;
}

void doc_set(struct store *store, struct doc *doc, struct object *object) {
    doc_clear(store, doc);
    doc->text = object->text;
    doc->len = (uint32_t)object->len;
    doc->tree = object->value;
    const char *version = object_version(doc->tree);
    if (strlen(version) < sizeof doc->version)
        memcpy(doc->version, version, strlen(version) + 1);
    object->text = NULL;
    object->value = NULL;
    object_free(object);
    link_newest(store, doc);
}

struct json *doc_tree(struct store *store, struct doc *doc) {
    if (doc->tree) {
        if (store->newest != doc) {
            unlink_doc(store, doc);
            link_newest(store, doc);
        }
        return doc->tree;
    }
    if (!doc->text)
        return NULL;
    struct error *error = json_parse(doc->text, doc->len, &doc->tree);
    if (error) {
        error_free(error);
        doc->tree = NULL;
        return NULL;
    }
    link_newest(store, doc);
    return doc->tree;
}

static void free_entry(struct store *store, struct entry *entry) {
    while (entry->mirrors)
        entry_remove_mirror(store, entry, entry->mirrors);
    doc_clear(store, &entry->workload);
    free(entry->last_word);
    free(entry);
}

void store_free(struct store *store) {
    for (size_t i = 0; i < store->n_kinds && store->maps; i++) {
        size_t cursor = 0;
        for (struct entry *e; (e = map_next(&store->maps[i], &cursor));)
            free_entry(store, e);
        map_free(&store->maps[i]);
    }
    free(store->maps);
    store->maps = NULL;
}

static void write_key(char *out, const char *namespace_, const char *name) {
    char *end = mempcpy(out, namespace_, strlen(namespace_));
    *end++ = '/';
    memcpy(end, name, strlen(name) + 1);
}

struct entry *store_get(const struct store *store, size_t kind, const char *namespace_, const char *name) {
    char key[KEY_MAX];
    size_t space = strlen(namespace_), len = space + 1 + strlen(name);
    if (len >= sizeof key)
        return NULL;
    write_key(key, namespace_, name);
    return map_get(&store->maps[kind], key);
}

struct entry *store_make(struct store *store, size_t kind, const char *namespace_, const char *name) {
    struct entry *entry = store_get(store, kind, namespace_, name);
    if (entry)
        return entry;
    size_t space = strlen(namespace_), len = space + 1 + strlen(name);
    if (len >= KEY_MAX)
        return NULL;
    entry = calloc(1, sizeof *entry + len + 1);
    if (!entry)
        return NULL;
    write_key(entry->key, namespace_, name);
    entry->name_at = (uint16_t)(space + 1);
    entry->kind = (uint32_t)kind;
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

struct mirror *entry_mirror(const struct entry *entry, size_t cluster) {
    for (struct mirror *m = entry->mirrors; m; m = m->next)
        if (m->cluster == cluster)
            return m;
    return NULL;
}

struct mirror *entry_make_mirror(struct entry *entry, size_t cluster) {
    struct mirror *m = entry_mirror(entry, cluster);
    if (m)
        return m;
    m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->cluster = (uint32_t)cluster;
    m->next = entry->mirrors;
    entry->mirrors = m;
    return m;
}

void entry_remove_mirror(struct store *store, struct entry *entry, struct mirror *mirror) {
    struct mirror **at = &entry->mirrors;
    while (*at && *at != mirror)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = mirror->next;
    doc_clear(store, &mirror->doc);
    free(mirror->record);
    free(mirror);
}

const char *entry_name(const struct entry *entry) {
    return entry->key + entry->name_at;
}

void entry_namespace(const struct entry *entry, char out[254]) {
    size_t len = entry->name_at - 1U;
    if (len > 253)
        len = 253;
    memcpy(out, entry->key, len);
    out[len] = '\0';
}
