// SPDX-License-Identifier: Apache-2.0
// The content of copies: JSON in, JSON out.
#include "core/engine/dependencies/dependency.h"

#include "core/json/pointer.h"

#define CLAIMS "persistentvolumeclaims"
#define ACCOUNTS "serviceaccounts"

static bool is_of(const char *resource, const char *name) {
    return strcmp(resource, name) == 0;
}

// D9.
bool copy_is_denied(const char *resource, const struct json *source) {
    static const char *const types[] = {"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token",
                                        "helm.sh/release.v1"};
    const char *type = json_string_or(json_get(source, "type"), "");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_of(resource, "secrets") && strcmp(type, types[i]) == 0)
            return true;
    return false;
}

// Labels and annotations of the source that say something about the source alone.
static bool is_private(const char *resource, const char *key) {
    static const char *const bound[] = {"pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"};
    for (size_t i = 0; is_of(resource, CLAIMS) && i < sizeof bound / sizeof *bound; i++)
        if (text_has_prefix(key, bound[i]))
            return true;
    // The token controller of the management cluster knows the mountable secrets.
    bool mountable = is_of(resource, ACCOUNTS) && is_of(key, "kubernetes.io/enforce-mountable-secrets");
    return mountable || mirror_key_is_private(key);
}

static bool copy_map(const char *resource, const struct json *metadata, const char *map, struct json *out) {
    struct json *made = json_new_object();
    bool ok = made;
    for (const struct json *m = json_first(json_get(metadata, map)); m && ok; m = json_next(m))
        if (!is_private(resource, json_key(m)))
            ok = json_set(made, json_key(m), json_copy(m));
    return json_set(out, map, made) && ok;
}

// Whether a member of the object belongs to the content.
static bool is_content(const char *resource, const char *key) {
    if (is_of(resource, ACCOUNTS))
        return is_of(key, "imagePullSecrets") || is_of(key, "automountServiceAccountToken");
    if (is_of(resource, PRIORITIES))
        return is_of(key, "value") || is_of(key, "preemptionPolicy");
    return !is_of(key, "metadata") && !is_of(key, "status") && !is_of(key, "immutable");
}

static bool copy_members(const char *resource, const struct json *from, struct json *to) {
    bool ok = true;
    for (const struct json *m = json_first(from); m && ok; m = json_next(m))
        if (is_content(resource, json_key(m)))
            ok = json_set(to, json_key(m), json_copy(m));
    return ok;
}

struct json *copy_content(const char *resource, const struct json *source) {
    AUTO_JSON out = json_new_object();
    AUTO_JSON metadata = json_new_object();
    const struct json *from = json_get(source, "metadata");
    bool ok = out && metadata && copy_map(resource, from, "labels", metadata) &&
              copy_map(resource, from, "annotations", metadata) &&
              json_set(out, "apiVersion", json_copy(json_get(source, "apiVersion"))) &&
              json_set(out, "kind", json_copy(json_get(source, "kind")));
    ok = ok && json_set(out, "metadata", TAKE(metadata)) && copy_members(resource, source, out);
    if (ok && is_of(resource, CLAIMS))
        (void)pointer_remove(out, "/spec/volumeName");
    return ok ? TAKE(out) : NULL;
}

static bool set_text(struct json *map, const char *key, const char *value) {
    return json_set(map, key, json_new_string(value));
}

bool copy_set_marks(struct json *content, const struct seal_subject *subject, const char *source, const char *seal) {
    struct json *metadata = json_get(content, "metadata");
    struct json *labels = json_get(metadata, "labels"), *annotations = json_get(metadata, "annotations");
    return set_text(metadata, "name", subject->name) &&
           (!*subject->namespace_ || set_text(metadata, "namespace", subject->namespace_)) &&
           set_text(labels, MARK_ORIGIN, subject->origin) && set_text(labels, MARK_COPY_OF, subject->uid) &&
           set_text(annotations, MARK_SOURCE, source) && (!seal || set_text(annotations, MARK_SEAL, seal));
}

// Comparison -----------------------------------------------------------------------------------------------------

// Servers add defaults: all members of `wanted` are in `there`.
static bool contains(const struct json *there, const struct json *wanted) {
    if (json_is_zero(wanted) && !there)
        return true;
    if (json_is(wanted, JSON_ARRAY)) {
        const struct json *item = json_first(there);
        bool ok = json_is(there, JSON_ARRAY) && json_size(there) == json_size(wanted);
        for (const struct json *w = json_first(wanted); w && ok; w = json_next(w), item = json_next(item))
            ok = contains(item, w);
        return ok;
    }
    if (!json_is(wanted, JSON_OBJECT))
        return json_equal(there, wanted);
    for (const struct json *w = json_first(wanted); w; w = json_next(w))
        if (!contains(json_get(there, json_key(w)), w))
            return false;
    return !there || json_is(there, JSON_OBJECT);
}

