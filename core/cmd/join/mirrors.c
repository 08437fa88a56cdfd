// SPDX-License-Identifier: Apache-2.0
// The mirrors of a host in a worker.
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/object/object.h"

#include <string.h>

#define LIST_MAX 500 // of a kind; more are counted later

static void count_items(struct join_left *left, const struct json *list, const char *origin, const char *kind) {
    size_t own = 0;
    for (const struct json *m = json_first(json_get(list, "items")); m; m = json_next(m)) {
        bool ours = text_equal(object_label(m, MARK_ORIGIN), origin);
        own += ours;
        left->others |= !ours;
    }
    if (own > 0)
        buffer_printf(&left->text, "%s%zu %s", left->text.len > 0 ? ", " : "", own, kind);
    left->own += own;
}

static struct error *count_kind(struct cluster *worker, const struct kind *kind, const char *origin,
                                struct join_left *left) {
    struct error *error = NULL;
    bool served = false;
    for (size_t i = 0; !error && !served && kind->abi.versions[i]; i++) {
        const char *group = kind->abi.group;
        AUTO_TEXT path = text_format("/api%s%s/%s/%s?labelSelector=wharf.dev%%2Forigin&limit=%d", *group ? "s/" : "",
                                     group, kind->abi.versions[i], kind->abi.plural, LIST_MAX);
        AUTO_JSON list = NULL;
        error = path ? cluster_get(worker, path, &list) : error_no_memory();
        served = list;
        if (served)
            count_items(left, list, origin, kind->plural_group);
    }
    return error;
}

struct error *join_count_left(struct cluster *worker, const struct setup *enabled, const char *origin,
                              struct join_left *left) {
    buffer_reset(&left->text);
    left->own = 0;
    left->others = false;
    struct error *error = NULL;
    for (size_t i = 0; !error && i < enabled->adapters->n_kinds; i++)
        error = count_kind(worker, enabled->adapters->kinds[i], origin, left);
    return error;
}
