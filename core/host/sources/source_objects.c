// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/source_objects.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/sources/source_items.h"
#include "core/host/sources/worker_records.h"
#include "core/host/sources/worker_source.h"
#include "core/host/startup/seal_source.h"
#include "core/host/tokens/token_renewal.h"
#include "core/host/watchers/object_watch.h"
#include "core/host/watchers/watcher.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NS (3 * CLOCK_SECOND) // until workers are used without the ConfigMap

enum { CONFIG_MAP = WORKER_SOURCES, WATCHES }; // a watch of each source, and that of the ConfigMap

// Objects of one kind.
struct source_watch {
    struct source_objects *all;
    struct object_watch watch;
    const char *versions[2];
    char selector[64];
    struct source_items items;
    char *problem; // the last logged problem; NULL: none
};

struct source_objects {
    struct sources *sources;
    struct host *host;
    pthread_mutex_t mutex;
    bool attached;       // under the mutex: the host's thread is running
    struct config *next; // under the mutex; NULL: no change
    // Below: on the management cluster's thread.
    const struct cluster_scope *scope;
    struct config *config; // NULL: not yet
    struct source_watch watches[WATCHES];
    struct renewals *renewals;
    size_t n_overrides;
    bool overrides_known, overrides_lost, overrides_absent;
    int64_t begun_ns; // 0: not yet
};

static const char *title_of(const struct source_watch *c) {
    size_t index = (size_t)(c - c->all->watches);
    return index == CONFIG_MAP ? "ConfigMap " WORKERS_CONFIG_MAP : worker_source_kinds[index]->title;
}

static const struct worker_source_kind *kind_of(const struct source_watch *c) {
    return worker_source_kinds[c->items.source];
}

static void wake_watcher(void *ctx) {
    struct source_objects *objects = ctx;
    AUTO_LOCK(&objects->mutex);
    if (objects->attached)
        host_step_watchers(objects->host);
}

void source_objects_configure(struct source_objects *objects, const struct config *config) {
    pthread_mutex_lock(&objects->mutex);
    struct config *former = objects->next;
    objects->next = config_share(config);
    pthread_mutex_unlock(&objects->mutex);
    config_free(former);
    wake_watcher(objects);
}

// Workers ---------------------------------------------------------------------------------------------------------

// A worker that may become usable later (a certificate that is not valid yet) is used unless a better version is known.
static struct error *check_worker(struct source_watch *c, struct source_item *item, const char *key,
                                  const struct json *value, struct worker_spec *spec) {
    struct token_life life;
    bool usable = false;
    struct error *error =
        worker_spec_check(spec, &c->all->config->credential_plugins, clock_now().wall_ns, &life, &usable);
    if (kind_of(c)->renews && usable) {
        item->token_life = life;
        struct error *wrong =
            renewals_see(c->all->renewals, key, value, spec, &life, &c->all->config->credential_plugins);
        if (!error)
            return wrong;
        error_free(wrong);
    } else {
        renewals_forget(c->all->renewals, key); // a renewal would patch a version that is gone
    }
    if (error && usable && !item->spec.settings.name)
        source_item_accept(&c->items, item, spec); // the caller adds the problem
    return error_wrap(error, "%s", kind_of(c)->part);
}

static void see_worker(struct source_watch *c, const char *key, const struct object *object) {
    AUTO_TEXT origin = worker_object_text(kind_of(c)->name, object->value);
    struct source_item *item = origin ? source_items_at(&c->items, key, origin) : NULL;
    if (!item)
        return;
    item->seen = true;
    item->held = false;
    struct worker_spec spec = {.source = SOURCE_CONFIG};
    struct error *error = object->too_large ? error_new(ERROR_TOO_LARGE, "%s", object->too_large)
                                            : kind_of(c)->read(object->value, &c->all->config->workers_from, &spec);
    if (error && error->code == ERROR_NOT_FOUND) { // a ClusterProfile for others
        error_free(error);
        source_items_remove(&c->items, key);
        return;
    }
    if (!error)
        error = check_worker(c, item, key, object->value, &spec);
    if (error)
        source_item_refuse(&c->items, item, error);
    else
        source_item_accept(&c->items, item, &spec);
    worker_spec_clear(&spec);
}

static void remove_worker(struct source_watch *c, const char *key) {
    source_items_remove(&c->items, key);
    renewals_forget(c->all->renewals, key);
}

