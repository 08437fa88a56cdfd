// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/mirror.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

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
    if (!text || !text_to_int64(text, &value) || value < 1 || value > MIRROR_ATTEMPT_MAX)
        return 0;
    return (uint32_t)value;
}

static const char *const progress_marks[] = {
    [PROGRESS_NONE] = NULL, [PROGRESS_OWED] = "owed", [PROGRESS_GIVEN] = "given", [PROGRESS_REFUSED] = "refused"};

enum progress_mark mirror_progress(const struct json *object) {
    const char *text = object_annotation(object, MARK_PROGRESS);
    for (int mark = PROGRESS_REFUSED; text && mark > PROGRESS_NONE; mark--)
        if (strcmp(text, progress_marks[mark]) == 0)
            return (enum progress_mark)mark;
    return PROGRESS_NONE;
}

const char *mirror_progress_name(enum progress_mark mark) {
    return progress_marks[mark];
}

uint64_t mirror_carry_hash(const struct json *object, bool is_mirror) {
    uint64_t hash = TEXT_HASH ^ (uint64_t)object_generation(object);
    static const char *const maps[] = {"labels", "annotations"};
    const struct json *metadata = json_get(object, "metadata");
    for (size_t i = 0; i < 2; i++) {
        uint64_t sum = 0; // members may come in any order
        const struct json *map = json_get(metadata, maps[i]);
        for (const struct json *m = json_is(map, JSON_OBJECT) ? json_first(map) : NULL; m; m = json_next(m))
            if (is_mirror || !mirror_key_is_private(json_key(m)))
                sum += text_hash_local(text_hash_local(i, json_key(m)), json_string_or(m, ""));
        hash = (hash ^ sum) * UINT64_C(1099511628211);
    }
    return hash;
}

static bool set_text(struct json *object, const char *key, const char *text) {
    return json_set(object, key, json_new_string(text));
}

static struct seal_subject subject_of(const struct kind *kind, const char *origin, const char *uid, const char *cluster,
                                      uint32_t attempt, const struct json *object) {
    return (struct seal_subject){.origin = origin ? origin : "",
                                 .kind = kind->plural_group,
                                 .namespace_ = object_namespace(object),
                                 .name = object_name(object),
                                 .uid = uid ? uid : "",
                                 .cluster = cluster,
                                 .attempt = attempt};
}

enum seal_verdict mirror_seal(const struct kind *kind, const struct seal_keys *seals, const char *cluster,
                              const struct json *object) {
    struct seal_subject subject = subject_of(kind, object_label(object, MARK_ORIGIN), object_label(object, MARK_UID),
                                             cluster, mirror_attempt(object), object);
    return seal_check(seals, &subject, object_annotation(object, MARK_SEAL));
}

static bool set_seal(const struct mirror_context *context, struct json *annotations) {
    if (!seal_keys_any(context->seals))
        return true;
    struct seal_subject subject = subject_of(context->kind, context->origin, object_uid(context->workload),
                                             context->cluster, context->attempt, context->workload);
    char seal[SEAL_TEXT_MAX];
    return seal_make(context->seals, &subject, seal) && set_text(annotations, MARK_SEAL, seal);
}

bool mirror_set_progress(const struct mirror_context *context, struct json *object) {
    return context->progress == PROGRESS_NONE ||
           set_text(carry_metadata(object, "annotations"), MARK_PROGRESS, progress_marks[context->progress]);
}

bool mirror_set_marks(const struct mirror_context *context, struct json *object) {
    struct json *labels = carry_metadata(object, "labels"), *annotations = carry_metadata(object, "annotations");
    char attempt[16];
    snprintf(attempt, sizeof attempt, "%u", context->attempt);
    return set_text(labels, MARK_ORIGIN, context->origin) &&
           set_text(labels, MARK_UID, object_uid(context->workload)) &&
           set_text(labels, MARK_KIND, context->kind->plural_group) && set_text(annotations, MARK_ATTEMPT, attempt) &&
           (!context->renamed || set_text(annotations, MARK_NAMESPACE, object_namespace(context->workload))) &&
           set_seal(context, annotations);
}

bool mirror_set_precondition(struct json *patch, const struct json *object, bool as_seen) {
    struct json *metadata = carry_member(patch, "metadata");
    return set_text(metadata, "uid", object_uid(object)) &&
           (!as_seen || set_text(metadata, "resourceVersion", object_version(object)));
}

static bool is_finalizer(const struct json *item) {
    return text_equal(json_string(item), MARK_FINALIZER);
}

bool finalizer_is_on(const struct json *mirror) {
    for (const struct json *f = json_first(json_path(mirror, "metadata", "finalizers", NULL)); f; f = json_next(f))
        if (is_finalizer(f))
            return true;
    return false;
}

static bool put_finalizer(struct json *mirror) {
    AUTO_JSON list = json_new_array();
    return json_append(list, json_new_string(MARK_FINALIZER)) &&
           json_set(carry_member(mirror, "metadata"), "finalizers", TAKE(list));
}

