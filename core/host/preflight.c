// SPDX-License-Identifier: Apache-2.0
#include "core/host/preflight.h"
#include "core/engine/kueue.h"
#include "core/host/rights.h"
#include "core/host/seal_source.h"

#include "core/base/text.h"
#include "core/kube/access_review.h"
#include "core/kube/api_resources.h"
#include "core/kube/ask.h"
#include "core/kube/cluster_id.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// One cluster, checked on its own thread.
struct visit {
    const struct config *config;
    const struct adapters *adapters;
    const struct config_cluster *cluster;
    struct connection *connection;
    const char *server; // "" without an endpoint
    bool management;
    char *uid; // of namespace kube-system, or NULL
    struct client *client;
    struct problems problems;
    pthread_t thread;
    bool started;
};

static void add_problem(struct visit *visit, const char *sentence) {
    problems_add(&visit->problems, "%s (%s): %s", visit->cluster->name, visit->server, sentence);
}

#define ADD_PROBLEM(visit, ...)                                                                                        \
    do {                                                                                                               \
        AUTO_TEXT sentence = text_format(__VA_ARGS__);                                                                 \
        add_problem(visit, !sentence ? "out of memory" : sentence);                                                    \
    } while (0)

// 401 and 403 still show that the server answers.
static bool answers(struct visit *visit) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    struct error *error = ask_raw(visit->client, "/version", &response);
    if (error) {
        add_problem(visit, error_text(error));
        error_free(error);
        return false;
    }
    if (response.reason == REASON_FORBIDDEN)
        return true;
    if (response.reason == REASON_OK && json_string(json_get(response.value, "gitVersion")))
        return true;
    if (response.reason == REASON_OK)
        add_problem(visit, "found an answer to GET /version without gitVersion, expected a Kubernetes API server");
    else if (response.reason == REASON_UNAUTHORIZED)
        ADD_PROBLEM(visit, "does not accept the credentials: %s", response.message);
    else
        ADD_PROBLEM(visit, "GET /version: %s", response.message);
    return false;
}

// Checks a kind's entry in an APIResourceList.
static void check_resource(struct visit *visit, const struct kind *kind, const char *version,
                           const struct json *document, const struct json *resource) {
    static const char *const verbs[] = {"get", "list", "watch", "create", "patch", "delete"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (!api_resource_has_verb(resource, verbs[i]))
            ADD_PROBLEM(visit, "serves %s/%s without the verb %s, which wharf needs", kind->plural_group, version,
                        verbs[i]);
    AUTO_TEXT status = text_format("%s/status", kind->abi.plural);
    bool wanted = visit->management && (kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (status && wanted && !api_resources_find(document, status))
        ADD_PROBLEM(visit, "serves %s/%s without its status subresource, which adapter %s expects", kind->plural_group,
                    version, kind->adapter->name);
}

enum served { SERVED_NO, SERVED_YES, SERVED_UNKNOWN };

static enum served serves_version(struct visit *visit, const struct kind *kind, const char *version) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = api_resources_path(kind->abi.group, version);
    struct error *error = !path ? error_no_memory() : ask_raw(visit->client, path, &response);
    if (error) {
        add_problem(visit, error_text(error));
        error_free(error);
        return SERVED_UNKNOWN;
    }
    if (response.reason == REASON_NOT_FOUND || response.reason == REASON_KIND_NOT_FOUND)
        return SERVED_NO;
    if (response.reason != REASON_OK) {
        ADD_PROBLEM(visit, "GET %s: %s", path, response.message);
        return SERVED_UNKNOWN;
    }
    const struct json *resource = api_resources_find(response.value, kind->abi.plural);
    if (!resource)
        return SERVED_NO;
    check_resource(visit, kind, version, response.value, resource);
    return SERVED_YES;
}

static void check_served(struct visit *visit, const struct kind *kind) {
    AUTO_BUFFER(versions, 65536);
    for (size_t i = 0; kind->abi.versions[i]; i++) {
        if (serves_version(visit, kind, kind->abi.versions[i]) != SERVED_NO)
            return;
        buffer_printf(&versions, "%s%s", i == 0 ? "" : ", ", kind->abi.versions[i]);
    }
    ADD_PROBLEM(visit, "does not serve %s, expected one of the versions that adapter %s knows: %s", kind->plural_group,
                kind->adapter->name, !versions.data ? "" : versions.data);
}

static void tell_denied(struct visit *visit, const struct access_review *permission, const struct json *review) {
    const char *reason = json_string_or(json_path(review, "status", "reason", NULL), "");
    const char *trouble = json_string_or(json_path(review, "status", "evaluationError", NULL), "");
    const char *why = reason[0] != '\0' ? reason : trouble;
    ADD_PROBLEM(visit, "may not %s %s%s%s%s%s%s%s%s, expected to be allowed%s%s", permission->verb,
                permission->resource, permission->group[0] != '\0' ? "." : "", permission->group,
                permission->subresource ? "/" : "", permission->subresource ? permission->subresource : "",
                permission->name ? " \"" : "", permission->name ? permission->name : "", permission->name ? "\"" : "",
                why[0] != '\0' ? ": " : "", why);
}

// False: further reviews would fail too.
static bool check_permission(struct visit *visit, const struct access_review *permission) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    bool written = access_review_write(permission, &body);
    struct request request = {.verb = VERB_CREATE,
                              .resource = {.group = "authorization.k8s.io",
                                           .version = "v1",
                                           .plural = "selfsubjectaccessreviews",
                                           .cluster_scoped = true},
                              .namespace_ = "",
                              .body = body.data,
                              .body_len = body.len};
    struct error *error = !written ? error_no_memory() : ask(visit->client, &request, &response);
    if (error) {
        add_problem(visit, error_text(error));
        error_free(error);
        return false;
    }
    const struct json *allowed = json_path(response.value, "status", "allowed", NULL);
    if (response.reason != REASON_OK || !json_is(allowed, JSON_BOOL)) {
        ADD_PROBLEM(visit, "does not answer SelfSubjectAccessReview, so permissions cannot be checked: %s",
                    response.message);
        return false;
    }
    if (!json_bool(allowed, false))
        tell_denied(visit, permission, response.value);
    return true;
}

