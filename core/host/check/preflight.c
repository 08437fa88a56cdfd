// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/status/status.h"
#include "core/host/check/preflight_internal.h"
#include "core/host/check/rights.h"
#include "core/host/startup/seal_source.h"
#include "core/json/pointer.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"
#include "core/kube/object/span.h"

static void add_sentence(const struct visit *visit, struct problems *to, const char *format, va_list args) {
    AUTO_TEXT sentence = text_vformat(format, args);
    problems_add(to, "%s (%s): %s", visit->name, visit->server, sentence ? sentence : "out of memory");
}

void visit_problem(struct visit *visit, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_sentence(visit, &visit->problems, format, args);
    va_end(args);
}

void visit_warn(struct visit *visit, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_sentence(visit, &visit->warnings, format, args);
    va_end(args);
}

bool visit_error(struct visit *visit, struct error *error) {
    bool failed = error;
    if (failed)
        visit_problem(visit, "%s", error_text(error));
    error_free(error);
    return failed;
}

bool visit_open(struct visit *visit) {
    return !visit_error(visit, connection_client(visit->connection, visit->name, &visit->client));
}

void visit_close(struct visit *visit) {
    client_free(TAKE(visit->client));
}

bool visit_read(struct visit *visit, const char *path, bool metadata, struct response *response) {
    const struct request request = {.verb = VERB_RAW_GET, .namespace_ = "", .name = path, .metadata = metadata};
    AUTO_ERROR error = path ? ask(visit->client, &request, response) : error_no_memory();
    return !error && response->reason == REASON_OK;
}

const struct json *visit_list(struct visit *visit, const wharf_kind *abi, const char *version, const char *query,
                              bool metadata, struct response *response) {
    AUTO_TEXT path =
        text_format("/%s%s/%s/%s?%s", *abi->group ? "apis/" : "api", abi->group, version, abi->plural, query);
    return visit_read(visit, path, metadata, response) ? json_first(json_get(response->value, "items")) : NULL;
}

struct error *visit_review(struct visit *visit, const char *tenant, const struct access_review *question,
                           struct response *response, const struct json **allowed) {
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    if (!access_review_write(question, &body))
        return error_no_memory();
    struct request request = access_review_request(&body);
    request.tenant = tenant;
    TRY(ask(visit->client, &request, response));
    *allowed = json_path(response->value, "status", "allowed", NULL);
    if (response->reason != REASON_OK || !json_is(*allowed, JSON_BOOL))
        *allowed = NULL;
    return NULL;
}

static struct error *keep_namespace(void *ctx, const struct json *object) {
    return json_append(ctx, json_copy(object)) ? NULL : error_no_memory();
}

static struct error *read_namespaces(struct visit *visit) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_JSON all = json_new_array();
    if (!all)
        return error_no_memory();
    TRY(ask_list(visit->client, "/api/v1/namespaces?limit=500", true, keep_namespace, all, &response));
    if (response.reason != REASON_OK)
        return error_new(ERROR_IO, "%s", response.message);
    visit->namespaces = TAKE(all);
    return NULL;
}

struct error *visit_namespaces(struct visit *visit, const struct json **out) {
    if (!visit->namespaces)
        TRY(read_namespaces(visit));
    *out = visit->namespaces;
    return NULL;
}

// Whether the management cluster's API of each kind has the field that delegates ------------------------------------

// Kubernetes 1.30 and 1.31 have the field in their API even if the feature gate, off by default, drops the field.
static bool is_gated(const struct visit *visit, const wharf_kind *abi) {
    bool job = strcmp(abi->group, "batch") == 0 && strcmp(abi->plural, "jobs") == 0;
    return job && visit->git_version &&
           (text_has_prefix(visit->git_version, "v1.30.") || text_has_prefix(visit->git_version, "v1.31."));
}

