// SPDX-License-Identifier: Apache-2.0
// The finalizer of ours on mirrors (mirrorFinalizer: true): a mirror stays, whoever deletes it, until its final status
// was written; then it is taken off. docs/lifecycle.md says what is promised with it and without it.
#include "core/engine/finalizer.h"

#include "core/engine/carry.h"
#include "core/engine/engine_internal.h"

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

// The list without ours, under the version that it was read from: a merge patch replaces it whole.
static struct json *patch_without(const struct json *mirror) {
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
    struct json *result = patch;
    patch = NULL;
    return result;
}

void finalizer_take_off(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    AUTO_JSON patch = object ? patch_without(object) : NULL;
    size_t len = 0;
    AUTO_TEXT body = patch ? json_text(patch, &len) : NULL;
    if (body)
        mirror->facts.busy = command_send(engine, entry,
                                          &(struct command_spec){.type = PENDING_RELEASE,
                                                                 .verb = VERB_MERGE_PATCH,
                                                                 .cluster = mirror->facts.cluster,
                                                                 .attempt = entry->facts.attempt,
                                                                 .body = body,
                                                                 .body_len = len});
    if (!body || !mirror->facts.busy)
        mirror->facts.not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
}
