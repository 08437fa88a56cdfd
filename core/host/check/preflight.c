// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"
#include "core/engine/clusters/identity.h"
#include "core/host/check/preflight_internal.h"

#include "core/kube/api/api_resources.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

void visit_problem(struct visit *visit, const char *sentence) {
    problems_add(&visit->problems, "%s (%s): %s", visit->name, visit->server, sentence);
}

// 401 and 403 still show that the server answers.
static bool answers(struct visit *visit) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    struct error *error = ask_raw(visit->client, "/version", &response);
    if (error) {
        visit_problem(visit, error_text(error));
        error_free(error);
        return false;
    }
    if (response.reason == REASON_FORBIDDEN)
        return true;
    const char *version = json_string(json_get(response.value, "gitVersion"));
    visit->git_version = version ? strdup(version) : NULL;
    if (response.reason == REASON_OK && version)
        return true;
    if (response.reason == REASON_OK)
        visit_problem(visit, "found an answer to GET /version without gitVersion, expected a Kubernetes API server");
    else if (response.reason == REASON_UNAUTHORIZED)
        VISIT_PROBLEM(visit, "does not accept the credentials: %s", response.message);
    else
        VISIT_PROBLEM(visit, "GET /version: %s", response.message);
    return false;
}

// Checks a kind's entry in an APIResourceList.
static void check_resource(struct visit *visit, const struct kind *kind, const char *version,
                           const struct json *document, const struct json *resource) {
    static const char *const verbs[] = {"get", "list", "watch", "create", "patch", "delete"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (!api_resource_has_verb(resource, verbs[i]))
            VISIT_PROBLEM(visit, "serves %s/%s without the verb %s, which wharf needs", kind->plural_group, version,
                          verbs[i]);
    AUTO_TEXT status = text_format("%s/status", kind->abi.plural);
    bool wanted = visit->management && (kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (status && wanted && !api_resources_find(document, status))
        VISIT_PROBLEM(visit, "serves %s/%s without its status subresource, which adapter %s expects",
                      kind->plural_group, version, kind->adapter->name);
}

enum served { SERVED_NO, SERVED_YES, SERVED_UNKNOWN };

static enum served serves_version(struct visit *visit, const struct kind *kind, const char *version) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = api_resources_path(kind->abi.group, version);
    struct error *error = !path ? error_no_memory() : ask_raw(visit->client, path, &response);
    if (error) {
        visit_problem(visit, error_text(error));
        error_free(error);
        return SERVED_UNKNOWN;
    }
    if (response.reason == REASON_NOT_FOUND || response.reason == REASON_KIND_NOT_FOUND)
        return SERVED_NO;
    if (response.reason != REASON_OK) {
        VISIT_PROBLEM(visit, "GET %s: %s", path, response.message);
        return SERVED_UNKNOWN;
    }
    const struct json *resource = api_resources_find(response.value, kind->abi.plural);
    if (!resource)
        return SERVED_NO;
    check_resource(visit, kind, version, response.value, resource);
    if (visit->management) {
        visit_check_field(visit, kind, version);
        visit_check_rivals(visit, kind, version);
    }
    return SERVED_YES;
}

static void check_served(struct visit *visit, const struct kind *kind) {
    AUTO_BUFFER(versions, 65536);
    for (size_t i = 0; kind->abi.versions[i]; i++) {
        if (serves_version(visit, kind, kind->abi.versions[i]) != SERVED_NO)
            return;
        buffer_printf(&versions, "%s%s", i == 0 ? "" : ", ", kind->abi.versions[i]);
    }
    VISIT_PROBLEM(visit, "does not serve %s, expected one of the versions that adapter %s knows: %s",
                  kind->plural_group, kind->adapter->name, !versions.data ? "" : versions.data);
}

// Without the permission to read the uid there is nothing to compare; `run` has the same limit.
static void read_uid(struct visit *visit) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    struct request request = cluster_id_request();
    struct error *error = ask(visit->client, &request, &response);
    const char *uid = error ? "" : cluster_id_uid(&response);
    visit->uid = *uid != '\0' ? strdup(uid) : NULL;
    error_free(error);
}

static void check_cluster(struct visit *visit) {
    if (!answers(visit))
        return;
    read_uid(visit);
    if (visit->management)
        visit_read_sources(visit);
    for (size_t i = 0; i < visit->preflight->adapters->n_kinds; i++)
        check_served(visit, visit->preflight->adapters->kinds[i]);
    visit_check_rights(visit);
}

static void *run_visit(void *arg) {
    struct visit *visit = arg;
    struct error *error = connection_open(visit->connection, NULL);
    if (!error)
        error = connection_client(visit->connection, visit->name, &visit->client);
    if (!error)
        check_cluster(visit);
    else
        visit_problem(visit, error_text(error));
    error_free(error);
    client_free(visit->client);
    return NULL;
}

