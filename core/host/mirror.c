// SPDX-License-Identifier: Apache-2.0
#include "core/host/mirror.h"

#include "core/base/text.h"
#include "core/json/patch.h"
#include "core/json/pointer.h"
#include "core/kube/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mirror_key_is_private(const char *key) {
    const char *slash = strchr(key, '/');
    if (!slash)
        return false;
    size_t len = (size_t)(slash - key);
    static const char own[] = "wharf.dev";
    size_t own_len = sizeof own - 1;
    if (len >= own_len && memcmp(slash - own_len, own, own_len) == 0 &&
        (len == own_len || slash[-(long)own_len - 1] == '.'))
        return true;
    return strcmp(key, "kubectl.kubernetes.io/last-applied-configuration") == 0;
}

bool mirror_is_ours(const struct kind *kind, const char *origin, const struct json *object) {
    const char *uid = object_label(object, MARK_UID);
    return uid && *uid && text_equal(object_label(object, MARK_ORIGIN), origin) &&
           text_equal(object_label(object, MARK_KIND), kind->plural_group) && mirror_attempt(object) > 0 &&
           !object_controller(object);
}

uint32_t mirror_attempt(const struct json *object) {
    const char *text = object_annotation(object, MARK_ATTEMPT);
    int64_t value = 0;
    if (!text || !text_to_int64(text, &value) || value < 1 || value >= UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

bool kind_suspended(const struct kind *kind, const struct json *object) {
    if (!kind->abi.suspend)
        return false;
    const struct json *value = pointer_find(object, kind->abi.suspend);
    if (kind->abi.suspend_value)
        return text_equal(json_string(value), kind->abi.suspend_value);
    return json_bool(value, false);
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (hash ^ 0xff) * UINT64_C(1099511628211);
}

uint64_t mirror_carry_hash(const struct json *object) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)object_generation(object);
    static const char *const maps[] = {"labels", "annotations"};
    const struct json *metadata = json_get(object, "metadata");
    for (size_t i = 0; i < 2; i++) {
        uint64_t sum = 0; // order does not matter
        for (const struct json *m = json_first(json_get(metadata, maps[i])); m; m = json_next(m)) {
            if (!mirror_key_is_private(json_key(m)))
                sum += hash_text(hash_text(i, json_key(m)), json_string_or(m, ""));
        }
        hash = (hash ^ sum) * UINT64_C(1099511628211);
    }
    return hash;
}

static bool set_text(struct json *object, const char *key, const char *text) {
    return json_set(object, key, json_new_string(text));
}

// Member `key` of `object`, made if it is missing or no object.
static struct json *object_member(struct json *object, const char *key) {
    struct json *member = json_get(object, key);
    if (json_is(member, JSON_OBJECT))
        return member;
    return json_set(object, key, json_new_object()) ? json_get(object, key) : NULL;
}

// The marks that make an object a mirror of this workload.
static bool set_marks(const struct mirror_job *job, struct json *metadata) {
    struct json *labels = object_member(metadata, "labels"), *annotations = object_member(metadata, "annotations");
    char attempt[16];
    snprintf(attempt, sizeof attempt, "%u", job->attempt);
    return labels && annotations && set_text(labels, MARK_ORIGIN, job->origin) &&
           set_text(labels, MARK_UID, object_uid(job->workload)) &&
           set_text(labels, MARK_KIND, job->kind->plural_group) && set_text(annotations, MARK_ATTEMPT, attempt);
}

// Writes what is carried into `to`, and its pointers into `record`.
struct carrying {
    const struct kind *kind;
    const struct json *from;
    struct json *to;
    struct buffer *record;
};

static bool record(struct carrying *carrying, const char *pointer) {
    if (carrying->record->len > 0 && !buffer_char(carrying->record, ' '))
        return false;
    return buffer_text(carrying->record, pointer);
}

static bool pattern_matches(const char *pattern, const char *pointer) {
    while (*pattern && *pointer) {
        if (pattern[0] == '*' && pattern[-1] == '/' && (pattern[1] == '/' || pattern[1] == '\0')) {
            pattern++;
            while (*pointer && *pointer != '/')
                pointer++;
        } else if (*pattern++ != *pointer++) {
            return false;
        }
    }
    return *pattern == *pointer;
}

// What the adapter takes out of every mirror is not carried either.
static bool is_removed(const struct kind *kind, const char *pointer) {
    for (const char *const *p = kind->abi.removed; p && *p; p++) {
        if (pattern_matches(*p, pointer))
            return true;
    }
    return false;
}

