// SPDX-License-Identifier: Apache-2.0
// Which permissions a cluster grants.
#include "core/host/check/preflight_internal.h"
#include "core/host/check/rights.h"
#include "core/host/startup/seal_source.h"
#include "core/kube/client/ask.h"

static void report_denied(struct visit *visit, const struct access_review *permission, const struct json *review) {
    const char *reason = json_string_or(json_path(review, "status", "reason", NULL), "");
    const char *trouble = json_string_or(json_path(review, "status", "evaluationError", NULL), "");
    bool limited = visit->preflight->n_namespaces > 0 && permission->namespace_;
    const char *why = reason[0] != '\0' ? reason : trouble;
    visit_problem(visit, "may not %s %s%s%s%s%s%s%s%s%s%s, expected to be allowed%s%s", permission->verb,
                  permission->resource, permission->group[0] != '\0' ? "." : "", permission->group,
                  permission->subresource ? "/" : "", permission->subresource ? permission->subresource : "",
                  permission->name ? " \"" : "", permission->name ? permission->name : "", permission->name ? "\"" : "",
                  limited ? " in namespace " : "", limited ? permission->namespace_ : "", why[0] != '\0' ? ": " : "",
                  why);
}

// An error: further reviews would fail too.
static struct error *check_permission(void *ctx, const struct access_review *permission) {
    struct visit *visit = ctx;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    if (!access_review_write(permission, &body))
        return error_no_memory();
    const struct request request = access_review_request(&body);
    TRY(ask(visit->client, &request, &response));
    const struct json *allowed = json_path(response.value, "status", "allowed", NULL);
    if (response.reason != REASON_OK || !json_is(allowed, JSON_BOOL))
        return error_new(ERROR_IO, "does not answer SelfSubjectAccessReview, so permissions cannot be checked: %s",
                         response.message);
    if (!json_bool(allowed, false))
        report_denied(visit, permission, response.value);
    return NULL;
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
    if (right->scope != RIGHT_WORK || preflight->n_namespaces == 0)
        return right_each(right, namespace_of(visit, right), check_permission, visit);
    for (size_t n = 0; n < preflight->n_namespaces; n++)
        TRY(right_each(right, preflight->namespaces[n], check_permission, visit));
    return NULL;
}

void visit_check_rights(struct visit *visit) {
    const struct config *config = visit->preflight->config;
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    struct rights_wanted wanted = {
        .checked = true,
        .kinds = (const struct kind *const *)visit->preflight->adapters->kinds,
        .n_kinds = visit->preflight->adapters->n_kinds,
        .seal = seal_source_of(config) == SEAL_FROM_SECRET, // the host needs such a Secret at startup
        .seal_name = seal_secret_name(config),
        .worker_secrets = config->workers_from.secrets && !visit->secrets_refused,
        .cluster_profiles = config->workers_from.cluster_profiles,
        .namespace_labels = config_needs_namespaces(config),
        .election = config->election.enabled, // else the host only logs that it cannot notice another host
        .origin = visit->management && !config->origin,
        .features = rights_features_of(config),
    };
    wanted.features.capacity = config_wants_capacity(config, visit->spec->capacity);
    struct error *error = rights_make(visit->management ? RIGHTS_OF_MANAGEMENT : RIGHTS_OF_WORKER, &wanted, &rights);
    for (size_t i = 0; i < rights.count && !error; i++)
        error = check_right(visit, &rights.list[i]);
    (void)visit_error(visit, error);
}