static bool check_all(struct visit *visit, const struct access_review *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!check_permission(visit, &list[i]))
            return false;
    return true;
}

static bool may_manage(struct visit *visit, const struct kind *kind) {
    const char *group = kind->abi.group, *plural = kind->abi.plural;
    const struct access_review needed[] = {
        {group, plural, NULL, "get", NULL, NULL},       {group, plural, NULL, "list", NULL, NULL},
        {group, plural, NULL, "watch", NULL, NULL},     {group, plural, NULL, "patch", NULL, NULL},
        {group, plural, "status", "patch", NULL, NULL},
    };
    static const struct access_review kueue[] = {{"kueue.x-k8s.io", "workloads", NULL, "list", NULL, NULL},
                                                 {"kueue.x-k8s.io", "admissionchecks", NULL, "list", NULL, NULL}};
    bool status = (kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    bool shared = kueue_shares(kind->managed_by);
    return check_all(visit, needed, sizeof(needed) / sizeof(needed[0]) - (status ? 0 : 1)) &&
           (!shared || check_all(visit, kueue, sizeof(kueue) / sizeof(kueue[0])));
}

static bool may_mirror(struct visit *visit, const struct kind *kind) {
    const char *group = kind->abi.group, *plural = kind->abi.plural;
    const struct access_review needed[] = {
        {group, plural, NULL, "get", NULL, NULL},   {group, plural, NULL, "list", NULL, NULL},
        {group, plural, NULL, "watch", NULL, NULL}, {group, plural, NULL, "create", NULL, NULL},
        {group, plural, NULL, "patch", NULL, NULL}, {group, plural, NULL, "delete", NULL, NULL},
    };
    return check_all(visit, needed, sizeof(needed) / sizeof(needed[0]));
}

// A Secret named in the configuration is required at startup.
static void may_read_seal(struct visit *visit) {
    const struct access_review secret = {
        .resource = "secrets",
        .group = "",
        .verb = "get",
        .name = seal_secret_name(visit->config),
        .namespace_ = seal_secret_namespace(visit->config, visit->connection->endpoint->namespace_)};
    if (seal_source_of(visit->config) == SEAL_FROM_SECRET)
        check_permission(visit, &secret);
}

static const char *own_namespace(const struct visit *visit) {
    const char *pods = visit->connection->endpoint->namespace_;
    if (visit->config->namespace_)
        return visit->config->namespace_;
    return !visit->config->management.kubeconfig && pods && *pods != '\0' ? pods : RIGHTS_NAMESPACE;
}

// What workers come from besides the configuration, and what operators set of them (rights.c).
static void may_read_sources(struct visit *visit) {
    const struct config_workers_from *from = &visit->config->workers_from;
    const char *own = own_namespace(visit);
    const char *profiles = from->profile_namespace && *from->profile_namespace != '\0' ? from->profile_namespace : NULL;
    const struct access_review secrets[] = {
        {"", "secrets", NULL, "get", NULL, own},
        {"", "secrets", NULL, "list", NULL, own},
        {"", "secrets", NULL, "watch", NULL, own},
        {"", "secrets", NULL, "patch", NULL, own},
    };
    const struct access_review settings[] = {
        {"", "configmaps", NULL, "get", RIGHTS_WORKERS, own},
        {"", "configmaps", NULL, "list", RIGHTS_WORKERS, own},
        {"", "configmaps", NULL, "watch", RIGHTS_WORKERS, own},
    };
    const struct access_review cluster_profiles[] = {
        {"multicluster.x-k8s.io", "clusterprofiles", NULL, "list", NULL, profiles},
        {"multicluster.x-k8s.io", "clusterprofiles", NULL, "watch", NULL, profiles},
    };
    if (!check_all(visit, settings, sizeof(settings) / sizeof(settings[0])))
        return;
    if (from->secrets && !check_all(visit, secrets, sizeof(secrets) / sizeof(secrets[0])))
        return;
    if (from->cluster_profiles)
        check_all(visit, cluster_profiles, sizeof(cluster_profiles) / sizeof(cluster_profiles[0]));
}

static void check_permissions(struct visit *visit) {
    static const struct access_review events[] = {
        {"events.k8s.io", "events", NULL, "create", NULL, NULL},
        {"events.k8s.io", "events", NULL, "patch", NULL, NULL},
    };
    static const struct access_review origin = {"", "namespaces", NULL, "get", "kube-system", NULL};
    static const struct access_review namespaces = {"", "namespaces", NULL, "create", NULL, NULL};
    for (size_t i = 0; i < visit->adapters->n_kinds; i++) {
        const struct kind *kind = visit->adapters->kinds[i];
        if (!(visit->management ? may_manage(visit, kind) : may_mirror(visit, kind)))
            return;
    }
    if (visit->management && !check_all(visit, events, sizeof(events) / sizeof(events[0])))
        return;
    if (visit->management)
        may_read_seal(visit);
    if (visit->management)
        may_read_sources(visit);
    if (visit->management && !visit->config->origin)
        check_permission(visit, &origin);
    if (!visit->management && visit->config->create_namespaces)
        check_permission(visit, &namespaces);
}

// Without the permission to read it there is nothing to compare; `run` has the same limit.
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
    for (size_t i = 0; i < visit->adapters->n_kinds; i++)
        check_served(visit, visit->adapters->kinds[i]);
    check_permissions(visit);
}