static void end_worker_list(struct source_watch *c, bool restored) {
    size_t held = restored ? source_items_hold(&c->items) : 0;
    if (held > 0)
        log_fields(LOG_WARN, "the management cluster was restored and lacks objects of workers: these workers stay",
                   {"kind", kind_of(c)->name}, LOG_INT("workers", held));
    for (size_t i = 0; i < c->items.count; i++)
        if (!c->items.list[i].seen && !c->items.list[i].held)
            renewals_forget(c->all->renewals, c->items.list[i].key);
    source_items_sweep(&c->items);
}

// The ConfigMap ---------------------------------------------------------------------------------------------------

static bool add_override(struct worker_override **list, size_t *count, const struct worker_override *entry) {
    struct worker_override copy = *entry;
    copy.name = copy.uid = copy.source = NULL;
    bool copied =
        text_set(&copy.name, entry->name) && text_set(&copy.uid, entry->uid) && text_set(&copy.source, entry->source);
    struct worker_override *slot = copied ? array_next(list, *count, sizeof *slot) : NULL;
    if (!slot) {
        free(copy.name);
        free(copy.uid);
        free(copy.source);
        return false;
    }
    *slot = copy;
    (*count)++;
    return true;
}

static void use_overrides(struct source_objects *objects, struct worker_override *list, size_t count) {
    objects->n_overrides = count;
    objects->overrides_known = true;
    sources_override(objects->sources, list, count);
}

// Reads one entry; an unreadable entry keeps its former value.
static void read_override(const struct source_objects *objects, const struct json *entry, struct worker_override **list,
                          size_t *count) {
    const char *text = json_string(entry);
    struct worker_override found = {.name = NULL};
    struct error *error = worker_override_read(json_key(entry), text ? text : "", &found);
    const struct worker_override *former = error ? sources_find_override(objects->sources, json_key(entry)) : NULL;
    if (error)
        log_fields(LOG_WARN,
                   former ? "worker not changed: its entry cannot be read" : "entry of a worker cannot be read",
                   {"from", "ConfigMap " WORKERS_CONFIG_MAP}, {"error", error_text(error)});
    if (!error)
        (void)add_override(list, count, &found);
    else if (former)
        (void)add_override(list, count, former);
    free(found.name);
    error_free(error);
}

// Reads one of the host's own records, beside the `n_entries` of operators. Without memory, a record is missing.
static void read_record(const struct json *annotation, size_t n_entries, struct worker_override **list, size_t *count) {
    struct worker_override found = {.name = (char *)json_key(annotation) + strlen(WORKER_RECORD_PREFIX)};
    if (!worker_record_read(json_key(annotation), json_string(annotation), &found))
        return;
    for (size_t i = 0; i < n_entries; i++)
        if (strcmp((*list)[i].name, found.name) == 0) {
            (void)worker_record_read(json_key(annotation), json_string(annotation), &(*list)[i]);
            found.name = NULL;
            break;
        }
    if (found.name)
        (void)add_override(list, count, &found);
    free(found.uid);
    free(found.source);
}

static void see_map(struct source_watch *c, const char *key, const struct object *object) {
    struct worker_override *list = NULL;
    size_t count = 0;
    c->all->overrides_lost = false;
    if (strcmp(object_name(object->value), WORKERS_CONFIG_MAP) != 0)
        return;
    if (object->too_large) {
        log_fields(LOG_WARN, "ConfigMap not used", {"name", WORKERS_CONFIG_MAP}, {"error", object->too_large});
        return;
    }
    const struct json *data = json_get(object->value, "data");
    for (const struct json *entry = json_first(data); entry; entry = json_next(entry))
        read_override(c->all, entry, &list, &count);
    const struct json *annotations = json_path(object->value, "metadata", "annotations", NULL);
    size_t n_entries = count;
    for (const struct json *each = json_first(annotations); each; each = json_next(each))
        read_record(each, n_entries, &list, &count);
    worker_records_see(host_records(c->all->host), object->value);
    struct source_item *item = source_items_at(&c->items, key, "ConfigMap " WORKERS_CONFIG_MAP);
    if (item)
        item->seen = true;
    use_overrides(c->all, list, count);
}

static void remove_map(struct source_watch *c, const char *key) {
    source_items_remove(&c->items, key);
    worker_records_see(host_records(c->all->host), NULL);
    use_overrides(c->all, NULL, 0);
}