// `run` would reject these: the management cluster as a worker, and one cluster under two names.
static void compare_uids(struct visit *visits, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            if (!visits[i].uid || !text_equal(visits[i].uid, visits[k].uid))
                continue;
            VISIT_PROBLEM(&visits[i],
                          "found the same cluster as %s (uid %s of namespace kube-system), expected another one",
                          visits[k].management ? "the management cluster" : visits[k].name, visits[i].uid);
            break;
        }
}

static void start_visit(struct visit *visit, const struct preflight *preflight, const char *name,
                        struct cluster_connection *connection) {
    visit->preflight = preflight;
    visit->name = name;
    visit->connection = connection;
    visit->server = connection->endpoint ? connection->endpoint->server : "";
    visit->started = connection->endpoint && thread_start("check", 0, run_visit, visit, &visit->thread) == 0;
    if (connection->endpoint && !visit->started)
        visit_problem(visit, "cannot be checked: no thread could be started");
}

static void join_visits(struct visit *visits, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (visits[i].started)
            pthread_join(visits[i].thread, NULL);
}

// The management cluster and the configuration's workers.
static void check_configured(const struct preflight *preflight, struct source_items *found, struct visit *visits) {
    const struct config *config = preflight->config;
    visits[0].management = true;
    visits[0].found = found;
    start_visit(&visits[0], preflight, config->management.settings.name, &preflight->connections[0]);
    for (size_t i = 0; i < config->n_workers; i++)
        start_visit(&visits[i + 1], preflight, config->workers[i].settings.name, &preflight->connections[i + 1]);
    join_visits(visits, config->n_workers + 1);
}

// `run` would refuse a cluster other than the one that joined.
static void compare_joined(struct visit *visit, const struct worker_spec *spec) {
    if (spec->settings.uid && visit->uid && strcmp(spec->settings.uid, visit->uid) != 0)
        VISIT_PROBLEM(
            visit, "found uid %s of namespace kube-system, expected %s as in annotation " IDENTITY_ANNOTATION " of %s",
            visit->uid, spec->settings.uid, spec->origin_text);
}

// The workers of other sources; `specs` has the configuration's too, which are the first.
static void check_others(const struct preflight *preflight, const struct worker_spec *specs, size_t count,
                         struct cluster_connection *connections, struct visit *visits) {
    for (size_t i = preflight->config->n_workers; i < count; i++) {
        struct error *error =
            connection_load(&connections[i], &specs[i], &preflight->config->credential_plugins, clock_now().wall_ns);
        if (error)
            problems_add(&visits[i + 1].problems, "%s: %s", specs[i].origin_text, error_text(error));
        error_free(error);
        start_visit(&visits[i + 1], preflight, specs[i].settings.name, &connections[i]);
    }
    join_visits(visits + preflight->config->n_workers + 1, count - preflight->config->n_workers);
    for (size_t i = preflight->config->n_workers; i < count; i++)
        compare_joined(&visits[i + 1], &specs[i]);
}

// Grows the arrays by the workers of other sources, and checks these workers.
static struct error *check_found(struct preflight *preflight, struct source_items *found, struct visit **visits,
                                 struct problems *problems) {
    struct worker_spec *specs = NULL;
    size_t count = 0, first = preflight->config->n_workers + 1;
    struct error *error = preflight_merge(preflight, found, problems, &specs, &count);
    struct cluster_connection *connections = calloc(count + 1, sizeof *connections);
    struct visit *grown = error ? NULL : realloc(*visits, (count + 1) * sizeof **visits);
    if (grown)
        *visits = grown;
    if (!error && (!grown || !connections))
        error = error_no_memory();
    if (!error) {
        memset(grown + first, 0, (count + 1 - first) * sizeof *grown);
        check_others(preflight, specs, count, connections, grown);
        compare_uids(grown, count + 1);
        preflight->n_workers = count;
    }
    for (size_t i = 0; i < (error ? first : count + 1); i++) {
        problems_move(problems, &(*visits)[i].problems);
        problems_move(&preflight->warnings, &(*visits)[i].warnings);
        free((*visits)[i].uid);
        free((*visits)[i].git_version);
    }
    for (size_t i = 0; connections && i < count; i++)
        connection_close(&connections[i]);
    free(connections);
    worker_specs_free(specs, count);
    return error;
}

struct error *preflight_check(struct preflight *preflight, struct problems *problems) {
    struct visit *visits = calloc(preflight->config->n_workers + 1, sizeof(*visits));
    if (!visits)
        return error_no_memory();
    struct source_items found[WORKER_SOURCES] = {{.source = SOURCE_CONFIG}};
    for (size_t s = 0; s < WORKER_SOURCES; s++)
        found[s].source = (enum worker_source)s;
    check_configured(preflight, found, visits);
    struct error *error = check_found(preflight, found, &visits, problems);
    for (size_t s = 0; s < WORKER_SOURCES; s++)
        source_items_free(&found[s]);
    free(visits);
    return error;
}
