// SPDX-License-Identifier: Apache-2.0
// Whether a cluster serves the resources of `dependencies`.
#include "core/adapter/references.h"
#include "core/config/dependencies.h"
#include "core/host/check/preflight_internal.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

// False: the API group has no such resource in this version.
static bool serves(struct visit *visit, const char *group, const char *version, const char *plural) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = api_resources_path(group, version);
    if (visit_read(visit, path, false, &response))
        return api_resources_find(response.value, plural);
    return response.reason != REASON_NOT_FOUND && response.reason != REASON_KIND_NOT_FOUND;
}

static void check_resource(struct visit *visit, const char *resource) {
    const struct adapters *adapters = visit->preflight->adapters;
    struct reference_resource known;
    if (!reference_resource_find(adapters->kinds, adapters->n_kinds, resource, &known))
        return; // see dependencies_check
    known.resource[strcspn(known.resource, ".")] = '\0';
    if (!serves(visit, reference_group(resource), known.version, known.resource))
        visit_warn(visit, "does not serve %s/%s of dependencies: workloads that refer to such objects %s", resource,
                   known.version, visit->management ? "wait" : "are not placed there");
}

void visit_check_dependencies(struct visit *visit) {
    AUTO_WORDS resources = dependency_resources(&visit->preflight->config->engine.dependencies, true);
    for (char **resource = resources; resource && *resource; resource++)
        check_resource(visit, *resource);
}
