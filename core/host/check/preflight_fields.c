// SPDX-License-Identifier: Apache-2.0
// Whether the management cluster's API of each kind has the field that delegates.
#include "core/host/check/preflight_internal.h"

#include "core/kube/client/ask.h"
#include "core/kube/object/schema.h"

#include <stdlib.h>
#include <string.h>

// Kubernetes 1.30 and 1.31 have the field in their API even if the feature gate, off by default, drops the field.
static bool is_gated(const struct visit *visit, const wharf_kind *abi) {
    bool job = strcmp(abi->group, "batch") == 0 && strcmp(abi->plural, "jobs") == 0;
    return job && visit->git_version &&
           (text_has_prefix(visit->git_version, "v1.30.") || text_has_prefix(visit->git_version, "v1.31."));
}

void visit_check_field(struct visit *visit, const struct kind *kind, const char *version) {
    const wharf_kind *abi = &kind->abi;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path = schema_path(abi->group, version);
    struct error *error = path ? ask_raw(visit->client, path, &response) : error_no_memory();
    size_t len = 0;
    AUTO_TEXT text = !error && response.reason == REASON_OK ? json_text(response.value, &len) : NULL;
    error_free(error); // an unreadable document proves nothing
    if (!text)
        return;
    struct schema_kind wanted = {abi->group, version, abi->kind};
    enum schema_answer answer = schema_find(text, len, &wanted, abi->managed_by);
    if (answer == SCHEMA_LACKS)
        VISIT_PROBLEM(
            visit,
            "its API of %s/%s has no field %s: the server drops the field, so such objects run in the management "
            "cluster itself; expected a later version (docs/kinds.md)",
            kind->plural_group, version, abi->managed_by);
    else if (answer == SCHEMA_HAS && is_gated(visit, abi))
        problems_add(
            &visit->warnings,
            "%s (%s): Kubernetes %s drops %s of Jobs unless its feature gate JobManagedBy is on, which is off by "
            "default and cannot be seen from here",
            visit->name, visit->server, visit->git_version, abi->managed_by);
}