// Maps of keys that authors choose: a further key matters.
static bool has_extra(const char *resource, const struct json *content, const struct json *there) {
    static const char *const maps[] = {"data", "binaryData"};
    bool strict = is_of(resource, "configmaps") || is_of(resource, "secrets");
    for (size_t i = 0; strict && i < 2; i++)
        if (json_size(json_get(there, maps[i])) != json_size(json_get(content, maps[i])))
            return true;
    return false;
}

bool copy_equals(const char *resource, const struct json *content, const struct json *there) {
    for (const struct json *m = json_first(content); m; m = json_next(m))
        if (is_content(resource, json_key(m)) && !is_of(json_key(m), "apiVersion") && !is_of(json_key(m), "kind") &&
            !contains(json_get(there, json_key(m)), m))
            return false;
    return !has_extra(resource, content, there);
}

// Changes --------------------------------------------------------------------------------------------------------

// Other writers' labels and annotations stay.
static bool merge_map(struct json *metadata, const struct json *content, const char *map) {
    struct json *to = carry_member(metadata, map);
    bool ok = to;
    for (const struct json *m = json_first(json_path(content, "metadata", map, NULL)); m && ok; m = json_next(m))
        ok = json_set(to, json_key(m), json_copy(m));
    return ok;
}

static bool take_content(const char *resource, const struct json *content, struct json *to) {
    for (struct json *m = json_first(to), *next; m; m = next) {
        next = json_next(m);
        if (is_content(resource, json_key(m)) && !json_get(content, json_key(m)))
            json_remove_child(to, m);
    }
    return copy_members(resource, content, to);
}

struct json *copy_patch(const char *resource, const struct json *content, const struct json *there, bool *recreate) {
    AUTO_JSON wanted = json_copy(there);
    struct json *metadata = json_get(wanted, "metadata");
    bool same_type = json_equal(json_get(content, "type"), json_get(there, "type"));
    *recreate = is_of(resource, "secrets") && !same_type;
    // Of an existing claim the volume belongs to the workloads there.
    bool ok = metadata && merge_map(metadata, content, "labels") && merge_map(metadata, content, "annotations") &&
              (is_of(resource, CLAIMS) || take_content(resource, content, wanted));
    struct json *patch = ok ? patch_diff(there, wanted, NULL) : NULL;
    if (patch && mirror_set_precondition(patch, there, true))
        return patch;
    json_free(patch);
    return NULL;
}

// Origins (D8) ---------------------------------------------------------------------------------------------------

static bool is_word(const char *word, size_t len, const char *text) {
    return strlen(text) == len && memcmp(word, text, len) == 0;
}

bool copy_heir(const char *list, const char *origin, char out[COPY_ORIGIN_MAX]) {
    const char *word;
    size_t len;
    *out = '\0';
    while (!*out && text_next_word(&list, ',', &word, &len))
        if (len < COPY_ORIGIN_MAX && !is_word(word, len, origin)) {
            memcpy(out, word, len);
            out[len] = '\0';
        }
    return *out;
}

// The list with `origin` at its end, or without it.
static bool set_list(struct json *patch, const struct json *there, const char *origin, bool listed) {
    AUTO_BUFFER(list, 4096);
    const char *rest = object_annotation(there, MARK_ALSO_USED), *word;
    size_t len;
    while (text_next_word(&rest, ',', &word, &len))
        if (len > 0 && !is_word(word, len, origin))
            buffer_printf(&list, "%s%.*s", list.len > 0 ? "," : "", (int)len, word);
    if (listed)
        buffer_printf(&list, "%s%s", list.len > 0 ? "," : "", origin);
    return !list.failed && json_set(carry_metadata(patch, "annotations"), MARK_ALSO_USED,
                                    list.len > 0 ? json_new_string(list.data) : json_new_null());
}

struct json *copy_use_patch(const struct json *there, const char *origin, bool uses) {
    AUTO_JSON patch = json_new_object();
    bool ok = set_list(patch, there, origin, uses) && mirror_set_precondition(patch, there, true);
    return ok ? TAKE(patch) : NULL;
}

struct json *copy_hand_over_patch(const struct json *there, const char *origin) {
    char heir[COPY_ORIGIN_MAX];
    AUTO_JSON patch = json_new_object();
    bool ok = copy_heir(object_annotation(there, MARK_ALSO_USED), origin, heir) &&
              set_list(patch, there, heir, false) &&
              json_set(carry_metadata(patch, "annotations"), MARK_SEAL, json_new_null()) &&
              json_set(carry_metadata(patch, "labels"), MARK_ORIGIN, json_new_string(heir)) &&
              mirror_set_precondition(patch, there, true);
    return ok ? TAKE(patch) : NULL;
}