static void check_field(struct visit *visit, const struct kind *kind, const char *version) {
    const wharf_kind *abi = &kind->abi;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = schema_path(abi->group, version);
    size_t len = 0;
    AUTO_TEXT text = visit_read(visit, path, false, &response) ? json_text(response.value, &len) : NULL;
    if (!text)
        return;
    struct schema_kind wanted = {abi->group, version, abi->kind};
    enum schema_answer answer = schema_find(text, len, &wanted, abi->managed_by);
    if (answer == SCHEMA_LACKS)
        visit_problem(
            visit,
            "its API of %s/%s has no field %s: the server drops the field, so such objects run in the management "
            "cluster itself; expected a later version (docs/kinds.md)",
            kind->plural_group, version, abi->managed_by);
    else if (kind->doubted_until && *kind->doubted_until && kind->hybrid != HYBRID_ALLOW &&
             schema_find(text, len, &wanted, kind->doubted_until) == SCHEMA_LACKS)
        visit_warn(visit,
                   "its API of %s/%s is of a version whose controller runs delegated objects, too: have no such "
                   "controller here, or upgrade the API and the controller (docs/kinds.md)",
                   kind->plural_group, version);
    else if (answer == SCHEMA_HAS && is_gated(visit, abi))
        visit_warn(visit,
                   "Kubernetes %s drops %s of Jobs unless its feature gate JobManagedBy is on, which is off by "
                   "default and cannot be seen from here",
                   visit->git_version, abi->managed_by);
}

// Whether a controller in the management cluster writes the status of delegated objects -----------------------------

#define LOOKED_AT "limit=200" // objects of a kind

static void check_rivals(struct visit *visit, const struct kind *kind, const char *version) {
    const wharf_kind *abi = &kind->abi;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    // Without a right to list, visit_check_rights reports the problem.
    for (const struct json *item = visit_list(visit, abi, version, LOOKED_AT, false, &response); item;
         item = json_next(item)) {
        struct writers writers = writer_read(item, true, !(abi->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE));
        bool delegated = text_equal(json_string(pointer_find(item, abi->managed_by)), kind->managed_by);
        if (kind->hybrid == HYBRID_ALLOW || !delegated || !writers.other ||
            strcmp(writers.other_at, writers.recorded_at) < 0)
            continue;
        visit_warn(visit,
                   "%s wrote the status of %s %s/%s although it is delegated: a controller here seems to run it too; "
                   "stop it for delegated objects (docs/kinds.md)",
                   writers.other, kind->plural_group, object_namespace(item), object_name(item));
        return;
    }
}

// Which permissions a cluster grants ----------------------------------------------------------------------------------

// Verbs that a cluster denies for one resource.
struct denied {
    char *resource, *verbs, *why; // " secrets in namespace a", "list, watch", "" without a reason
    const char *without;          // see struct right
};

static bool add_verb(struct denied *denied, const char *verb) {
    char *verbs = text_format("%s%s%s", denied->verbs ? denied->verbs : "", denied->verbs ? ", " : "", verb);
    free(denied->verbs);
    denied->verbs = verbs;
    return verbs;
}

static struct error *add_denied(struct visit *visit, const struct access_review *permission,
                                const struct json *review) {
    const char *reason = json_string_or(json_path(review, "status", "reason", NULL), "");
    const char *why = *reason ? reason : json_string_or(json_path(review, "status", "evaluationError", NULL), "");
    struct access_review shown = *permission;
    shown.verb = "";
    if (visit->preflight->n_namespaces == 0)
        shown.namespace_ = NULL;
    AUTO_TEXT resource = access_review_text(&shown);
    if (!resource)
        return error_no_memory();
    size_t i = 0;
    while (i < visit->n_denied &&
           (strcmp(visit->denied[i].resource, resource) != 0 || strcmp(visit->denied[i].why, why) != 0 ||
            visit->denied[i].without != visit->without))
        i++;
    if (i == visit->n_denied) {
        struct denied *added = array_next(&visit->denied, visit->n_denied, sizeof *added);
        char *copy = added ? strdup(why) : NULL;
        if (!copy)
            return error_no_memory();
        *added = (struct denied){.resource = TAKE(resource), .why = copy, .without = visit->without};
        visit->n_denied++;
    }
    return add_verb(&visit->denied[i], permission->verb) ? NULL : error_no_memory();
}

