// SPDX-License-Identifier: Apache-2.0
// The workers that the host would find, read once.
#include "core/host/check/preflight_internal.h"
#include "core/host/startup/seal_source.h"

#include "core/kube/client/ask.h"
#include "core/kube/object/object.h"

#define PAGE "limit=50"
#define PATH_MAX_LEN ((size_t)64 << 10)

// Objects of one kind of the management cluster.
struct source_listing {
    struct visit *visit;
    enum worker_source source;
    const struct worker_source_kind *kind;
    const char *namespace_;
};

static struct error *read_spec(const struct source_listing *listing, const struct json *object,
                               struct worker_spec *spec) {
    const struct config *config = listing->visit->preflight->config;
    struct token_life life;
    bool usable = false;
    TRY(worker_source_read(listing->source, object, &config->workers_from, spec));
    return error_wrap(worker_spec_check(spec, &config->credential_plugins, clock_now().wall_ns, &life, &usable), "%s",
                      listing->kind->part);
}

// A ClusterProfile for others is no item.
static struct error *read_object(void *ctx, const struct json *object) {
    const struct source_listing *listing = ctx;
    struct visit *visit = listing->visit;
    struct source_items *items = &visit->preflight->found[listing->source];
    AUTO_TEXT origin = worker_object_text(listing->kind->name, object);
    AUTO_TEXT key = text_format("%s/%s", object_namespace(object), object_name(object));
    struct worker_spec spec = {.source = SOURCE_CONFIG};
    struct error *error = origin && key ? read_spec(listing, object, &spec) : error_no_memory();
    bool others = error && error->code == ERROR_NOT_FOUND && listing->kind->is_for_others;
    struct source_item *item = !error ? source_items_at(items, key, origin) : NULL;
    if (item)
        source_item_accept(items, item, &spec);
    else if (!others)
        problems_add(&visit->problems, "%s: %s", origin ? origin : listing->kind->name,
                     error ? error_text(error) : "out of memory");
    error_free(error);
    worker_spec_clear(&spec);
    return NULL;
}

// The reason for a missing list. A kind that is not installed is no problem: the host keeps searching for the kind.
static void report_unread(const struct source_listing *listing, const struct response *response) {
    struct visit *visit = listing->visit;
    bool absent = response->reason == REASON_NOT_FOUND || response->reason == REASON_KIND_NOT_FOUND;
    if (absent && listing->kind->is_for_others)
        return;
    visit->secrets_refused |= listing->source == SOURCE_SECRET && response->reason == REASON_FORBIDDEN;
    visit_problem(visit, "cannot list %ss in namespace %s, so workers from %ss are not checked: %s",
                  listing->kind->name, listing->namespace_, listing->kind->name, response->message);
}

static void read_list(struct source_listing *listing) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_BUFFER(path, PATH_MAX_LEN);
    const struct worker_source_kind *kind = listing->kind;
    buffer_printf(&path, "/%s%s/%s/namespaces/%s/%s?", *kind->group ? "apis/" : "api", kind->group, kind->versions[0],
                  listing->namespace_, kind->plural);
    if (kind->label)
        buffer_printf(&path, "labelSelector=%s%%3Dtrue&", kind->label);
    buffer_text(&path, PAGE);
    AUTO_ERROR error = path.failed
                           ? error_no_memory()
                           : ask_list(listing->visit->client, path.data, false, read_object, listing, &response);
    if (error)
        visit_problem(listing->visit, "cannot list %ss in namespace %s: %s", kind->name, listing->namespace_,
                      error_text(error));
    else if (response.reason != REASON_OK)
        report_unread(listing, &response);
}

void visit_read_sources(struct visit *visit) {
    const struct config_workers_from *from = &visit->preflight->config->workers_from;
    for (size_t s = 0; s < WORKER_SOURCES; s++) {
        const struct worker_source_kind *kind = worker_source_kinds[s];
        if (!kind->read || !kind->is_on(from))
            continue;
        const char *within = kind->namespace_of ? kind->namespace_of(from)
                                                : host_own_namespace(visit->preflight->config, visit->connection);
        struct source_listing listing = {visit, (enum worker_source)s, kind, within};
        visit->preflight->found[s].source = listing.source;
        read_list(&listing);
    }
}

// Merging ---------------------------------------------------------------------------------------------------------

static void receive_list(void *ctx, struct source_list *list, enum removal removal) {
    (void)removal;
    source_list_clear(ctx);
    *(struct source_list *)ctx = *list;
}

struct error *preflight_merge(struct preflight *preflight, struct problems *problems, struct worker_spec **specs,
                              size_t *count) {
    struct source_list merged = {.specs = NULL};
    struct sources *sources = NULL;
    const struct sources_options options = {.apply = receive_list, .ctx = &merged, .silent = true};
    struct error *error = sources_new(&options, &sources);
    if (!error)
        error = sources_set_config(sources, preflight->config);
    for (size_t s = 0; s < WORKER_SOURCES; s++) {
        if (!error)
            source_items_publish(&preflight->found[s], sources);
        source_items_free(&preflight->found[s]);
    }
    for (size_t i = 0; !error && i < merged.n_notes; i++)
        if (merged.notes[i].problem)
            problems_add(problems, "%s: not used: %s", merged.notes[i].origin_text, merged.notes[i].problem);
    sources_free(sources);
    source_notes_free(merged.notes, merged.n_notes);
    *specs = merged.specs;
    *count = merged.count;
    return error;
}

void preflight_read_directory(struct preflight *preflight, struct problems *problems) {
    const struct config *config = preflight->config;
    const struct config_workers_from *from = &config->workers_from;
    struct source_items *found = &preflight->found[SOURCE_DIRECTORY];
    found->source = SOURCE_DIRECTORY;
    AUTO_TEXT where = text_format("%s:%zu: workersFrom.directory", config->path, from->line);
    if (from->directory && where)
        source_folder_check(from->directory, &config->credential_plugins, where, problems, found);
}

static struct error *read_management(struct visit *visit, const struct config *config) {
    if (!config->workers_from.secrets && !config->workers_from.cluster_profiles)
        return NULL;
    TRY(connection_load(visit->connection, &config->management, &config->credential_plugins, clock_now().wall_ns));
    TRY(connection_open(visit->connection, NULL));
    TRY(connection_client(visit->connection, visit->name, &visit->client));
    visit->server = visit->connection->endpoint->server;
    visit_read_sources(visit);
    return NULL;
}

struct error *preflight_workers(const struct config *config, struct problems *problems, struct worker_spec **specs,
                                size_t *count) {
    struct preflight preflight = {.config = config};
    struct visit visit = {.server = ""};
    visit_init(&visit, &preflight, &config->management, &visit.own);
    preflight_read_directory(&preflight, problems);
    problems_add_error(&visit.problems, error_wrap(read_management(&visit, config), "%s", visit.name));
    problems_move(problems, &visit.problems);
    struct error *error = preflight_merge(&preflight, problems, specs, count);
    client_free(visit.client);
    connection_close(&visit.own);
    return error;
}
