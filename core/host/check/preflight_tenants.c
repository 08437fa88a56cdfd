// SPDX-License-Identifier: Apache-2.0
// Tenancy: which namespaces of the workers consent, and whether the host may act as their tenants.
#include "core/base/namespace_map.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/check/preflight_internal.h"
#include "core/host/check/rights.h"
#include "core/kube/client/ask.h"

#define NAMES_MAX ((size_t)64 << 10)

struct tenancy_check {
    struct visit *visit;     // of the worker
    const struct json *here; // namespaces of the management cluster
    const struct rights *rights;
    const char *tenant; // the present one
    bool refused;       // the host may not act as this tenant
    struct buffer consenting;
};

// NULL: a problem was added.
static const struct json *list_namespaces(struct visit *visit) {
    const struct json *namespaces = NULL;
    AUTO_ERROR error = visit_namespaces(visit, &namespaces);
    if (error)
        visit_problem(visit, "cannot list namespaces, so their consent is not checked: %s", error_text(error));
    return namespaces;
}

static const struct json *find_namespace(const struct json *list, const char *name) {
    for (const struct json *item = json_first(list); item; item = json_next(item))
        if (strcmp(object_name(item), name) == 0)
            return item;
    return NULL;
}

// A right of the tenant, asked as the tenant.
static struct error *check_permission(void *ctx, const struct access_review *question) {
    struct tenancy_check *check = ctx;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    const struct json *allowed = NULL;
    AUTO_TEXT text = access_review_text(question);
    if (check->refused)
        return NULL;
    TRY(visit_review(check->visit, check->tenant, question, &response, &allowed));
    check->refused = !allowed;
    if (check->refused)
        visit_problem(check->visit,
                      "may not act as user " TENANT_USER_PREFIX
                      "%s, expected the rights of wharf rbac --for worker: %s",
                      check->tenant, response.message);
    else if (!json_bool(allowed, false))
        visit_problem(check->visit, "user " TENANT_USER_PREFIX "%s may not %s, expected to be allowed", check->tenant,
                      text ? text : question->verb);
    return NULL;
}

static struct error *check_rights(struct tenancy_check *check, const char *tenant, const char *there) {
    struct error *error = NULL;
    check->tenant = tenant;
    check->refused = false;
    for (size_t i = 0; i < check->rights->count && !error; i++)
        if (check->rights->list[i].scope == RIGHT_TENANT)
            error = right_each(&check->rights->list[i], there, check_permission, check);
    check->tenant = NULL;
    return error;
}

// A namespace of the worker with the annotation.
static struct error *check_consent(struct tenancy_check *check, const char *there, const char *consent) {
    char tenant[NAMESPACE_SIZE];
    struct visit *visit = check->visit;
    const char *origin = visit->origin ? visit->origin : "";
    bool mapped = namespace_here(visit->spec->settings.namespace_map, origin, there, tenant);
    const struct json *here = mapped ? find_namespace(check->here, tenant) : NULL;
    if (!here || !text_list_has(consent, object_uid(here))) {
        visit_warn(visit, "namespace %s consents to uid %.100s, found %s%s%s in the management cluster", there, consent,
                   here ? "namespace " : "no such namespace", here ? tenant : "", here ? " with another uid" : "");
        return NULL;
    }
    buffer_printf(&check->consenting, "%s%s", check->consenting.len > 0 ? ", " : "", tenant);
    return check_rights(check, tenant, there);
}

// --namespaced limits the check.
static bool is_checked(const struct preflight *preflight, const char *there) {
    for (size_t i = 0; i < preflight->n_namespaces; i++)
        if (strcmp(preflight->namespaces[i], there) == 0)
            return true;
    return preflight->n_namespaces == 0;
}

static void check_worker(struct tenancy_check *check) {
    struct visit *visit = check->visit;
    const struct json *list = list_namespaces(visit);
    check->consenting = (struct buffer){.max = NAMES_MAX};
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        const char *consent = object_annotation(item, MARK_TENANT);
        if (consent && *consent && is_checked(visit->preflight, object_name(item)) &&
            visit_error(visit, check_consent(check, object_name(item), consent)))
            break;
    }
    if (list && check->consenting.len > 0)
        problems_add(&visit->preflight->notes, "%s: consent of %s", visit->name, check->consenting.data);
    else if (list)
        visit_warn(visit, "no namespace consents (annotation " MARK_TENANT "): nothing is placed there");
    buffer_free(&check->consenting);
    json_free(TAKE(visit->namespaces)); // no other check needs a worker's
}

static bool open_client(struct visit *visit) {
    return visit->started && visit->problems.count == 0 && visit_open(visit);
}

// An API server takes one user from a request.
static void check_kubeconfig(struct visit *visit) {
    if (visit->connection->endpoint && visit->connection->endpoint->impersonation)
        visit_problem(visit, "its kubeconfig impersonates a user, expected none with tenancy: the host acts as the "
                             "tenants there");
}

void visits_check_tenants(struct preflight *preflight, struct visit *visits, size_t count) {
    const struct config *config = preflight->config;
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    struct rights_wanted wanted = rights_wanted_of(config, preflight->adapters);
    wanted.checked = true;
    if (!config->engine.tenancy.impersonate)
        return;
    for (size_t i = 1; i < count; i++)
        check_kubeconfig(&visits[i]);
    if (visit_error(visits, rights_make(RIGHTS_OF_WORKER, &wanted, &rights)) || !open_client(visits))
        return;
    const struct json *here = list_namespaces(visits);
    visit_close(visits);
    for (size_t i = 1; here && i < count; i++) {
        struct tenancy_check check = {.visit = &visits[i], .here = here, .rights = &rights};
        if (!open_client(&visits[i]))
            continue;
        check_worker(&check);
        visit_close(&visits[i]);
    }
}