// The command that grants the rights.
static const char *granted_by(const struct visit *visit) {
    if (visit->management || visit->spec->settings.is_self)
        return "wharf rbac --for management";
    return visit->connection == &visit->own ? "wharf join (again) or wharf rbac --for worker"
                                            : "wharf rbac --for worker";
}

static void report_denied(struct visit *visit) {
    const char *warned = NULL;
    for (size_t i = 0; i < visit->n_denied; i++) {
        struct denied *denied = &visit->denied[i];
        const char *verbs = denied->verbs ? denied->verbs : "";
        if (!denied->without)
            visit_problem(visit, "may not %s%s, expected the rights of %s%s%s", verbs, denied->resource,
                          granted_by(visit), *denied->why ? ": " : "", denied->why);
        else if (denied->without != warned) // once for all resources
            visit_warn(visit, "may not %s%s: %s", verbs, denied->resource, denied->without);
        warned = denied->without ? denied->without : warned;
        free(denied->resource);
        free(denied->verbs);
        free(denied->why);
    }
    free(TAKE(visit->denied));
    visit->n_denied = 0;
}

// An error: further reviews would fail too.
static struct error *check_permission(void *ctx, const struct access_review *permission) {
    struct visit *visit = ctx;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    const struct json *allowed = NULL;
    TRY(visit_review(visit, NULL, permission, &response, &allowed));
    if (!allowed)
        return error_new(ERROR_IO, "does not answer SelfSubjectAccessReview, so permissions cannot be checked: %s",
                         response.message);
    return json_bool(allowed, false) ? NULL : add_denied(visit, permission, response.value);
}

// NULL: the whole cluster.
static const char *namespace_of(const struct visit *visit, const struct right *right) {
    const struct config *config = visit->preflight->config;
    bool leases = strcmp(right->resources, "leases") == 0;
    if (strcmp(right->resources, "clusterprofiles") == 0)
        return config->workers_from.profile_namespace;
    if (right->scope == RIGHT_SEAL)
        return seal_secret_namespace(config, visit->connection->endpoint->namespace_);
    if (right->scope != RIGHT_OWN)
        return NULL;
    if (!visit->management) // the Leases of fencing
        return config->fencing_namespace;
    return leases && config->election.namespace_ ? config->election.namespace_
                                                 : host_own_namespace(config, visit->connection);
}

// The rights to write may be limited to some namespaces.
static struct error *check_right(struct visit *visit, const struct right *right) {
    const struct preflight *preflight = visit->preflight;
    if (right->scope == RIGHT_TENANT) // see visits_check_tenants
        return NULL;
    visit->without = right->without;
    if (right->scope != RIGHT_WORK || preflight->n_namespaces == 0)
        return right_each(right, namespace_of(visit, right), check_permission, visit);
    for (size_t n = 0; n < preflight->n_namespaces; n++) {
        char there[NAMESPACE_SIZE];
        if (visit_namespace(visit, preflight->namespaces[n], there))
            TRY(right_each(right, there, check_permission, visit));
    }
    return NULL;
}

void visit_check_rights(struct visit *visit) {
    const struct config *config = visit->preflight->config;
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    struct rights_wanted wanted = rights_wanted_of(config, visit->preflight->adapters);
    wanted.checked = true;
    wanted.seal = seal_source_of(config) == SEAL_FROM_SECRET; // the host needs such a Secret at startup
    wanted.worker_secrets &= !visit->secrets_refused;
    wanted.election = config->election.enabled; // else the host only logs that it cannot notice another host
    wanted.origin = visit->management && !config->origin;
    wanted.features.capacity = config_wants_capacity(config, visit->spec->capacity);
    struct error *error = rights_make(visit->management ? RIGHTS_OF_MANAGEMENT : RIGHTS_OF_WORKER, &wanted, &rights);
    for (size_t i = 0; i < rights.count && !error; i++)
        error = check_right(visit, &rights.list[i]);
    report_denied(visit);
    (void)visit_error(visit, error);
}