static bool carry_keys(struct carrying *carrying, const char *map) {
    const struct json *from = json_path(carrying->from, "metadata", map, NULL);
    struct json *metadata = object_member(carrying->to, "metadata");
    struct json *to = metadata ? object_member(metadata, map) : NULL;
    if (!to)
        return false;
    for (const struct json *m = json_first(from); m; m = json_next(m)) {
        if (mirror_key_is_private(json_key(m)))
            continue;
        __attribute__((cleanup(buffer_cleanup))) struct buffer pointer;
        buffer_init(&pointer, 4096);
        buffer_printf(&pointer, "/metadata/%s", map);
        if (!pointer_append(&pointer, json_key(m)))
            return false;
        if (is_removed(carrying->kind, pointer.data))
            continue;
        if (!record(carrying, pointer.data) ||
            (!json_equal(json_get(to, json_key(m)), m) && !json_set(to, json_key(m), json_copy(m))))
            return false;
    }
    return true;
}

// The item of `to` that is the counterpart of item `index` of `from`: by its name, or in the same place if items have
// none and there are as many. False if there is none.
static bool counterpart(const struct json *from, const struct json *to, size_t index, size_t *place) {
    const char *name = json_string(json_get(json_at(from, index), "name"));
    *place = index;
    if (!name)
        return json_size(from) == json_size(to);
    *place = 0;
    for (const struct json *item = json_first(to); item; item = json_next(item), ++*place) {
        if (text_equal(json_string(json_get(item, "name")), name))
            return true;
    }
    return false;
}

// Where in `to` the value belongs that `pointer` points to in `from`: the same pointer, but for the places in arrays.
// An empty buffer if it belongs nowhere. False when out of memory.
static bool translate(const struct json *from, const struct json *to, const char *pointer, struct buffer *out) {
    if (!strpbrk(pointer, "0123456789"))
        return buffer_text(out, pointer);
    while (*pointer) {
        size_t len = 1 + strcspn(pointer + 1, "/"), place = 0;
        AUTO_TEXT segment = strndup(pointer, len);
        int64_t index = 0;
        if (!segment)
            return false;
        if (!json_is(from, JSON_ARRAY)) {
            buffer_text(out, segment);
            to = pointer_find(to, segment);
        } else if (text_to_int64(segment + 1, &index) && counterpart(from, to, (size_t)index, &place)) {
            buffer_printf(out, "/%zu", place);
            to = json_at(to, place);
        } else {
            buffer_reset(out);
            return true;
        }
        from = pointer_find(from, segment);
        pointer += len;
    }
    return !out->failed;
}

