// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/source_objects.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/sources/source_items.h"
#include "core/host/sources/worker_records.h"
#include "core/host/startup/seal_source.h"
#include "core/host/token_renewal.h"
#include "core/host/watchers/object_channel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NS (3 * CLOCK_SECOND) // after this, workers are used without the ConfigMap

enum { SECRETS, PROFILES, CONFIG_MAP, CHANNELS };

// What the configuration wants.
struct wanted {
    char *namespace_; // of the host, if configured
    bool in_cluster;
    bool on[CHANNELS];
    char *profile_namespace;
    struct config_access_provider *providers;
    size_t n_providers;
    struct exec_policy *policy;
};

// One channel, with what its handlers need.
struct objects_channel {
    struct source_objects *all;
    struct channel *channel; // NULL: off
    struct source_items items;
    char *problem; // that was logged; NULL: none
};

struct source_objects {
    struct sources *sources;
    struct host *host;
    pthread_mutex_t mutex;
    bool attached;       // under the mutex: the host's thread may be called
    struct wanted *next; // under the mutex; NULL: no change
    // Below: on the management cluster's thread.
    struct wanted *wanted;
    struct objects_channel channels[CHANNELS];
    struct renewals *renewals;
    struct worker_override *overrides;
    size_t n_overrides;
    bool overrides_known, overrides_lost, overrides_absent;
    int64_t begun_ns; // 0: not yet
};

static const char *const what[CHANNELS] = {"Secrets of workers", "ClusterProfiles", ("ConfigMap " WORKERS_CONFIG_MAP)};

static void wanted_free(struct wanted *wanted) {
    if (!wanted)
        return;
    for (size_t i = 0; i < wanted->n_providers; i++) {
        free(wanted->providers[i].name);
        json_free(wanted->providers[i].exec);
    }
    free(wanted->providers);
    free(wanted->namespace_);
    free(wanted->profile_namespace);
    exec_policy_free(wanted->policy);
    free(wanted);
}

static bool copy_providers(const struct config_workers_from *from, struct wanted *to) {
    to->providers = calloc(from->n_providers + 1, sizeof *to->providers);
    if (!to->providers)
        return false;
    for (size_t i = 0; i < from->n_providers; i++) {
        struct config_access_provider *copy = &to->providers[to->n_providers++];
        copy->exec = json_copy(from->providers[i].exec);
        if (!text_set(&copy->name, from->providers[i].name) || !copy->exec)
            return false;
    }
    return true;
}

static void wake(void *ctx) {
    struct source_objects *objects = ctx;
    pthread_mutex_lock(&objects->mutex);
    if (objects->attached)
        host_call_guests(objects->host);
    pthread_mutex_unlock(&objects->mutex);
}

struct error *source_objects_configure(struct source_objects *objects, const struct config *config,
                                       const struct exec_policy *policy) {
    const struct config_workers_from *from = &config->workers_from;
    struct wanted *wanted = calloc(1, sizeof *wanted);
    if (!wanted)
        return error_no_memory();
    *wanted =
        (struct wanted){.in_cluster = !config->management.kubeconfig,
                        .on = {[SECRETS] = from->secrets, [PROFILES] = from->cluster_profiles, [CONFIG_MAP] = true}};
    if (!text_set(&wanted->namespace_, config->namespace_) ||
        !text_set(&wanted->profile_namespace, from->profile_namespace) || !copy_providers(from, wanted) ||
        !exec_policy_copy(policy, &wanted->policy)) {
        wanted_free(wanted);
        return error_no_memory();
    }
    pthread_mutex_lock(&objects->mutex);
    struct wanted *former = objects->next;
    objects->next = wanted;
    pthread_mutex_unlock(&objects->mutex);
    wanted_free(former);
    wake(objects);
    return NULL;
}

// Workers ---------------------------------------------------------------------------------------------------------

static struct error *read_worker(struct objects_channel *c, const struct json *value, struct worker_spec *spec) {
    const struct wanted *wanted = c->all->wanted;
    return c->items.source == SOURCE_SECRET ? worker_secret_read(value, spec)
                                            : worker_profile_read(value, wanted->providers, wanted->n_providers, spec);
}

