// SPDX-License-Identifier: Apache-2.0
// Which adapter supports an object, whether the object is delegated to this host, and the names, labels and annotations
// that every API server rejects (apimachinery ValidateObjectMeta).
#include "core/base/text.h"
#include "core/cmd/plan/plan.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/store/store.h"
#include "core/json/pointer.h"

#define ANNOTATIONS_MAX ((size_t)256 << 10) // apimachinery TotalAnnotationSizeLimitB, keys and values together

#define SUBDOMAIN "at most 253 lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
#define LABEL "at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"
#define WORD "at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
#define KEY "an optional DNS prefix and '/', then " WORD

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
    const char *near = names ? suggest(kind_word(value), names, adapters->n_kinds) : NULL;
    const wharf_kind *meant = NULL;
    for (size_t i = 0; near && i < adapters->n_kinds; i++)
        if (strcmp(names[i], near) == 0)
            meant = &adapters->kinds[i]->abi;
    free(names);
    AUTO_TEXT hint = meant ? text_format("; did you mean %s of %s%s%s?", meant->kind, meant->group,
                                         meant->group[0] ? "/" : "", meant->versions[0])
                           : NULL;
    plan_comment(lines, "adapter: none supports %s of %s%s", kind_word(value), api_version(value), hint ? hint : "");
}

const struct kind *plan_find_kind(const struct adapters *adapters, const struct json *value, const char **version,
                                  struct buffer *lines) {
    const char *api = api_version(value), *word = kind_word(value);
    for (size_t i = 0; i < adapters->n_kinds; i++) {
        const struct kind *kind = adapters->kinds[i];
        if (strcmp(kind->abi.kind, word) != 0 || !group_is(api, kind->abi.group))
            continue;
        *version = strchr(api, '/') ? strchr(api, '/') + 1 : api;
        if (lines && kind_list_has(kind->abi.versions, *version))
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
    return !kind->abi.managed_by_allowed || text_equal(kind->abi.managed_by_builtin, value) ||
           kind_list_has(kind->abi.managed_by_allowed, value);
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
        plan_wrong(object, PLAN_REJECTED);
    } else {
        const char *meant = suggest(value, (const char *const[]){kind->managed_by}, 1);
        plan_comment(&object->lines, "managedBy: %s is \"%s\", another controller; this host manages \"%s\"%s", field,
                     value, kind->managed_by, meant ? ", did you mean that?" : "");
    }
}

void plan_judge_manager(struct plan_object *object) {
    const struct kind *kind = object->kind;
    const struct json *field = pointer_find(object->item->value, kind->abi.managed_by);
    const char *value = json_string(field);
    if (!field || json_is(field, JSON_NULL)) {
        plan_comment(&object->lines, "managedBy: %s is absent; this host manages \"%s\"", kind->abi.managed_by,
                     kind->managed_by);
    } else if (!value) {
        const struct plan_change found = {kind->abi.managed_by, field, NULL};
        plan_comment_change(&object->lines, "managedBy:", &found, "the API server rejects it: expected a string");
        plan_wrong(object, PLAN_REJECTED);
    } else if (strcmp(value, kind->managed_by) != 0) {
        report_other_manager(object, value);
    } else if (strlen(object_uid(object->item->value)) >= STORE_UID_MAX) {
        plan_comment(&object->lines, "uid: metadata.uid has more than %d characters, expected a uid",
                     STORE_UID_MAX - 1);
        plan_wrong(object, PLAN_REJECTED);
    } else {
        object->verdict = PLAN_DELEGATED;
        plan_comment(&object->lines, "managedBy: %s is \"%s\", which this host manages", kind->abi.managed_by, value);
        if (kueue_may_own(value, object->item->value))
            plan_comment(&object->lines,
                         "Kueue: label " KUEUE_QUEUE_NAME
                         " is \"%s\": where a Kueue Workload owns the object, it is dispatched once that is admitted, "
                         "and left alone if that has a MultiKueue check",
                         object_label(object->item->value, KUEUE_QUEUE_NAME));
    }
}

// Names -----------------------------------------------------------------------------------------------------------

// `what`: "labels".
static void reject(struct plan_object *object, const char *what, const char *pointer, const struct json *value,
                   const char *expected) {
    AUTO_TEXT label = text_format("%s:", what);
    AUTO_TEXT why = text_format("the API server rejects it: expected %s", expected);
    const struct plan_change found = {pointer, value, NULL};
    plan_comment_change(&object->lines, label ? label : "?", &found, why);
    plan_wrong(object, PLAN_REJECTED);
}