static void *run(void *arg) {
    struct visit *visit = arg;
    struct error *error = connection_open(visit->connection, NULL);
    if (!error)
        error = connection_client(visit->connection, visit->cluster->name, &visit->client);
    if (!error)
        check_cluster(visit);
    else
        add_problem(visit, error_text(error));
    error_free(error);
    client_free(visit->client);
    return NULL;
}

// What `run` would reject: the management cluster as a worker, and one cluster under two names.
static void compare_uids(struct visit *visits, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            if (!visits[i].uid || !text_equal(visits[i].uid, visits[k].uid))
                continue;
            ADD_PROBLEM(&visits[i],
                        "found the same cluster as %s (uid %s of namespace kube-system), expected another one",
                        visits[k].management ? "the management cluster" : visits[k].cluster->name, visits[i].uid);
            break;
        }
}

struct error *preflight_check(const struct config *config, const struct adapters *adapters,
                              struct connection *connections, struct problems *problems) {
    size_t count = config->n_workers + 1;
    struct visit *visits = calloc(count, sizeof(*visits));
    if (!visits)
        return error_no_memory();
    for (size_t i = 0; i < count; i++) {
        struct visit *visit = &visits[i];
        visit->config = config;
        visit->adapters = adapters;
        visit->cluster = i == 0 ? &config->management : &config->workers[i - 1];
        visit->connection = &connections[i];
        visit->server = connections[i].endpoint ? connections[i].endpoint->server : "";
        visit->management = i == 0;
        visit->started = connections[i].endpoint && pthread_create(&visit->thread, NULL, run, visit) == 0;
        if (connections[i].endpoint && !visit->started)
            add_problem(visit, "cannot be checked: no thread could be started");
    }
    for (size_t i = 0; i < count; i++)
        if (visits[i].started)
            pthread_join(visits[i].thread, NULL);
    compare_uids(visits, count);
    for (size_t i = 0; i < count; i++) {
        problems_move(problems, &visits[i].problems);
        free(visits[i].uid);
    }
    free(visits);
    return NULL;
}
