// SPDX-License-Identifier: Apache-2.0
// Whether a cluster serves the resources of `dependencies`.
#include "core/adapter/references.h"
#include "core/config/dependencies.h"
#include "core/host/check/preflight_internal.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

// False: the API group has no such resource in this version. An unreadable answer proves nothing.
static bool serves(struct visit *visit, const char *group, const char *version, const char *plural) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = api_resources_path(group, version);
    AUTO_ERROR error = path ? ask_raw(visit->client, path, &response) : error_no_memory();
    if (error)
        return true;
    if (response.reason == REASON_NOT_FOUND || response.reason == REASON_KIND_NOT_FOUND)
        return false;
    return response.reason != REASON_OK || api_resources_find(response.value, plural);
}

static void check_resource(struct visit *visit, const char *resource) {
    const struct adapters *adapters = visit->preflight->adapters;
    struct reference_resource known;
    if (!reference_resource_find(adapters->kinds, adapters->n_kinds, resource, &known))
        return; // see dependencies_check
    char *dot = strchr(known.resource, '.');
    if (dot)
        *dot = '\0';
    if (!serves(visit, dot ? dot + 1 : "", known.version, known.resource))
        problems_add(&visit->warnings, "%s (%s): does not serve %s/%s of dependencies: %s", visit->name, visit->server,
                     resource, known.version,
                     visit->management ? "workloads that refer to such objects wait"
                                       : "workloads that refer to such objects are not placed there");
}

void visit_check_dependencies(struct visit *visit) {
    const struct dependency_options *options = &visit->preflight->config->engine.dependencies;
    const char *lists[] = {options->copy, options->check}, *at;
    size_t len = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        while (text_next_word(&lists[i], ',', &at, &len)) {
            AUTO_TEXT resource = strndup(at, len);
            if (resource)
                check_resource(visit, resource);
        }
}
