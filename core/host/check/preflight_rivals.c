// SPDX-License-Identifier: Apache-2.0
// Whether a controller in the management cluster writes the status of delegated objects.
#include "core/host/check/preflight_internal.h"

#include "core/engine/status/writer.h"
#include "core/json/pointer.h"
#include "core/kube/client/ask.h"

#include <string.h>

#define LOOKED_AT "200" // objects of a kind

static bool is_delegated(const struct kind *kind, const struct json *object) {
    return text_equal(json_string(pointer_find(object, kind->abi.managed_by)), kind->managed_by);
}

void visit_check_rivals(struct visit *visit, const struct kind *kind, const char *version) {
    const wharf_kind *abi = &kind->abi;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT path =
        text_format("/%s%s/%s/%s?limit=" LOOKED_AT, *abi->group ? "apis/" : "api", abi->group, version, abi->plural);
    struct error *error = path ? ask_raw(visit->client, path, &response) : error_no_memory();
    bool listed = !error && response.reason == REASON_OK;
    error_free(error); // without a right to list, check_rights reports the problem
    for (const struct json *item = listed ? json_first(json_get(response.value, "items")) : NULL; item;
         item = json_next(item)) {
        struct writers writers = writer_read(item, true, !(abi->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE));
        if (kind->hybrid || !is_delegated(kind, item) || !writers.other ||
            strcmp(writers.other_at, writers.recorded_at) < 0)
            continue;
        problems_add(&visit->warnings,
                     "%s (%s): %s wrote the status of %s %s/%s although it is delegated: a controller here seems to "
                     "run it too; stop it for delegated objects (docs/kinds.md)",
                     visit->name, visit->server, writers.other, kind->plural_group, object_namespace(item),
                     object_name(item));
        return;
    }
}
