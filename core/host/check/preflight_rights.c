// SPDX-License-Identifier: Apache-2.0
// Which permissions a cluster grants.
#include "core/engine/kueue/kueue.h"
#include "core/host/check/preflight_internal.h"
#include "core/host/check/rights.h"
#include "core/host/startup/seal_source.h"

#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <string.h>

static void tell_denied(struct visit *visit, const struct access_review *permission, const struct json *review) {
    const char *reason = json_string_or(json_path(review, "status", "reason", NULL), "");
    const char *trouble = json_string_or(json_path(review, "status", "evaluationError", NULL), "");
    bool limited = visit->preflight->n_namespaces > 0 && permission->namespace_;
    const char *why = reason[0] != '\0' ? reason : trouble;
    VISIT_PROBLEM(visit, "may not %s %s%s%s%s%s%s%s%s%s%s, expected to be allowed%s%s", permission->verb,
                  permission->resource, permission->group[0] != '\0' ? "." : "", permission->group,
                  permission->subresource ? "/" : "", permission->subresource ? permission->subresource : "",
                  permission->name ? " \"" : "", permission->name ? permission->name : "", permission->name ? "\"" : "",
                  limited ? " in namespace " : "", limited ? permission->namespace_ : "", why[0] != '\0' ? ": " : "",
                  why);
}

