// SPDX-License-Identifier: Apache-2.0
// Which adapter supports an object, and whether the object is delegated to this host.

#include "core/base/suggest.h"
#include "core/cmd/plan/plan.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/store/store.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

static const char *api_version(const struct json *value) {
    return json_string_or(json_get(value, "apiVersion"), "");
}

static const char *kind_word(const struct json *value) {
    return json_string_or(json_get(value, "kind"), "");
}

// "batch" of "batch/v1"; the core group is "".
static bool group_is(const char *api, const char *group) {
    const char *slash = strchr(api, '/');
    size_t len = !slash ? 0 : (size_t)(slash - api);
    return strlen(group) == len && strncmp(api, group, len) == 0;
}

static const char *version_of(const char *api) {
    const char *slash = strchr(api, '/');
    return !slash ? api : slash + 1;
}

bool plan_understands(const struct kind *kind, const char *version) {
    for (size_t i = 0; kind->abi.versions[i]; i++)
        if (strcmp(kind->abi.versions[i], version) == 0)
            return true;
    return false;
}

static void report_versions(struct buffer *lines, const struct kind *kind, const char *version) {
    AUTO_BUFFER(known, 65536);
    for (size_t i = 0; kind->abi.versions[i]; i++)
        buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", kind->abi.versions[i]);
    plan_comment(lines, "adapter: %s supports %s in %s, but not in %s", kind->adapter->name, kind->plural_group,
                 !known.data ? "?" : known.data, version);
}

// A kind of the same name in another group, or one with a similar name.
static void report_unsupported(struct buffer *lines, const struct adapters *adapters, const struct json *value) {
    const char **names = calloc(adapters->n_kinds + 1, sizeof(*names));
    for (size_t i = 0; names && i < adapters->n_kinds; i++)
        names[i] = adapters->kinds[i]->abi.kind;
    const char *near = !names ? NULL : suggest(kind_word(value), names, adapters->n_kinds);
    const struct kind *meant = NULL;
    for (size_t i = 0; near && i < adapters->n_kinds; i++)
        if (strcmp(adapters->kinds[i]->abi.kind, near) == 0)
            meant = adapters->kinds[i];
    free(names);
    plan_comment(lines, "adapter: none supports %s of %s%s%s%s%s%s%s%s", kind_word(value), api_version(value),
                 meant ? "; did you mean " : "", meant ? meant->abi.kind : "", meant ? " of " : "",
                 meant ? meant->abi.group : "", meant && meant->abi.group[0] != '\0' ? "/" : "",
                 meant ? meant->abi.versions[0] : "", meant ? "?" : "");
}

const struct kind *plan_find_kind(const struct adapters *adapters, const struct json *value, const char **version,
                                  struct buffer *lines) {
    const char *api = api_version(value), *word = kind_word(value);
    for (size_t i = 0; i < adapters->n_kinds; i++) {
        const struct kind *kind = adapters->kinds[i];
        if (strcmp(kind->abi.kind, word) != 0 || !group_is(api, kind->abi.group))
            continue;
        *version = version_of(api);
        if (lines && plan_understands(kind, *version))
            plan_comment(lines, "adapter: %s %s for %s/%s, %s", kind->adapter->name, kind->adapter->version,
                         kind->plural_group, *version, kind->adapter->file);
        else if (lines)
            report_versions(lines, kind, *version);
        return kind;
    }
    if (lines)
        report_unsupported(lines, adapters, value);
    return NULL;
}

// The values that the kind's API accepts, as a list for messages.
static char *accepted(const struct kind *kind) {
    AUTO_BUFFER(text, 65536);
    if (kind->abi.managed_by_builtin)
        buffer_printf(&text, "\"%s\"", kind->abi.managed_by_builtin);
    for (size_t i = 0; kind->abi.managed_by_allowed[i]; i++)
        buffer_printf(&text, "%s\"%s\"", text.len > 0 ? ", " : "", kind->abi.managed_by_allowed[i]);
    return buffer_take(&text, NULL);
}

static bool is_accepted(const struct kind *kind, const char *value) {
    if (!kind->abi.managed_by_allowed || text_equal(kind->abi.managed_by_builtin, value))
        return true;
    for (size_t i = 0; kind->abi.managed_by_allowed[i]; i++)
        if (strcmp(kind->abi.managed_by_allowed[i], value) == 0)
            return true;
    return false;
}

static void left_to_others(struct plan_object *object) {
    object->left_alone = true;
    object->verdict = PLAN_NOT_DELEGATED;
}

static void rejected(struct plan_object *object) {
    object->left_alone = true;
    plan_wrong(object, PLAN_REJECTED);
}

static void report_other_manager(struct plan_object *object, const char *value) {
    const struct kind *kind = object->kind;
    const char *field = kind->abi.managed_by;
    if (text_equal(kind->abi.managed_by_builtin, value)) {
        plan_comment(&object->lines, "managedBy: %s is \"%s\", the kind's own controller; this host manages \"%s\"",
                     field, value, kind->managed_by);
    } else if (!is_accepted(kind, value)) {
        AUTO_TEXT set = accepted(kind);
        plan_comment(&object->lines, "managedBy: %s is \"%s\", which the API server rejects; it accepts %s", field,
                     value, !set ? "?" : set);
        rejected(object);
        return;
    } else {
        const char *meant = suggest(value, (const char *const[]){kind->managed_by}, 1);
        plan_comment(&object->lines, "managedBy: %s is \"%s\", another controller; this host manages \"%s\"%s", field,
                     value, kind->managed_by, meant ? ", did you mean that?" : "");
    }
    left_to_others(object);
}

void plan_judge_manager(struct plan_object *object) {
    const struct kind *kind = object->kind;
    const struct json *field = pointer_find(object->item->value, kind->abi.managed_by);
    const char *value = json_string(field);
    if (!field || json_is(field, JSON_NULL)) {
        plan_comment(&object->lines, "managedBy: %s is absent; this host manages \"%s\"", kind->abi.managed_by,
                     kind->managed_by);
        left_to_others(object);
    } else if (!value) {
        const struct plan_change found = {kind->abi.managed_by, field, NULL};
        plan_comment_change(&object->lines, "managedBy:", &found, "the API server rejects it: expected a string");
        rejected(object);
    } else if (strcmp(value, kind->managed_by) != 0) {
        report_other_manager(object, value);
    } else if (strlen(object_uid(object->item->value)) >= STORE_UID_MAX) {
        plan_comment(&object->lines, "uid: metadata.uid has more than %d characters, expected a uid",
                     STORE_UID_MAX - 1);
        rejected(object);
    } else {
        plan_comment(&object->lines, "managedBy: %s is \"%s\", which this host manages", kind->abi.managed_by, value);
        if (kueue_may_own(value, object->item->value))
            plan_comment(&object->lines,
                         "Kueue: label " KUEUE_QUEUE_NAME " is \"%s\": where a Kueue Workload owns the object, it is "
                         "dispatched once that is admitted, and left alone if that has a MultiKueue check",
                         object_label(object->item->value, KUEUE_QUEUE_NAME));
    }
}