// Something on the way to `pointer` is neither an object nor an array that has the item.
static bool blocked(const struct json *to, const char *pointer) {
    char way[4097];
    text_copy(way, sizeof way, pointer);
    for (char *end = strchr(way, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        const struct json *on_the_way = pointer_find(to, way);
        *end = '/';
        if (!on_the_way)
            return false; // made, or there is no such item: then its array was looked at before
        size_t len = strcspn(end + 1, "/");
        char after = end[1 + len];
        end[1 + len] = '\0';
        bool item = json_is(on_the_way, JSON_ARRAY) && !pointer_find(to, way);
        end[1 + len] = after;
        if (item || (!json_is(on_the_way, JSON_OBJECT) && !json_is(on_the_way, JSON_ARRAY)))
            return true;
    }
    return false;
}

static bool carry_value(void *ctx, const char *pointer, struct json *value) {
    struct carrying *carrying = ctx;
    __attribute__((cleanup(buffer_cleanup))) struct buffer there;
    buffer_init(&there, 4096);
    if (!record(carrying, pointer) || !translate(carrying->from, carrying->to, pointer, &there))
        return false;
    if (there.len == 0 || json_equal(pointer_find(carrying->to, there.data), value))
        return true;
    // Where the mirror has something that cannot hold it, the adapter's update may know better.
    return pointer_set(carrying->to, there.data, json_copy(value)) || blocked(carrying->to, there.data);
}

// A new mirror is a copy: what is carried is there already.
static bool record_value(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    return record(ctx, pointer);
}

static bool carried_now(const struct kind *kind, const wharf_carried *carried, const struct json *mirror) {
    return carried->when == WHARF_CARRY_ALWAYS || kind_suspended(kind, mirror);
}

static bool carry_spec(const struct mirror_job *job, struct carrying *carrying) {
    for (const wharf_carried *c = job->kind->abi.carried; c && c->pointer; c++) {
        if (carried_now(job->kind, c, job->mirror) && !pointer_each(job->workload, c->pointer, carry_value, carrying))
            return false;
    }
    return true;
}

// What was carried earlier and may be taken away now: labels, annotations, and spec fields that are carried at present.
static bool may_take_away(const struct mirror_job *job, const char *pointer) {
    if (text_has_prefix(pointer, "/metadata/labels/") || text_has_prefix(pointer, "/metadata/annotations/"))
        return true;
    for (const wharf_carried *c = job->kind->abi.carried; c && c->pointer; c++) {
        if (pattern_matches(c->pointer, pointer))
            return carried_now(job->kind, c, job->mirror);
    }
    return false;
}

// Takes away what was carried earlier and the workload has no more.
static bool take_away(const struct mirror_job *job, struct json *to, struct buffer *kept) {
    const char *text = object_annotation(job->mirror, MARK_CARRIED);
    while (text && *text) {
        size_t len = strcspn(text, " ");
        AUTO_TEXT pointer = strndup(text, len);
        if (!pointer)
            return false;
        text += len + strspn(text + len, " ");
        // What is not carried at present stays on record, for when it is.
        if (!may_take_away(job, pointer)) {
            if (!buffer_printf(kept, "%s%s", kept->len ? " " : "", pointer))
                return false;
            continue;
        }
        if (pointer_find(job->workload, pointer))
            continue;
        __attribute__((cleanup(buffer_cleanup))) struct buffer there;
        buffer_init(&there, 4096);
        if (!translate(job->workload, to, pointer, &there))
            return false;
        pointer_remove(to, there.len ? there.data : pointer);
    }
    return true;
}

#define RECORD_MAX ((size_t)200 * 1024) // annotations of an object are at most 256 KiB in total

static struct json *copy_members(const struct json *workload) {
    AUTO_JSON mirror = json_new_object();
    bool ok = mirror != NULL;
    for (const struct json *m = json_first(workload); m && ok; m = json_next(m)) {
        if (strcmp(json_key(m), "metadata") != 0 && strcmp(json_key(m), "status") != 0)
            ok = json_set(mirror, json_key(m), json_copy(m));
    }
    struct json *metadata = ok ? object_member(mirror, "metadata") : NULL;
    ok = metadata && set_text(metadata, "name", object_name(workload));
    if (ok && *object_namespace(workload))
        ok = set_text(metadata, "namespace", object_namespace(workload));
    if (!ok)
        return NULL;
    struct json *result = mirror;
    mirror = NULL;
    return result;
}

wharf_result mirror_make(const struct mirror_job *job, struct json **out) {
    *out = NULL;
    AUTO_JSON mirror = copy_members(job->workload);
    __attribute__((cleanup(buffer_cleanup))) struct buffer carried;
    buffer_init(&carried, RECORD_MAX);
    struct carrying carrying = {job->kind, job->workload, mirror, &carried};
    if (!mirror || !carry_keys(&carrying, "labels") || !carry_keys(&carrying, "annotations"))
        return WHARF_RETRY;
    for (const wharf_carried *c = job->kind->abi.carried; c && c->pointer; c++) {
        if (!pointer_each(job->workload, c->pointer, record_value, &carrying))
            return WHARF_RETRY;
    }
    pointer_remove(mirror, job->kind->abi.managed_by);
    for (const char *const *p = job->kind->abi.removed; p && *p; p++)
        pointer_remove_all(mirror, *p);
    wharf_result result = adapter_mirror(job->call, job->workload, mirror);
    if (result != WHARF_OK)
        return result;
    struct json *metadata = object_member(mirror, "metadata");
    if (!metadata || !set_text(metadata, "name", object_name(job->workload)) || !set_marks(job, metadata) ||
        !set_text(json_get(metadata, "annotations"), MARK_CARRIED, carried.data ? carried.data : ""))
        return WHARF_RETRY;
    *out = mirror;
    mirror = NULL;
    return WHARF_OK;
}

// Only what the host may change is compared: labels, annotations and spec (or whatever else is not metadata or status).
static struct json *comparable(const struct json *object) {
    AUTO_JSON result = json_new_object();
    struct json *metadata = result ? object_member(result, "metadata") : NULL;
    if (!metadata)
        return NULL;
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t i = 0; i < 2; i++) {
        const struct json *map = json_path(object, "metadata", maps[i], NULL);
        if (map && !json_set(metadata, maps[i], json_copy(map)))
            return NULL;
    }
    for (const struct json *m = json_first(object); m; m = json_next(m)) {
        if (strcmp(json_key(m), "metadata") != 0 && strcmp(json_key(m), "status") != 0 &&
            !json_set(result, json_key(m), json_copy(m)))
            return NULL;
    }
    struct json *taken = result;
    result = NULL;
    return taken;
}

// The same words, in any order; no word comes twice.
static bool same_words(const char *a, const char *b) {
    if (!a || strlen(a) != strlen(b))
        return false;
    for (size_t len; *a; a += len + strspn(a + len, " ")) {
        const char *at = b;
        len = strcspn(a, " ");
        while (*at && (strncmp(at, a, len) != 0 || (at[len] != ' ' && at[len] != '\0'))) {
            at += strcspn(at, " ");
            at += strspn(at, " ");
        }
        if (!*at)
            return false;
    }
    return true;
}