// False: further reviews would fail too.
static bool check_permission(struct visit *visit, const struct access_review *permission) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    bool written = access_review_write(permission, &body);
    const struct request request = access_review_request(&body);
    struct error *error = !written ? error_no_memory() : ask(visit->client, &request, &response);
    if (error) {
        visit_problem(visit, error_text(error));
        error_free(error);
        return false;
    }
    const struct json *allowed = json_path(response.value, "status", "allowed", NULL);
    if (response.reason != REASON_OK || !json_is(allowed, JSON_BOOL)) {
        VISIT_PROBLEM(visit, "does not answer SelfSubjectAccessReview, so permissions cannot be checked: %s",
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

// The rights to write may apply to some namespaces only.
static bool check_work(struct visit *visit, const struct access_review *list, size_t count) {
    const struct preflight *preflight = visit->preflight;
    if (preflight->n_namespaces == 0)
        return check_all(visit, list, count);
    for (size_t n = 0; n < preflight->n_namespaces; n++)
        for (size_t i = 0; i < count; i++) {
            struct access_review within = list[i];
            within.namespace_ = preflight->namespaces[n];
            if (!check_permission(visit, &within))
                return false;
        }
    return true;
}

static bool check_watched(struct visit *visit, const struct kind *kind) {
    const char *group = kind->abi.group, *plural = kind->abi.plural;
    const struct access_review needed[] = {
        {group, plural, NULL, "get", NULL, NULL},
        {group, plural, NULL, "list", NULL, NULL},
        {group, plural, NULL, "watch", NULL, NULL},
    };
    return check_all(visit, needed, sizeof(needed) / sizeof(needed[0]));
}

static bool may_manage(struct visit *visit, const struct kind *kind) {
    const char *group = kind->abi.group, *plural = kind->abi.plural;
    const struct access_review written[] = {
        {group, plural, NULL, "patch", NULL, NULL},
        {group, plural, "status", "patch", NULL, NULL},
    };
    static const struct access_review kueue[] = {{"kueue.x-k8s.io", "workloads", NULL, "list", NULL, NULL},
                                                 {"kueue.x-k8s.io", "admissionchecks", NULL, "list", NULL, NULL}};
    bool status = (kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    bool shared = kueue_shares(kind->managed_by);
    return check_watched(visit, kind) && check_work(visit, written, status ? 2 : 1) &&
           (!shared || check_all(visit, kueue, sizeof(kueue) / sizeof(kueue[0])));
}

static bool may_mirror(struct visit *visit, const struct kind *kind) {
    const char *group = kind->abi.group, *plural = kind->abi.plural;
    const struct access_review written[] = {
        {group, plural, NULL, "create", NULL, NULL},
        {group, plural, NULL, "patch", NULL, NULL},
        {group, plural, NULL, "delete", NULL, NULL},
    };
    return check_watched(visit, kind) && check_work(visit, written, sizeof(written) / sizeof(written[0]));
}

// The host needs a Secret named in the configuration at startup.
static void may_read_seal(struct visit *visit) {
    const struct access_review secret = {
        .resource = "secrets",
        .group = "",
        .verb = "get",
        .name = seal_secret_name(visit->preflight->config),
        .namespace_ = seal_secret_namespace(visit->preflight->config, visit->connection->endpoint->namespace_)};
    if (seal_source_of(visit->preflight->config) == SEAL_FROM_SECRET)
        check_permission(visit, &secret);
}

const char *visit_own_namespace(const struct visit *visit) {
    const char *pods = visit->connection->endpoint->namespace_;
    if (visit->preflight->config->namespace_)
        return visit->preflight->config->namespace_;
    return !visit->preflight->config->management.kubeconfig_path && pods && *pods != '\0' ? pods : RIGHTS_NAMESPACE;
}

// The other sources of workers, and the ConfigMap of operators (rights.c).
static void may_read_sources(struct visit *visit) {
    const struct config_workers_from *from = &visit->preflight->config->workers_from;
    const char *own = visit_own_namespace(visit);
    const struct access_review secrets[] = {
        {"", "secrets", NULL, "list", NULL, own},
        {"", "secrets", NULL, "watch", NULL, own},
        {"", "secrets", NULL, "patch", NULL, own},
    };
    const struct access_review settings[] = {
        {"", "configmaps", NULL, "get", RIGHTS_WORKERS, own},   {"", "configmaps", NULL, "list", RIGHTS_WORKERS, own},
        {"", "configmaps", NULL, "watch", RIGHTS_WORKERS, own}, {"", "configmaps", NULL, "patch", RIGHTS_WORKERS, own},
        {"", "configmaps", NULL, "create", NULL, own},
    };
    const struct access_review cluster_profiles[] = {
        {"multicluster.x-k8s.io", "clusterprofiles", NULL, "list", NULL, from->profile_namespace},
        {"multicluster.x-k8s.io", "clusterprofiles", NULL, "watch", NULL, from->profile_namespace},
    };
    if (!check_all(visit, settings, sizeof(settings) / sizeof(settings[0])))
        return;
    if (from->secrets && !visit->secrets_refused && !check_all(visit, secrets, sizeof(secrets) / sizeof(secrets[0])))
        return;
    if (from->cluster_profiles)
        check_all(visit, cluster_profiles, sizeof(cluster_profiles) / sizeof(cluster_profiles[0]));
}

// Only with election; otherwise the log says that the host would not notice another host.
static void may_elect(struct visit *visit) {
    const struct config_election *election = &visit->preflight->config->election;
    const char *own = election->namespace_ ? election->namespace_ : visit_own_namespace(visit);
    const struct access_review leases[] = {
        {"coordination.k8s.io", "leases", NULL, "list", NULL, own},
        {"coordination.k8s.io", "leases", NULL, "create", NULL, own},
        {"coordination.k8s.io", "leases", NULL, "patch", NULL, own},
    };
    if (election->enabled)
        check_all(visit, leases, sizeof(leases) / sizeof(leases[0]));
}

// Without these rights, placement by capacity puts nothing there.
static void may_see_capacity(struct visit *visit) {
    static const struct access_review seen[] = {
        {"", "nodes", NULL, "list", NULL, NULL},
        {"", "nodes", NULL, "watch", NULL, NULL},
        {"", "pods", NULL, "list", NULL, NULL},
        {"", "pods", NULL, "watch", NULL, NULL},
    };
    const struct config *config = visit->preflight->config;
    enum choice own = CHOICE_NOT_MADE;
    for (size_t w = 0; w < config->n_workers; w++)
        if (strcmp(config->workers[w].settings.name, visit->name) == 0)
            own = config->workers[w].capacity;
    if (config_wants_capacity(config, own))
        check_all(visit, seen, sizeof(seen) / sizeof(seen[0]));
}

// The Leases of fencing.
static void may_keep_leases(struct visit *visit) {
    const char *namespace_ = visit->preflight->config->fencing_namespace;
    const struct access_review leases[] = {
        {"coordination.k8s.io", "leases", NULL, "get", NULL, namespace_},
        {"coordination.k8s.io", "leases", NULL, "create", NULL, namespace_},
        {"coordination.k8s.io", "leases", NULL, "patch", NULL, namespace_},
    };
    if (visit->preflight->config->engine.fencing.enabled)
        check_all(visit, leases, sizeof(leases) / sizeof(leases[0]));
}

void visit_check_rights(struct visit *visit) {
    static const struct access_review events[] = {
        {"events.k8s.io", "events", NULL, "create", NULL, NULL},
        {"events.k8s.io", "events", NULL, "patch", NULL, NULL},
    };
    static const struct access_review origin = {"", "namespaces", NULL, "get", "kube-system", NULL};
    static const struct access_review namespaces = {"", "namespaces", NULL, "create", NULL, NULL};
    static const struct access_review labels[] = {{"", "namespaces", NULL, "list", NULL, NULL},
                                                  {"", "namespaces", NULL, "watch", NULL, NULL}};
    for (size_t i = 0; i < visit->preflight->adapters->n_kinds; i++) {
        const struct kind *kind = visit->preflight->adapters->kinds[i];
        if (!(visit->management ? may_manage(visit, kind) : may_mirror(visit, kind)))
            return;
    }
    if (visit->management && !check_all(visit, events, sizeof(events) / sizeof(events[0])))
        return;
    if (visit->management)
        may_read_seal(visit);
    if (visit->management)
        may_read_sources(visit);
    if (visit->management)
        may_elect(visit);
    if (visit->management && !visit->preflight->config->origin)
        check_permission(visit, &origin);
    if (visit->management && config_needs_namespaces(visit->preflight->config) &&
        !check_all(visit, labels, sizeof(labels) / sizeof(labels[0])))
        return;
    if (!visit->management && visit->preflight->config->engine.create_namespaces)
        check_permission(visit, &namespaces);
    if (!visit->management)
        may_see_capacity(visit);
    if (!visit->management)
        may_keep_leases(visit);
}