// The list without the host's finalizer. A merge patch replaces arrays whole, so resourceVersion is a precondition.
struct json *finalizer_patch_off(const struct json *mirror) {
    AUTO_JSON patch = json_new_object();
    AUTO_JSON list = json_new_array();
    bool ok = patch && list && mirror_set_precondition(patch, mirror, true);
    for (const struct json *f = json_first(json_path(mirror, "metadata", "finalizers", NULL)); f && ok;
         f = json_next(f))
        ok = is_finalizer(f) || json_append(list, json_copy(f));
    ok = ok && json_set(json_get(patch, "metadata"), "finalizers", json_size(list) > 0 ? TAKE(list) : json_new_null());
    return ok ? TAKE(patch) : NULL;
}

static struct json *copy_workload(const struct json *workload) {
    AUTO_JSON mirror = json_new_object();
    struct json *metadata = carry_rest(workload, mirror) ? carry_member(mirror, "metadata") : NULL;
    const char *space = object_namespace(workload);
    bool ok = set_text(metadata, "name", object_name(workload)) && (!*space || set_text(metadata, "namespace", space));
    return ok ? TAKE(mirror) : NULL;
}

// Removes the kind's removed fields and calls the adapter's mirror function.
static wharf_result adapt_mirror(const struct mirror_context *context, const struct json *from, struct json *mirror) {
    pointer_remove(mirror, context->kind->abi.managed_by);
    for (const char *const *p = context->kind->abi.removed; p && *p; p++)
        pointer_remove_all(mirror, *p);
    if (!mirror_set_progress(context, mirror))
        return WHARF_RETRY;
    wharf_result result = adapter_mirror(context->call, from, mirror);
    if (result != WHARF_OK || context->progress != PROGRESS_OWED)
        return result;
    const wharf_kind *kind = &context->kind->abi;
    return pointer_set(mirror, kind->suspend, phase_suspend_value(kind, mirror)) ? WHARF_OK : WHARF_RETRY;
}

static size_t annotations_size(const struct json *object) {
    size_t size = 0;
    for (const struct json *m = carry_first(object, "annotations"); m; m = json_next(m))
        size += strlen(json_key(m)) + strlen(json_string_or(m, ""));
    return size;
}

wharf_result mirror_check_annotations(const struct mirror_context *context, const struct json *object) {
    size_t size = annotations_size(object), theirs = annotations_size(context->workload);
    if (size <= MIRROR_ANNOTATIONS_MAX)
        return WHARF_OK;
    const char *record = object_annotation(object, MARK_CARRIED);
    context->call->answer.reason = "AnnotationsTooLarge";
    context->call->answer.message = services_table()->format(
        &context->call->call,
        "the annotations of the mirror would have %zu bytes, more than the %zu that an API server accepts: %zu of the "
        "workload's, and a record of %zu carried labels, annotations and fields with %zu; reduce the annotations",
        size, MIRROR_ANNOTATIONS_MAX, theirs, record ? strlen(record) / 8 : 0, record ? strlen(record) : 0);
    return WHARF_REFUSED;
}

// The hash of the immutable fields shows later changes.
static bool set_records(const struct mirror_context *context, struct json *mirror, struct record *record) {
    struct json *annotations = carry_metadata(mirror, "annotations");
    uint64_t immutable = carry_immutable_hash(&context->kind->abi, context->workload);
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)immutable);
    record->word = phase_suspend_asked(&context->kind->abi, mirror) ? RECORD_SUSPENDED : RECORD_RUNS;
    AUTO_BUFFER(text, SIZE_MAX / 4);
    if (!immutable || !record_print(record, &(struct record){0}, &text) ||
        !set_text(annotations, MARK_CARRIED, text.data) || !set_text(annotations, MARK_IMMUTABLE, hash))
        return false;
    if (context->record)
        context->record->next = buffer_take(&text, NULL);
    return !context->record || context->record->next;
}

void mirror_record_cleanup(struct mirror_record *record) {
    if (!record)
        return;
    free(TAKE(record->next));
    free(TAKE(record->held));
}

wharf_result mirror_make(const struct mirror_context *context, struct json **out) {
    *out = NULL;
    AUTO_JSON own = NULL;
    AUTO_JSON filled = NULL;
    const wharf_kind *kind = &context->kind->abi;
    const struct json *from = values_source(context->kind, context->workload, NULL, context->attempt, &filled);
    from = from ? kueue_source(from, &own) : NULL;
    AUTO_JSON mirror = from ? copy_workload(from) : NULL;
    const struct record none = {0};
    AUTO_RECORD record = {.bare = context->record && context->record->bare};
    struct carrying carrying = {.kind = kind, .from = from, .to = mirror, .before = &none, .after = &record};
    if (!mirror || !carry_fields(&carrying, true) || !carry_record(&carrying))
        return WHARF_RETRY;
    wharf_result result = adapt_mirror(context, from, mirror);
    if (result != WHARF_OK)
        return result;
    if (!carry_record_changes(&carrying, true) ||
        !set_text(carry_member(mirror, "metadata"), "name", object_name(context->workload)) ||
        !mirror_set_marks(context, mirror) || !set_records(context, mirror, &record) ||
        !values_mark(context->kind, context->workload, context->attempt, mirror) ||
        (context->finalizer && !put_finalizer(mirror)))
        return WHARF_RETRY;
    result = mirror_check_annotations(context, mirror);
    if (result == WHARF_OK)
        *out = TAKE(mirror);
    else
        mirror_record_cleanup(context->record);
    return result;
}