// What cannot be opened now, but perhaps later, is used if there is nothing better.
static struct error *check_worker(struct objects_channel *c, struct source_item *item, const char *key,
                                  const struct json *value, struct worker_spec *spec) {
    struct token_life life;
    bool usable = false;
    struct error *error = worker_spec_check(spec, c->all->wanted->policy, clock_now().wall_ns, &life, &usable);
    if (c->items.source == SOURCE_SECRET && usable) {
        item->token_life = life;
        struct error *wrong = renewals_see(c->all->renewals, key, value, spec, &life, c->all->wanted->policy);
        if (!error)
            return wrong;
        error_free(wrong);
    } else {
        renewals_forget(c->all->renewals, key); // it would patch a version that is gone
    }
    if (error && usable && !item->spec.name)
        source_item_accept(&c->items, item, spec); // the caller adds the problem
    return error_wrap(error, c->items.source == SOURCE_SECRET ? "key kubeconfig" : "status");
}

static void seen_worker(void *ctx, const char *key, const struct object *object) {
    struct objects_channel *c = ctx;
    AUTO_TEXT origin =
        worker_object_text(c->items.source == SOURCE_SECRET ? "Secret" : "ClusterProfile", object->value);
    struct source_item *item = origin ? source_items_at(&c->items, key, origin) : NULL;
    if (!item)
        return;
    item->seen = true;
    item->held = false;
    struct worker_spec spec = {.name = NULL};
    struct error *error =
        object->too_large ? error_new(ERROR_TOO_LARGE, "%s", object->too_large) : read_worker(c, object->value, &spec);
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

static void gone_worker(void *ctx, const char *key) {
    struct objects_channel *c = ctx;
    source_items_remove(&c->items, key);
    renewals_forget(c->all->renewals, key);
}

static void listing_workers(void *ctx) {
    struct objects_channel *c = ctx;
    source_items_unsee(&c->items);
}

static void listed_workers(void *ctx, bool restored) {
    struct objects_channel *c = ctx;
    size_t held = restored ? source_items_hold(&c->items) : 0;
    if (held > 0)
        log_fields(LOG_WARN, "the management cluster was restored and lacks objects of workers: these workers stay",
                   {"kind", c->items.source == SOURCE_SECRET ? "Secret" : "ClusterProfile"}, LOG_INT("workers", held));
    for (size_t i = 0; i < c->items.count; i++)
        if (!c->items.list[i].seen && !c->items.list[i].held)
            renewals_forget(c->all->renewals, c->items.list[i].key);
    source_items_sweep(&c->items);
}

// The ConfigMap ---------------------------------------------------------------------------------------------------

static const struct worker_override *former_override(const struct source_objects *objects, const char *name) {
    for (size_t i = 0; i < objects->n_overrides; i++)
        if (strcmp(objects->overrides[i].name, name) == 0)
            return &objects->overrides[i];
    return NULL;
}

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

static bool copy_overrides(const struct worker_override *from, size_t n_from, struct worker_override **list,
                           size_t *count) {
    *list = NULL;
    *count = 0;
    while (*count < n_from && add_override(list, count, &from[*count]))
        ;
    return *count == n_from;
}

static void use_overrides(struct source_objects *objects, struct worker_override *list, size_t count) {
    struct worker_override *copy;
    size_t n_copy;
    if (!copy_overrides(list, count, &copy, &n_copy)) {
        worker_overrides_free(copy, n_copy);
        worker_overrides_free(list, count);
        return;
    }
    worker_overrides_free(objects->overrides, objects->n_overrides);
    objects->overrides = list;
    objects->n_overrides = count;
    objects->overrides_known = true;
    sources_override(objects->sources, copy, n_copy);
}

// One entry; one that cannot be read is what it was.
static void read_override(const struct source_objects *objects, const struct json *entry, struct worker_override **list,
                          size_t *count) {
    const char *text = json_string(entry);
    struct worker_override found = {.name = NULL};
    struct error *error = worker_override_read(json_key(entry), text ? text : "", &found);
    const struct worker_override *former = error ? former_override(objects, json_key(entry)) : NULL;
    if (error)
        log_fields(LOG_WARN,
                   former ? "worker not changed: its entry cannot be read" : "entry of a worker cannot be read",
                   {"from", what[CONFIG_MAP]}, {"error", error_text(error)});
    if (!error)
        (void)add_override(list, count, &found);
    else if (former)
        (void)add_override(list, count, former);
    free(found.name);
    error_free(error);
}

// What the host itself has recorded, beside the `n_entries` of operators. Without memory, a record is missing.
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

static void seen_map(void *ctx, const char *key, const struct object *object) {
    struct objects_channel *c = ctx;
    struct worker_override *list = NULL;
    size_t count = 0;
    (void)key;
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
    struct source_item *item = source_items_at(&c->items, key, what[CONFIG_MAP]);
    if (item)
        item->seen = true;
    use_overrides(c->all, list, count);
}

static void gone_map(void *ctx, const char *key) {
    struct objects_channel *c = ctx;
    source_items_remove(&c->items, key);
    worker_records_see(host_records(c->all->host), NULL);
    use_overrides(c->all, NULL, 0);
}

// A restored cluster may lack the cordons that were made since.
static void listed_map(void *ctx, bool restored) {
    struct objects_channel *c = ctx;
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

// Channels --------------------------------------------------------------------------------------------------------

static void on_trouble(void *ctx, bool absent, const char *problem) {
    struct objects_channel *c = ctx;
    size_t index = (size_t)(c - c->all->channels);
    if (index == CONFIG_MAP) {
        c->all->overrides_lost = problem;
        c->all->overrides_absent = absent;
    }
    if (problem && !text_equal(problem, c->problem))
        log_fields(absent ? LOG_INFO : LOG_WARN,
                   absent ? "kind of workers is not served; it is looked for" : "workers cannot be read",
                   {"from", what[index]}, {"error", problem});
    (void)text_set(&c->problem, problem);
}

static const char *own_namespace(const struct wanted *wanted, const struct cluster_connection *connection) {
    const char *pods = connection->endpoint->namespace_;
    if (wanted->namespace_)
        return wanted->namespace_;
    return wanted->in_cluster && pods && *pods ? pods : SEAL_SECRET_NAMESPACE;
}

static struct error *open_channel(struct source_objects *objects, size_t index,
                                  const struct cluster_connection *connection) {
    static const char *const v1[] = {"v1", NULL};
    static const char *const v1alpha1[] = {"v1alpha1", NULL};
    const struct wanted *wanted = objects->wanted;
    struct objects_channel *c = &objects->channels[index];
    struct reflector_options options = {
        .cluster = "management",
        .group = index == PROFILES ? CLUSTER_PROFILE_GROUP : "",
        .plural = index == SECRETS    ? "secrets"
                  : index == PROFILES ? "clusterprofiles"
                                      : "configmaps",
        .versions = index == PROFILES ? v1alpha1 : v1,
        .namespace_ = index == PROFILES ? wanted->profile_namespace : own_namespace(wanted, connection),
        .label_selector = index == SECRETS ? WORKER_SECRET_LABEL "=true" : NULL,
        .field_selector = index == CONFIG_MAP ? "metadata.name=" WORKERS_CONFIG_MAP : NULL,
        .watch_list = true,
        .seed = random_system()};
    struct channel_handler handler = {.seen = index == CONFIG_MAP ? seen_map : seen_worker,
                                      .gone = index == CONFIG_MAP ? gone_map : gone_worker,
                                      .listing = listing_workers,
                                      .listed = index == CONFIG_MAP ? listed_map : listed_workers,
                                      .trouble = on_trouble,
                                      .ctx = c};
    return channel_new(&options, connection->transport, &handler, &c->channel);
}

static void close_channel(struct objects_channel *c) {
    channel_free(c->channel);
    c->channel = NULL;
    free(c->problem);
    c->problem = NULL;
}

// A new configuration: everything is read anew, and compared with what was there.
static void apply_wanted(struct source_objects *objects, struct wanted *wanted,
                         const struct cluster_connection *connection) {
    wanted_free(objects->wanted);
    objects->wanted = wanted;
    for (size_t i = 0; i < CHANNELS; i++) {
        struct objects_channel *c = &objects->channels[i];
        close_channel(c);
        struct error *error = wanted->on[i] ? open_channel(objects, i, connection) : NULL;
        if (error)
            log_fields(LOG_ERROR, "workers cannot be watched", {"from", what[i]}, {"error", error_text(error)});
        error_free(error);
        while (!wanted->on[i] && c->items.count > 0)
            gone_worker(c, c->items.list[0].key);
    }
}

// Workers are used without the ConfigMap if it cannot be read. Returns when the next tick is needed.
static int64_t await_overrides(struct source_objects *objects, struct moment now) {
    if (objects->overrides_known || !objects->overrides_lost)
        return CLOCK_NEVER;
    if (!objects->overrides_absent && now.mono_ns < objects->begun_ns + UNKNOWN_NS)
        return objects->begun_ns + UNKNOWN_NS;
    use_overrides(objects, NULL, 0);
    return now.mono_ns;
}

static int64_t tick(void *ctx, const struct cluster_connection *connection, struct moment now) {
    struct source_objects *objects = ctx;
    pthread_mutex_lock(&objects->mutex);
    struct wanted *next = TAKE(objects->next);
    pthread_mutex_unlock(&objects->mutex);
    if (objects->begun_ns == 0)
        objects->begun_ns = now.mono_ns;
    if (next)
        apply_wanted(objects, next, connection);
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < CHANNELS; i++) {
        struct objects_channel *c = &objects->channels[i];
        if (c->channel)
            next_ns = clock_earlier(next_ns, channel_tick(c->channel, now));
        // The record decides which object has a name.
        if (i != CONFIG_MAP && objects->overrides_known && (!c->channel || !channel_is_listing(c->channel)))
            source_items_publish(&c->items, objects->sources);
    }
    next_ns = clock_earlier(next_ns, await_overrides(objects, now));
    if (objects->wanted) {
        const struct worker_records_place place = {.management = connection,
                                                   .namespace_ = own_namespace(objects->wanted, connection),
                                                   .gate = host_gate(objects->host)};
        next_ns = clock_earlier(next_ns, worker_records_tick(host_records(objects->host), &place, now));
    }
    return clock_earlier(next_ns, renewals_tick(objects->renewals, connection, now));
}

static void stop(void *ctx) {
    struct source_objects *objects = ctx;
    pthread_mutex_lock(&objects->mutex);
    objects->attached = false;
    pthread_mutex_unlock(&objects->mutex);
    for (size_t i = 0; i < CHANNELS; i++)
        close_channel(&objects->channels[i]);
    renewals_stop(objects->renewals);
    worker_records_stop(host_records(objects->host));
}

static void renewal_trouble(void *ctx, const char *key, const char *problem) {
    struct source_objects *objects = ctx;
    struct objects_channel *c = &objects->channels[SECRETS];
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
    for (size_t i = 0; i < CHANNELS; i++)
        objects->channels[i] = (struct objects_channel){
            .all = objects, .items = {.source = i == SECRETS ? SOURCE_SECRET : SOURCE_CLUSTER_PROFILE}};
    struct renewals_options options = {
        .wake = wake, .trouble = renewal_trouble, .gate = host_gate(host), .ctx = objects};
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
    for (size_t i = 0; i < CHANNELS; i++) {
        close_channel(&objects->channels[i]);
        source_items_free(&objects->channels[i].items);
    }
    wanted_free(objects->wanted);
    wanted_free(objects->next);
    worker_overrides_free(objects->overrides, objects->n_overrides);
    pthread_mutex_destroy(&objects->mutex);
    free(objects);
}

struct error *source_objects_attach(struct source_objects *objects) {
    struct host_guest guest = {.tick = tick, .stop = stop, .ctx = objects};
    pthread_mutex_lock(&objects->mutex);
    objects->attached = host_attach(objects->host, &guest);
    bool attached = objects->attached;
    pthread_mutex_unlock(&objects->mutex);
    return attached ? NULL : error_no_memory();
}