// Clusters -----------------------------------------------------------------------------------------------------------

// 401 and 403 still show that the server answers.
static bool answers(struct visit *visit) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    if (visit_error(visit, ask_raw(visit->client, "/version", &response)))
        return false;
    if (response.reason == REASON_FORBIDDEN)
        return true;
    const char *version = json_string(json_get(response.value, "gitVersion"));
    visit->git_version = version ? strdup(version) : NULL;
    if (response.reason == REASON_OK && version)
        return true;
    if (response.reason == REASON_OK)
        visit_problem(visit, "found an answer to GET /version without gitVersion, expected a Kubernetes API server");
    else if (response.reason == REASON_UNAUTHORIZED)
        visit_problem(visit, "does not accept the credentials: %s", response.message);
    else
        visit_problem(visit, "GET /version: %s", response.message);
    return false;
}

// Checks a kind's entry in an APIResourceList.
static void check_resource(struct visit *visit, const struct kind *kind, const char *version,
                           const struct json *document, const struct json *resource) {
    static const char *const verbs[] = {"get", "list", "watch", "create", "patch", "delete"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (!api_resource_has_verb(resource, verbs[i]))
            visit_problem(visit, "serves %s/%s without the verb %s, which wharf needs", kind->plural_group, version,
                          verbs[i]);
    AUTO_TEXT status = text_format("%s/status", kind->abi.plural);
    bool wanted = visit->management && (kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    if (status && wanted && !api_resources_find(document, status))
        visit_problem(visit, "serves %s/%s without its status subresource, which adapter %s expects",
                      kind->plural_group, version, kind->adapter->name);
}

enum served { SERVED_NO, SERVED_YES, SERVED_UNKNOWN };

static enum served serves_version(struct visit *visit, const struct kind *kind, const char *version) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = api_resources_path(kind->abi.group, version);
    if (visit_error(visit, !path ? error_no_memory() : ask_raw(visit->client, path, &response)))
        return SERVED_UNKNOWN;
    if (response.reason == REASON_NOT_FOUND || response.reason == REASON_KIND_NOT_FOUND)
        return SERVED_NO;
    if (response.reason != REASON_OK) {
        visit_problem(visit, "GET %s: %s", path, response.message);
        return SERVED_UNKNOWN;
    }
    const struct json *resource = api_resources_find(response.value, kind->abi.plural);
    if (!resource)
        return SERVED_NO;
    check_resource(visit, kind, version, response.value, resource);
    if (visit->management) {
        check_field(visit, kind, version);
        check_rivals(visit, kind, version);
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
    visit_problem(visit, "does not serve %s, expected one of the versions that adapter %s knows: %s",
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
    visit_check_dependencies(visit);
    if (visit->management || !visit->spec->settings.namespace_map) // see visits_check_namespaces
        visit_check_rights(visit);
}

static void *run_visit(void *arg) {
    struct visit *visit = arg;
    if (!visit_error(visit, connection_open(visit->connection, NULL)) && visit_open(visit))
        check_cluster(visit);
    visit_close(visit);
    return NULL;
}

// `run` would reject these: the management cluster as a worker, and one cluster under two names.
static void compare_uids(struct visit *visits, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            bool expected = visits[k].management && visits[i].spec->settings.is_self;
            if (!visits[i].uid || !text_equal(visits[i].uid, visits[k].uid) || expected)
                continue;
            visit_problem(&visits[i],
                          "found the same cluster as %s (uid %s of namespace kube-system), expected another one",
                          visits[k].management ? "the management cluster" : visits[k].name, visits[i].uid);
            break;
        }
}

// The default is the management cluster's uid.
static void set_origin(const struct config *config, struct visit *visits, size_t count) {
    for (size_t i = 0; i < count; i++)
        visits[i].origin = config->origin ? config->origin : visits[0].uid;
}

void visit_init(struct visit *visit, struct preflight *preflight, const struct worker_spec *spec,
                struct cluster_connection *connection) {
    visit->preflight = preflight;
    visit->spec = spec;
    visit->name = spec->settings.name;
    visit->management = spec == &preflight->config->management;
    visit->connection = connection;
    visit->server = connection->endpoint ? connection->endpoint->server : "";
}

// Checks clusters side by side, each with an initialized visit.
static void run_visits(struct visit *visits, size_t count) {
    for (struct visit *visit = visits; visit < visits + count; visit++) {
        bool usable = visit->connection->endpoint;
        visit->started = usable && thread_start("check", 0, run_visit, visit, &visit->thread) == 0;
        if (usable && !visit->started)
            visit_problem(visit, "cannot be checked: no thread could be started");
    }
    for (size_t i = 0; i < count; i++)
        if (visits[i].started)
            pthread_join(visits[i].thread, NULL);
}

// `run` would refuse a cluster other than the one that joined.
static void compare_joined(struct visit *visit) {
    const struct worker_spec *spec = visit->spec;
    if (spec->settings.uid && visit->uid && strcmp(spec->settings.uid, visit->uid) != 0)
        visit_problem(
            visit, "found uid %s of namespace kube-system, expected %s as in annotation " IDENTITY_ANNOTATION " of %s",
            visit->uid, spec->settings.uid, spec->origin_text);
}

// The workers of other sources than the configuration.
static void check_others(struct preflight *preflight, const struct worker_spec *specs, size_t count,
                         struct visit *visits) {
    for (size_t i = 0; i < count; i++) {
        struct error *error =
            connection_load(&visits[i].own, &specs[i], &preflight->config->credential_plugins, clock_now().wall_ns);
        problems_add_error(&visits[i].problems, error_wrap(error, "%s", specs[i].origin_text));
        visit_init(&visits[i], preflight, &specs[i], &visits[i].own);
    }
    run_visits(visits, count);
    for (size_t i = 0; i < count; i++)
        compare_joined(&visits[i]);
}

static void end_visits(struct preflight *preflight, struct visit *visits, size_t count, struct problems *problems) {
    for (size_t i = 0; i < count; i++) {
        problems_move(problems, &visits[i].problems);
        problems_move(&preflight->warnings, &visits[i].warnings);
        free(visits[i].uid);
        free(visits[i].git_version);
        json_free(visits[i].namespaces);
        connection_close(&visits[i].own);
    }
    free(visits);
}

struct error *preflight_check(struct preflight *preflight, struct problems *problems) {
    const struct config *config = preflight->config;
    size_t first = config->n_workers + 1, count = first;
    struct visit *visits = calloc(first, sizeof *visits);
    if (!visits)
        return error_no_memory();
    for (size_t i = 0; i < first; i++)
        visit_init(&visits[i], preflight, i > 0 ? &config->workers[i - 1] : &config->management,
                   &preflight->connections[i]);
    run_visits(visits, first);
    struct worker_spec *specs = NULL; // the configuration's first
    size_t n_specs = 0;
    struct error *error = preflight_merge(preflight, problems, &specs, &n_specs);
    struct visit *grown = error ? NULL : realloc(visits, (n_specs + 1) * sizeof *visits);
    if (grown) {
        visits = grown;
        count = n_specs + 1;
        memset(visits + first, 0, (count - first) * sizeof *visits);
        check_others(preflight, specs + config->n_workers, count - first, visits + first);
        compare_uids(visits, count);
        set_origin(config, visits, count);
        visits_check_namespaces(visits, count);
        visits_check_tenants(preflight, visits, count);
        preflight->n_workers = n_specs;
    } else if (!error) {
        error = error_no_memory();
    }
    end_visits(preflight, visits, count, problems);
    worker_specs_free(specs, n_specs);
    return error;
}