// The current generation once the mirror is up to date and the worker's controller has observed that; until then the
// old value.
static bool set_observed(const struct mirror_context *context, struct json *object) {
    const char *observed = context->kind->abi.observed_generation;
    if (!observed || !pointer_find(object, observed))
        return true;
    int64_t generation = object_generation(context->workload);
    if (json_int64(pointer_find(object, observed), 0) < object_generation(context->mirror) ||
        !mirror_is_complete(context))
        generation = json_int64(pointer_find(context->workload, observed), 0);
    return pointer_set(object, observed, json_new_int64(generation));
}

// An object with the initial status: the mirror's without the worker's own fields; or, without a mirror, the workload's
// with the conditions due in that case.
static wharf_result draft_status(const struct mirror_context *context, struct json *object) {
    // Without a status of the mirror, the workload keeps the present status.
    const struct json *reported = json_get(context->mirror, "status");
    bool has = context->had_status || (json_is(reported, JSON_OBJECT) && json_size(reported) > 0);
    const struct json *source = has ? reported : json_get(context->workload, "status");
    if (json_is(source, JSON_OBJECT) ? !json_set(object, "status", json_copy(source))
                                     : has && !json_set(object, "status", json_new_object()))
        return WHARF_RETRY;
    if (!context->mirror)
        return owed_status(context->call, context->workload, object);
    for (const char *const *p = context->kind->abi.status_removed; has && p && *p; p++)
        pointer_remove_all(object, *p);
    return !has || set_observed(context, object) ? WHARF_OK : WHARF_RETRY;
}

// The draft as completed by the adapter. NULL unless WHARF_OK.
static wharf_result make_status(const struct mirror_context *context, struct json **status) {
    *status = NULL;
    AUTO_JSON object = json_new_object();
    wharf_result result = object ? draft_status(context, object) : WHARF_RETRY;
    if (result == WHARF_OK)
        result = adapter_status(context->call, context->workload, context->mirror, object);
    if (result != WHARF_OK)
        return result;
    const struct json *made = json_get(object, "status");
    if (made && !json_is(made, JSON_OBJECT)) {
        context->call->answer.message = "the adapter returned a status that is not an object";
        return WHARF_REFUSED;
    }
    *status = made ? json_detach(object, "status") : json_new_object();
    return *status ? WHARF_OK : WHARF_RETRY;
}

// Rule 6: finished stays finished: the workload keeps a final status that the new status would end. False: out of
// memory, or no result of the adapter.
static bool stays_finished(const struct mirror_context *context, struct json **status) {
    wharf_phase phase;
    if (context->unfinished || adapter_phase(context->call, context->workload, &phase) != WHARF_OK ||
        !phase_is_final(phase.phase))
        return context->call->trouble == CALL_FINE;
    wharf_phase_kind end = phase.phase;
    AUTO_JSON workload = json_copy(context->workload);
    if (!workload || !json_set(workload, "status", json_copy(*status)))
        return false;
    bool same = adapter_phase(context->call, workload, &phase) == WHARF_OK && phase.phase == end;
    if (same || context->call->trouble != CALL_FINE)
        return same;
    struct json *kept = json_copy(json_get(context->workload, "status"));
    if (!kept)
        return false;
    json_free(*status);
    *status = kept;
    return true;
}

wharf_result mirror_status(const struct mirror_context *context, struct json **patch, uint64_t *wanted) {
    *patch = NULL;
    AUTO_JSON status = NULL;
    wharf_result result = make_status(context, &status);
    if (result != WHARF_OK)
        return result;
    if (!stays_finished(context, &status))
        return WHARF_RETRY;
    *wanted = json_hash(status);
    return mirror_status_patch(context, status, patch);
}

wharf_result mirror_status_patch(const struct mirror_context *context, const struct json *status, struct json **patch) {
    AUTO_JSON empty = json_new_object();
    const struct json *present = json_get(context->workload, "status");
    AUTO_JSON diff = empty ? patch_diff(json_is(present, JSON_OBJECT) ? present : empty, status, NULL) : NULL;
    if (!diff)
        return WHARF_RETRY;
    if (json_size(diff) == 0)
        return WHARF_OK;
    AUTO_JSON body = json_new_object();
    if (!mirror_set_precondition(body, context->workload, true) || !json_set(body, "status", TAKE(diff)))
        return WHARF_RETRY;
    *patch = TAKE(body);
    return WHARF_OK;
}