// A restored cluster may lack the cordons that were made since.
static void end_map_list(struct source_watch *c, bool restored) {
    bool there = false;
    for (size_t i = 0; i < c->items.count; i++)
        there |= c->items.list[i].seen;
    if (!there)
        worker_records_see(host_records(c->all->host), NULL);
    if (there || (restored && c->all->n_overrides > 0))
        return;
    if (!c->all->overrides_known || c->all->n_overrides > 0)
        use_overrides(c->all, NULL, 0);
}

// Watches --------------------------------------------------------------------------------------------------------

static bool is_map(const struct source_watch *c) {
    return c == &c->all->watches[CONFIG_MAP];
}

static char *key_of(const struct object *object) {
    return text_format("%s/%s", object_namespace(object->value), object_name(object->value));
}

static void note_state(struct source_watch *c, enum reflector_state state, const char *problem) {
    bool absent = state == REFLECTOR_ABSENT;
    if (is_map(c)) {
        c->all->overrides_lost = problem;
        c->all->overrides_absent = absent;
    }
    if (problem && !text_equal(problem, c->problem))
        log_fields(absent ? LOG_INFO : LOG_WARN,
                   absent ? "kind of workers is not served; it is looked for" : "workers cannot be read",
                   {"from", title_of(c)}, {"error", problem});
    (void)text_set(&c->problem, problem);
}

static void handle(void *ctx, const struct cluster_notice *notice) {
    struct source_watch *c = ctx;
    AUTO_TEXT key = notice->object ? key_of(notice->object) : NULL;
    if (notice->type == NOTICE_LISTING)
        source_items_unsee(&c->items);
    else if (notice->type == NOTICE_SEEN && key)
        (is_map(c) ? see_map : see_worker)(c, key, notice->object);
    else if (notice->type == NOTICE_GONE && key)
        (is_map(c) ? remove_map : remove_worker)(c, key);
    else if (notice->type == NOTICE_LISTED)
        (is_map(c) ? end_map_list : end_worker_list)(c, notice->restored);
    else if (notice->type == NOTICE_STATE)
        note_state(c, notice->state, notice->problem);
}

static const char *own_namespace(const struct source_objects *objects) {
    const char *pods = objects->scope->connection->endpoint->namespace_;
    if (objects->config->namespace_)
        return objects->config->namespace_;
    return !objects->config->management.kubeconfig_path && pods && *pods ? pods : SEAL_SECRET_NAMESPACE;
}

static bool is_watched(const struct source_objects *objects, size_t index) {
    if (index == CONFIG_MAP)
        return objects->config;
    return objects->config && worker_source_has_objects((enum worker_source)index) &&
           worker_source_kinds[index]->is_on(&objects->config->workers_from);
}

static void open_watch(struct source_objects *objects, size_t index) {
    struct source_watch *c = &objects->watches[index];
    const struct worker_source_kind *kind = index == CONFIG_MAP ? NULL : worker_source_kinds[index];
    struct reflector_options options = cluster_watch_options(objects->scope, kind ? kind->plural : "configmaps");
    options.budget = NULL;
    options.meter = NULL;
    options.namespace_ = own_namespace(objects);
    options.field_selector = kind ? NULL : "metadata.name=" WORKERS_CONFIG_MAP;
    if (kind) {
        c->versions[0] = kind->version;
        options.group = kind->group;
        options.versions = c->versions;
        options.label_selector = kind->label ? c->selector : NULL;
        snprintf(c->selector, sizeof c->selector, "%s=true", kind->label ? kind->label : "");
    }
    if (kind && kind->namespace_of)
        options.namespace_ = kind->namespace_of(&objects->config->workers_from);
    options.seed = random_system();
    object_watch_init(&c->watch, &options, objects->scope->transport, handle, c);
    c->watch.persistent = true;
}

static void close_watch(struct source_watch *c) {
    object_watch_clear(&c->watch);
    free(c->problem);
    c->problem = NULL;
}

// A new configuration: everything is read anew, and compared with the former state.
static void use_config(struct source_objects *objects, struct config *config) {
    config_free(objects->config);
    objects->config = config;
    for (size_t i = 0; i < WATCHES; i++) {
        struct source_watch *c = &objects->watches[i];
        close_watch(c);
        if (is_watched(objects, i))
            open_watch(objects, i);
        while (!is_watched(objects, i) && c->items.count > 0)
            remove_worker(c, c->items.list[0].key);
    }
}

