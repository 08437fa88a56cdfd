// SPDX-License-Identifier: Apache-2.0
// The host's finalizer on mirrors (mirrorFinalizer: true): a deleted mirror stays until its final status is written.
// docs/lifecycle.md has the guarantees with and without it.
#include "core/engine/mirror/finalizer.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/carry.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

static bool is_ours(const struct json *item) {
    return text_equal(json_string(item), MARK_FINALIZER);
}

bool finalizer_is_on(const struct json *mirror) {
    for (const struct json *f = json_first(json_path(mirror, "metadata", "finalizers", NULL)); f; f = json_next(f))
        if (is_ours(f))
            return true;
    return false;
}

bool finalizer_put(struct json *mirror) {
    struct json *metadata = carry_member(mirror, "metadata"), *list = json_new_array();
    return metadata && list && json_append(list, json_new_string(MARK_FINALIZER)) &&
           json_set(metadata, "finalizers", list);
}

// The list without the host's finalizer. A merge patch replaces arrays whole, so resourceVersion is a precondition.
struct json *finalizer_patch_off(const struct json *mirror) {
    AUTO_JSON patch = json_new_object();
    AUTO_JSON list = json_new_array();
    struct json *metadata = patch ? carry_member(patch, "metadata") : NULL;
    bool ok = metadata && list;
    for (const struct json *f = json_first(json_path(mirror, "metadata", "finalizers", NULL)); f && ok;
         f = json_next(f))
        ok = is_ours(f) || json_append(list, json_copy(f));
    ok = ok && json_set(metadata, "uid", json_new_string(object_uid(mirror))) &&
         json_set(metadata, "resourceVersion", json_new_string(object_version(mirror)));
    if (!ok)
        return NULL;
    struct json *left = json_size(list) > 0 ? list : json_new_null();
    if (left == list)
        list = NULL;
    if (!json_set(metadata, "finalizers", left))
        return NULL;
    return TAKE(patch);
}