static wharf_result diff_mirror(const struct mirror_job *job, const struct json *from, struct json *desired,
                                const struct buffer *carried, struct json **patch) {
    bool has_array = false;
    AUTO_JSON diff = patch_diff(from, desired, &has_array);
    if (!diff)
        return WHARF_RETRY;
    if (json_size(diff) == 0)
        return WHARF_OK;
    // The record goes along only when there is something to say.
    struct json *metadata = object_member(diff, "metadata");
    struct json *annotations = metadata ? object_member(metadata, "annotations") : NULL;
    if (!annotations || !set_text(metadata, "uid", object_uid(job->mirror)))
        return WHARF_RETRY;
    const char *before = object_annotation(job->mirror, MARK_CARRIED), *after = carried->data ? carried->data : "";
    if (!same_words(before, after) && !set_text(annotations, MARK_CARRIED, after))
        return WHARF_RETRY;
    if (json_size(annotations) == 0)
        json_remove(metadata, "annotations");
    // A merge patch replaces arrays whole: what it was made from must still be there.
    if (has_array && !set_text(metadata, "resourceVersion", object_version(job->mirror)))
        return WHARF_RETRY;
    *patch = diff;
    diff = NULL;
    return WHARF_OK;
}

wharf_result mirror_patch(const struct mirror_job *job, struct json **patch) {
    *patch = NULL;
    AUTO_JSON from = comparable(job->mirror);
    AUTO_JSON desired = json_copy(job->mirror);
    __attribute__((cleanup(buffer_cleanup))) struct buffer carried;
    buffer_init(&carried, RECORD_MAX);
    if (!from || !desired || !take_away(job, desired, &carried))
        return WHARF_RETRY;
    struct carrying carrying = {job->kind, job->workload, desired, &carried};
    if (!carry_spec(job, &carrying) || !carry_keys(&carrying, "labels") || !carry_keys(&carrying, "annotations"))
        return WHARF_RETRY;
    wharf_result result = adapter_update(job->call, job->workload, job->mirror, desired);
    if (result != WHARF_OK)
        return result;
    struct json *metadata = object_member(desired, "metadata");
    if (!metadata || !set_marks(job, metadata))
        return WHARF_RETRY;
    AUTO_JSON to = comparable(desired);
    return to ? diff_mirror(job, from, to, &carried, patch) : WHARF_RETRY;
}

// The status to begin with: the mirror's without what belongs to the worker, or the workload's own.
static struct json *status_draft(const struct mirror_job *job) {
    const struct json *source = json_get(job->mirror ? job->mirror : job->workload, "status");
    AUTO_JSON wrapper = json_new_object();
    if (!wrapper || !json_set(wrapper, "status", json_is(source, JSON_OBJECT) ? json_copy(source) : json_new_object()))
        return NULL;
    if (job->mirror) {
        for (const char *const *p = job->kind->abi.status_removed; p && *p; p++)
            pointer_remove_all(wrapper, *p);
        const char *observed = job->kind->abi.observed_generation;
        if (observed && pointer_find(wrapper, observed)) {
            // The present generation once the mirror is like the workload; until then what was there.
            AUTO_JSON pending = NULL;
            int64_t generation = object_generation(job->workload);
            if (mirror_patch(job, &pending) != WHARF_OK || pending)
                generation = json_int64(pointer_find(job->workload, observed), 0);
            if (!pointer_set(wrapper, observed, json_new_int64(generation)))
                return NULL;
        }
    }
    return json_detach(wrapper, "status");
}

wharf_result mirror_status(const struct mirror_job *job, struct json **patch, uint64_t *wanted) {
    *patch = NULL;
    AUTO_JSON status = status_draft(job);
    if (!status)
        return WHARF_RETRY;
    wharf_result result = adapter_status(job->call, job->workload, job->mirror, status);
    if (result != WHARF_OK)
        return result;
    *wanted = json_hash(status);
    AUTO_JSON empty = json_new_object();
    const struct json *present = json_get(job->workload, "status");
    AUTO_JSON diff = empty ? patch_diff(json_is(present, JSON_OBJECT) ? present : empty, status, NULL) : NULL;
    if (!diff)
        return WHARF_RETRY;
    if (json_size(diff) == 0)
        return WHARF_OK;
    AUTO_JSON body = json_new_object();
    struct json *metadata = body ? object_member(body, "metadata") : NULL;
    if (!metadata || !set_text(metadata, "uid", object_uid(job->workload)) ||
        !set_text(metadata, "resourceVersion", object_version(job->workload)))
        return WHARF_RETRY;
    struct json *taken = diff;
    diff = NULL;
    if (!json_set(body, "status", taken))
        return WHARF_RETRY;
    *patch = body;
    body = NULL;
    return WHARF_OK;
}