// Checks a member of the metadata that is a name or absent. NULL: it is no string; "": it is absent.
static const char *check_text(struct plan_object *object, const char *what, const struct json *metadata,
                              const char *key, bool (*is_valid)(const char *text), const char *expected) {
    const struct json *value = json_get(metadata, key);
    AUTO_TEXT pointer = text_format("/metadata/%s", key);
    const char *text = json_is(value, JSON_NULL) ? "" : value ? json_string(value) : "";
    if (!text || (*text && !is_valid(text)))
        reject(object, what, pointer ? pointer : "?", value, text ? expected : "a string");
    return text;
}

// A generated name is the prefix with five characters more; the server masks a '-' at the end of the prefix.
static bool is_prefix(const char *prefix) {
    AUTO_TEXT name = text_format("%s", prefix);
    size_t len = name ? strlen(name) : 0;
    if (len > 1 && name[len - 1] == '-')
        name[len - 1] = 'a';
    return !name || text_is_dns_subdomain(name);
}

static void check_name(struct plan_object *object, const struct json *metadata) {
    const char *name = check_text(object, "name", metadata, "name", text_is_dns_subdomain, SUBDOMAIN);
    const char *prefix = check_text(object, "name", metadata, "generateName", is_prefix, SUBDOMAIN);
    if (text_equal(name, "") && text_equal(prefix, "")) {
        plan_comment(&object->lines, "name: neither metadata.name nor metadata.generateName is set");
        plan_wrong(object, PLAN_REJECTED);
    }
    check_text(object, "namespace", metadata, "namespace", text_is_dns_label, LABEL);
}

static void reject_key(struct plan_object *object, const char *map, const char *key) {
    plan_comment(&object->lines, "%s: the API server rejects the key \"%s\": expected " KEY, map, key);
    plan_wrong(object, PLAN_REJECTED);
}

// Keys of annotations may have upper-case letters in their prefix too.
static bool is_annotation_key(const char *key) {
    AUTO_TEXT lower = text_format("%s", key);
    for (char *c = lower; c && *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return !lower || text_is_label_key(lower);
}

static void check_member(struct plan_object *object, const char *map, const struct json *member, bool labels) {
    AUTO_BUFFER(pointer, (size_t)1 << 20);
    buffer_printf(&pointer, "/metadata/%s", map);
    if (!pointer_append(&pointer, json_key(member)))
        return;
    const char *text = json_string(member);
    if (labels ? !text_is_label_key(json_key(member)) : !is_annotation_key(json_key(member)))
        reject_key(object, map, json_key(member));
    else if (!text)
        reject(object, map, pointer.data, member, "a string (in quotes)");
    else if (labels && !text_is_label_value(text))
        reject(object, map, pointer.data, member, WORD ", or nothing");
}

static void check_map(struct plan_object *object, const struct json *metadata, const char *name) {
    const struct json *map = json_get(metadata, name);
    bool labels = strcmp(name, "labels") == 0;
    if (map && !json_is(map, JSON_NULL) && !json_is(map, JSON_OBJECT)) {
        reject(object, name, labels ? "/metadata/labels" : "/metadata/annotations", map, "a mapping");
        return;
    }
    size_t size = 0;
    for (const struct json *member = json_first(map); member; member = json_next(member)) {
        check_member(object, name, member, labels);
        size += strlen(json_key(member)) + strlen(json_string_or(member, ""));
    }
    if (!labels && size > ANNOTATIONS_MAX) {
        plan_comment(&object->lines, "annotations: %zu bytes of keys and values; the API server rejects more than %zu",
                     size, ANNOTATIONS_MAX);
        plan_wrong(object, PLAN_REJECTED);
    }
}

void plan_check_names(struct plan_object *object) {
    const struct json *metadata = json_get(object->item->value, "metadata");
    if (metadata && !json_is(metadata, JSON_NULL) && !json_is(metadata, JSON_OBJECT)) {
        reject(object, "metadata", "/metadata", metadata, "a mapping");
        return;
    }
    check_name(object, metadata);
    check_map(object, metadata, "labels");
    check_map(object, metadata, "annotations");
}
