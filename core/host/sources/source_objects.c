// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/host/host.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/startup/seal_source.h"
#include "core/host/watchers/watcher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define UNKNOWN_NS (3 * CLOCK_SECOND) // until workers are used without the ConfigMap

enum { CONFIG_MAP = WORKER_SOURCES, WATCHES }; // a watch of each source, and that of the ConfigMap

// Objects of one kind.
struct source_watch {
    struct source_objects *all;
    struct object_watch watch;
    char selector[64];
    struct source_items items;
    char *problem; // the last logged problem; NULL: none
};

struct source_objects {
    struct sources *sources;
    struct host *host;
    pthread_mutex_t mutex;
    bool attached;               // under the mutex: the host's thread is running
    struct config *_Atomic next; // NULL: no change
    // Below: on the management cluster's thread.
    const struct cluster_scope *scope;
    struct config *config; // NULL: not yet
    struct source_watch watches[WATCHES];
    struct client *client; // for the records and the renewals; NULL: not yet
    struct renewals *renewals;
    size_t n_overrides;
    bool overrides_known, overrides_lost, overrides_absent;
    bool map_listed;  // the present list has the ConfigMap
    int64_t begun_ns; // 0: not yet
};

static bool is_map(const struct source_watch *c) {
    return c == &c->all->watches[CONFIG_MAP];
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
    config_free(atomic_exchange(&objects->next, config_share(config)));
    wake_watcher(objects);
}

// Workers ---------------------------------------------------------------------------------------------------------

static char *key_of(const struct object *object) {
    return text_format("%s/%s", object_namespace(object->value), object_name(object->value));
}

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