// Uses workers without the ConfigMap if the host cannot read the ConfigMap. Returns the time of the next tick.
static int64_t await_overrides(struct source_objects *objects, struct moment now) {
    if (objects->overrides_known || !objects->overrides_lost)
        return CLOCK_NEVER;
    if (!objects->overrides_absent && now.mono_ns < objects->begun_ns + UNKNOWN_NS)
        return objects->begun_ns + UNKNOWN_NS;
    use_overrides(objects, NULL, 0);
    return now.mono_ns;
}

static struct error *start_watcher(const struct cluster_scope *scope, void *state) {
    struct source_objects *objects = state;
    objects->scope = scope;
    return NULL;
}

static int64_t step_watcher(void *state, struct moment now) {
    struct source_objects *objects = state;
    const struct cluster_connection *connection = objects->scope->connection;
    pthread_mutex_lock(&objects->mutex);
    struct config *next = TAKE(objects->next);
    pthread_mutex_unlock(&objects->mutex);
    if (objects->begun_ns == 0)
        objects->begun_ns = now.mono_ns;
    if (next)
        use_config(objects, next);
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < WATCHES; i++) {
        struct source_watch *c = &objects->watches[i];
        next_ns = clock_earlier(next_ns, object_watch_tick(&c->watch, is_watched(objects, i), now));
        // The record decides which object has a name.
        if (i != CONFIG_MAP && objects->overrides_known && !c->watch.listing)
            source_items_publish(&c->items, objects->sources);
    }
    next_ns = clock_earlier(next_ns, await_overrides(objects, now));
    if (objects->config) {
        const struct worker_records_place place = {
            .management = connection, .namespace_ = own_namespace(objects), .gate = host_gate(objects->host)};
        next_ns = clock_earlier(next_ns, worker_records_tick(host_records(objects->host), &place, now));
    }
    return clock_earlier(next_ns, renewals_tick(objects->renewals, connection, now));
}

static void stop_watcher(void *state) {
    struct source_objects *objects = state;
    pthread_mutex_lock(&objects->mutex);
    objects->attached = false;
    pthread_mutex_unlock(&objects->mutex);
    for (size_t i = 0; i < WATCHES; i++)
        close_watch(&objects->watches[i]);
    renewals_stop(objects->renewals);
    worker_records_stop(host_records(objects->host));
}

static void renewal_trouble(void *ctx, const char *key, const char *problem) {
    struct source_objects *objects = ctx;
    struct source_watch *c = &objects->watches[SOURCE_SECRET];
    struct source_item *item = source_items_find(&c->items, key);
    if (!item || item->problem)
        return;
    (void)text_set(&item->problem, problem);
    c->items.changed = true;
}

struct error *source_objects_new(struct sources *sources, struct host *host, struct source_objects **out) {
    struct source_objects *objects = calloc(1, sizeof *objects);
    if (!objects)
        return error_no_memory();
    *objects = (struct source_objects){.sources = sources, .host = host};
    pthread_mutex_init(&objects->mutex, NULL);
    for (size_t i = 0; i < WATCHES; i++)
        objects->watches[i] = (struct source_watch){
            .all = objects, .items = {.source = i == CONFIG_MAP ? SOURCE_CONFIG : (enum worker_source)i}};
    struct renewals_options options = {
        .wake = wake_watcher, .trouble = renewal_trouble, .gate = host_gate(host), .ctx = objects};
    struct error *error = renewals_new(&options, &objects->renewals);
    if (error)
        source_objects_free(objects);
    else
        *out = objects;
    return error;
}

void source_objects_free(struct source_objects *objects) {
    if (!objects)
        return;
    renewals_free(objects->renewals);
    for (size_t i = 0; i < WATCHES; i++) {
        close_watch(&objects->watches[i]);
        source_items_free(&objects->watches[i].items);
    }
    config_free(objects->config);
    config_free(objects->next);
    pthread_mutex_destroy(&objects->mutex);
    free(objects);
}

struct error *source_objects_attach(struct source_objects *objects) {
    static const struct watcher row = {.start = start_watcher, .step = step_watcher, .stop = stop_watcher};
    AUTO_LOCK(&objects->mutex);
    objects->attached = host_attach(objects->host, &row, objects);
    return objects->attached ? NULL : error_no_memory();
}