static void see_worker(struct source_watch *c, const struct object *object) {
    AUTO_TEXT key = key_of(object);
    AUTO_TEXT origin = worker_object_text(kind_of(c)->name, object->value);
    struct source_item *item = key && origin ? source_items_at(&c->items, key, origin) : NULL;
    if (!item)
        return;
    item->seen = true;
    item->held = false;
    struct worker_spec spec = {.source = SOURCE_CONFIG};
    struct error *error =
        object->too_large ? error_new(ERROR_TOO_LARGE, "%s", object->too_large)
                          : worker_source_read(c->items.source, object->value, &c->all->config->workers_from, &spec);
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

// Takes the content of the map; NULL: no entries.
static void use_overrides(struct source_objects *objects, struct map *overrides) {
    objects->n_overrides = overrides ? overrides->count : 0;
    objects->overrides_known = true;
    sources_override(objects->sources, overrides);
}

static void put_override(struct map *overrides, const struct worker_override *entry) {
    (void)blocks_put(overrides, entry, sizeof *entry, WORKER_OVERRIDE_TEXTS); // without memory, the entry is missing
}

// Reads one entry; an unreadable entry keeps its former value.
static void read_override(const struct source_objects *objects, const struct json *entry, struct map *overrides) {
    struct worker_override found;
    struct error *error = worker_override_read(json_key(entry), json_string_or(entry, ""), &found);
    const struct worker_override *former = error ? sources_find_override(objects->sources, json_key(entry)) : NULL;
    if (error)
        log_fields(LOG_WARN,
                   former ? "worker not changed: its entry cannot be read" : "entry of a worker cannot be read",
                   {"from", "ConfigMap " WORKERS_CONFIG_MAP}, {"error", error_text(error)});
    if (!error || former)
        put_override(overrides, error ? former : &found);
    error_free(error);
}

// Adds one of the host's own records to the entries of operators.
static void read_record(const struct json *annotation, struct map *overrides) {
    struct worker_record_text record;
    const char *key = json_key(annotation);
    if (!worker_record_read(key, json_string(annotation), &record))
        return;
    const char *name = key + strlen(WORKER_RECORD_PREFIX);
    const struct worker_override *entry = map_get(overrides, name);
    struct worker_override found = entry ? *entry : (struct worker_override){.name = name};
    found.uid = record.uid;
    found.source = record.source;
    found.names = record.names;
    put_override(overrides, &found);
    free(record.text);
}

static void see_map(struct source_watch *c, const struct object *object) {
    struct map overrides;
    c->all->overrides_lost = false;
    if (strcmp(object_name(object->value), WORKERS_CONFIG_MAP) != 0)
        return;
    if (object->too_large) {
        log_fields(LOG_WARN, "ConfigMap not used", {"name", WORKERS_CONFIG_MAP}, {"error", object->too_large});
        return;
    }
    map_init(&overrides, random_system());
    const struct json *data = json_get(object->value, "data");
    for (const struct json *entry = json_first(data); entry; entry = json_next(entry))
        read_override(c->all, entry, &overrides);
    const struct json *annotations = json_path(object->value, "metadata", "annotations", NULL);
    for (const struct json *each = json_first(annotations); each; each = json_next(each))
        read_record(each, &overrides);
    worker_records_see(host_records(c->all->host), object->value);
    c->all->map_listed = true;
    use_overrides(c->all, &overrides);
}

static void remove_map(const struct source_watch *c) {
    c->all->map_listed = false;
    worker_records_see(host_records(c->all->host), NULL);
    use_overrides(c->all, NULL);
}

// A restored cluster may lack the cordons that were made since.
static void end_map_list(struct source_watch *c, bool restored) {
    bool there = c->all->map_listed;
    if (!there)
        worker_records_see(host_records(c->all->host), NULL);
    if (there || (restored && c->all->n_overrides > 0))
        return;
    if (!c->all->overrides_known || c->all->n_overrides > 0)
        use_overrides(c->all, NULL);
}

// Watches --------------------------------------------------------------------------------------------------------

static void note_state(struct source_watch *c, enum reflector_state state, const char *problem) {
    bool absent = state == REFLECTOR_ABSENT;
    if (is_map(c)) {
        c->all->overrides_lost = problem;
        c->all->overrides_absent = absent;
    }
    if (problem && !text_equal(problem, c->problem))
        log_fields(absent ? LOG_INFO : LOG_WARN,
                   absent ? "kind of workers is not served; it is looked for" : "workers cannot be read",
                   {"from", is_map(c) ? "ConfigMap " WORKERS_CONFIG_MAP : kind_of(c)->title}, {"error", problem});
    (void)text_set(&c->problem, problem);
}

static void handle(void *ctx, const struct cluster_notice *notice) {
    struct source_watch *c = ctx;
    AUTO_TEXT gone = notice->type == NOTICE_GONE ? key_of(notice->object) : NULL;
    if (notice->type == NOTICE_LISTING) {
        source_items_unsee(&c->items);
        c->all->map_listed &= !is_map(c);
    } else if (notice->type == NOTICE_SEEN)
        (is_map(c) ? see_map : see_worker)(c, notice->object);
    else if (gone && is_map(c))
        remove_map(c);
    else if (gone)
        remove_worker(c, gone);
    else if (notice->type == NOTICE_LISTED)
        (is_map(c) ? end_map_list : end_worker_list)(c, notice->restored);
    else if (notice->type == NOTICE_STATE)
        note_state(c, notice->state, notice->problem);
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
    options.namespace_ = host_own_namespace(objects->config, objects->scope->connection);
    options.field_selector = kind ? NULL : "metadata.name=" WORKERS_CONFIG_MAP;
    if (kind) {
        options.group = kind->group;
        options.versions = kind->versions;
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
    use_overrides(objects, NULL);
    return now.mono_ns;
}

// Writes the records and renews tokens. Returns the time of the next call needed.
static int64_t write_objects(struct source_objects *objects, struct moment now) {
    if (!objects->config)
        return CLOCK_NEVER;
    if (!objects->client)
        error_free(connection_client(objects->scope->connection, "management", &objects->client));
    if (!objects->client)
        return now.mono_ns + CLOCK_SECOND;
    const struct worker_records_place place = {.management = objects->client,
                                               .namespace_ =
                                                   host_own_namespace(objects->config, objects->scope->connection),
                                               .gate = host_gate(objects->host)};
    int64_t next_ns = worker_records_tick(host_records(objects->host), &place, now);
    next_ns = clock_earlier(next_ns, renewals_tick(objects->renewals, objects->client, now));
    return clock_earlier(next_ns, client_tick(objects->client, now));
}

static struct error *start_watcher(const struct cluster_scope *scope, void *state) {
    struct source_objects *objects = state;
    objects->scope = scope;
    return NULL;
}

static int64_t step_watcher(void *state, struct moment now) {
    struct source_objects *objects = state;
    struct config *next = atomic_exchange(&objects->next, NULL);
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
    return clock_earlier(next_ns, clock_earlier(await_overrides(objects, now), write_objects(objects, now)));
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
    client_free(objects->client);
    objects->client = NULL;
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
