// SPDX-License-Identifier: Apache-2.0
// The patch that keeps a mirror up to date with the workload: carried fields, the adapter's changes, fields that the
// worker owns, and the record.
#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#define PROGRESS_AT "/metadata/annotations/wharf.dev~1progress"
#define HELD_MAX ((size_t)64 << 10) // names of pieces that are held back

// Other reasons would be the answer to any piece: no rights, no namespace.
static bool is_about_content(enum reason reason) {
    return reason == REASON_INVALID || reason == REASON_FORBIDDEN || reason == REASON_BAD_REQUEST;
}

void rejections_hold(struct rejections *refused, uint64_t hash) {
    refused->hashes[refused->n++ % REJECTIONS_MAX] = hash;
}

bool rejections_add(struct rejections **refused, uint64_t hash, const struct response *response, int64_t until_ns) {
    if (!*refused)
        *refused = calloc(1, sizeof **refused);
    struct rejections *r = *refused;
    if (!r)
        return false;
    r->until_ns = until_ns;
    r->reason = response->reason;
    r->whole = !is_about_content(response->reason);
    r->reported = false;
    free(r->message);
    r->message = strdup(response->message);
    rejections_hold(r, hash);
    return true;
}

static bool rejections_has(const struct rejections *refused, uint64_t hash) {
    uint32_t n = !refused ? 0 : refused->n < REJECTIONS_MAX ? refused->n : REJECTIONS_MAX;
    for (uint32_t i = 0; i < n; i++)
        if (refused->hashes[i] == hash)
            return true;
    return false;
}

void rejections_end(struct rejections **refused) {
    if (*refused)
        free((*refused)->message);
    free(*refused);
    *refused = NULL;
}

static size_t pieces_count(const wharf_kind *kind) {
    size_t fields = 0;
    while (kind->carried && kind->carried[fields].pointer)
        fields++;
    return PIECE_FIELD - PIECE_SUSPEND + fields;
}

bool rejections_may_send(struct rejections *refused, const wharf_kind *kind, uint64_t source) {
    if (refused->source != source)
        refused->sent = 0;
    refused->source = source;
    return refused->sent++ < 2 * pieces_count(kind);
}

// The piece in place `i`. A change that suspends the mirror comes first. A change that resumes the mirror comes after
// the fields, some of which may change only in a suspended mirror.
static enum piece pieces_at(const wharf_kind *kind, size_t i, bool resumes) {
    size_t first = resumes ? PIECE_SPEC - PIECE_SUSPEND : 0;
    return (enum piece)(PIECE_SUSPEND + (first + i) % pieces_count(kind));
}

// If a value of another type is in the way, the piece does not have the value.
static void take_at(struct json *part, const struct json *desired, const char *pointer) {
    const struct json *value = pointer ? pointer_find(desired, pointer) : NULL;
    if (value && !json_equal(pointer_find(part, pointer), value))
        (void)pointer_set(part, pointer, json_copy(value));
    else if (!value && pointer)
        pointer_remove(part, pointer);
}

// Without the record: the record of the piece follows.
static bool is_taken(const char *key, bool private_only) {
    return strcmp(key, MARK_CARRIED) != 0 && (!private_only || mirror_key_is_private(key));
}

static bool take_map(struct json *part, const struct json *desired, const char *name, bool private_only) {
    struct json *map = carry_metadata(part, name);
    const struct json *from = json_path(desired, "metadata", name, NULL);
    for (struct json *m = map ? json_first(map) : NULL, *next; m; m = next) {
        next = json_next(m);
        if (!json_get(from, json_key(m)) && is_taken(json_key(m), private_only))
            json_remove_child(map, m);
    }
    for (const struct json *m = carry_first(desired, name); map && m; m = json_next(m))
        if (is_taken(json_key(m), private_only) && !json_equal(json_get(map, json_key(m)), m) &&
            !json_set(map, json_key(m), json_copy(m)))
            return false;
    return map;
}

struct piece_fields {
    struct json *part;
    const struct json *desired;
};

static bool take_value(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    const struct piece_fields *taking = ctx;
    take_at(taking->part, taking->desired, pointer);
    return true;
}

// Values of the desired mirror, and values to remove.
static bool take_field(struct json *part, const struct json *mirror, const struct json *desired, const char *pattern) {
    struct piece_fields taking = {part, desired};
    return pointer_each(desired, pattern, take_value, &taking) && pointer_each(mirror, pattern, take_value, &taking);
}

bool piece_has_record(enum piece piece) {
    return piece == PIECE_WHOLE || piece == PIECE_RECORD || piece == PIECE_KEYS;
}

// `mirror` with this piece of `desired`. NULL when out of memory.
static struct json *piece_cut(const wharf_kind *kind, const struct json *mirror, const struct json *desired,
                              enum piece piece) {
    AUTO_JSON part = json_copy(mirror);
    if (!part)
        return NULL;
    bool ok = true;
    if (piece == PIECE_SUSPEND) { // a resumed mirror is not owed progress
        take_at(part, desired, kind->suspend);
        take_at(part, desired, PROGRESS_AT);
    } else if (piece_has_record(piece))
        ok = take_map(part, desired, "labels", piece == PIECE_RECORD) &&
             take_map(part, desired, "annotations", piece == PIECE_RECORD);
    else
        ok = piece == PIECE_SPEC ? carry_rest(desired, part)
                                 : take_field(part, mirror, desired, kind->carried[piece - PIECE_FIELD].pointer);
    if (piece >= PIECE_KEYS) // `suspend` may be an annotation
        take_at(part, mirror, kind->suspend);
    return ok ? TAKE(part) : NULL;
}

// Appends the name to a list for people.
static void piece_name(const wharf_kind *kind, enum piece piece, struct buffer *out) {
    const char *name = piece == PIECE_SUSPEND  ? kind->suspend
                       : piece == PIECE_RECORD ? "the host's own annotations"
                       : piece == PIECE_KEYS   ? "labels and annotations"
                       : piece == PIECE_WHOLE  ? "all of it"
                       : piece >= PIECE_FIELD  ? kind->carried[piece - PIECE_FIELD].pointer
                                               : NULL; // by its fields
    if (name)
        buffer_printf(out, "%s%s", out->len > 0 ? ", " : "", name);
}

// The part that the host may change: labels, annotations, and all members but metadata and status.
static struct json *comparable(const struct json *object) {
    AUTO_JSON result = json_new_object();
    struct json *metadata = carry_member(result, "metadata");
    const struct json *labels = json_path(object, "metadata", "labels", NULL);
    const struct json *annotations = json_path(object, "metadata", "annotations", NULL);
    bool ok = metadata && (!labels || json_set(metadata, "labels", json_copy(labels))) &&
              (!annotations || json_set(metadata, "annotations", json_copy(annotations))) && carry_rest(object, result);
    return ok ? TAKE(result) : NULL;
}

// The desired mirror, and the patch to the desired mirror or to a piece.
struct change {
    struct carrying carrying;  // `to` is `desired` or `part`: the target of `diff`
    const struct json *source; // the workload with the variables of the mirror, see values.h
    struct json *own, *filled; // copies of the workload, as sources of mirrors; or NULL
    struct json *desired, *part, *diff;
    struct record before, after;
    bool has_array;
    struct buffer rejected; // names of pieces that the worker rejected before
    bool any_rejected;
};

static void change_cleanup(struct change *change) {
    json_free(change->own);
    json_free(change->filled);
    json_free(change->desired);
    json_free(change->part);
    json_free(change->diff);
    record_cleanup(&change->before);
    record_cleanup(&change->after);
    buffer_free(&change->rejected);
}

#define AUTO_CHANGE __attribute__((cleanup(change_cleanup))) struct change

// The mirror is suspended, and the host's last write was not a suspension: the worker suspended the mirror and has to
// resume it. A suspended workload takes the suspension over, but not from a queue, which resumes its own suspensions.
static bool is_held(const struct mirror_context *context, const struct record *before) {
    const wharf_kind *kind = &context->kind->abi;
    return phase_suspend_asked(kind, context->mirror) &&
           (before->word == RECORD_RUNS || before->word == RECORD_WORKER) &&
           (!phase_suspend_asked(kind, context->workload) || object_label(context->mirror, KUEUE_QUEUE_NAME));
}

static enum record_word last_word(const struct mirror_context *context, const struct change *change) {
    if (change->carrying.held)
        return RECORD_WORKER;
    if (phase_suspend_asked(&context->kind->abi, change->carrying.to))
        return RECORD_SUSPENDED;
    return change->before.word == RECORD_WORKER ? RECORD_WORKER : RECORD_RUNS;
}

// Resumes the mirror of a running workload. The workload may not have the field, and then carries nothing.
static bool resume(const struct mirror_context *context, struct json *desired, bool held) {
    const char *suspend = context->kind->abi.suspend;
    if (!suspend || held || phase_suspend_asked(&context->kind->abi, context->workload) ||
        !phase_suspend_asked(&context->kind->abi, desired))
        return true;
    const struct json *value = pointer_find(context->workload, suspend);
    if (value)
        return pointer_set(desired, suspend, json_copy(value));
    pointer_remove(desired, suspend);
    return true;
}

// The worker's guard suspended the mirror while this host was away.
static bool undo_fence(const struct mirror_context *context, struct json *desired, bool held) {
    struct json *annotations = carry_metadata(desired, "annotations");
    if (!annotations)
        return false;
    json_remove(annotations, MARK_FENCED);
    return resume(context, desired, held);
}

// Makes the patch to carrying.to, and the record after the patch.
static wharf_result make_diff(const struct mirror_context *context, struct change *change) {
    record_cleanup(&change->after);
    change->after.shared = change->before.shared;
    change->after.bare = change->before.bare;
    if (!carry_record_changes(&change->carrying, false) || !carry_record_changes(&change->carrying, true))
        return WHARF_RETRY;
    change->after.word = last_word(context, change);
    AUTO_JSON from = comparable(context->mirror);
    AUTO_JSON to = comparable(change->carrying.to);
    json_free(change->diff);
    change->has_array = false;
    change->diff = from && to ? patch_diff(from, to, &change->has_array) : NULL;
    return change->diff ? WHARF_OK : WHARF_RETRY;
}

// Makes the desired mirror, and the patch.
static wharf_result draft_mirror(const struct mirror_context *context, struct change *change) {
    const char *known = context->record ? context->record->known : NULL;
    const char *annotation = object_annotation(context->mirror, MARK_CARRIED);
    struct carrying *carrying = &change->carrying;
    change->desired = json_copy(context->mirror);
    change->source =
        values_source(context->kind, context->workload, context->mirror, context->attempt, &change->filled);
    *carrying = (struct carrying){.kind = &context->kind->abi,
                                  .from = change->source ? kueue_source(change->source, &change->own) : NULL,
                                  .mirror = context->mirror,
                                  .to = change->desired,
                                  .before = &change->before,
                                  .after = &change->after};
    if (!carrying->from || !change->desired ||
        !record_read(&change->before, known, annotation, context->record && context->record->unsure))
        return WHARF_RETRY;
    const char *fenced = object_annotation(context->mirror, MARK_FENCED);
    carrying->held = context->suspended_by_kueue || (!fenced && is_held(context, &change->before));
    change->before.shared |= carrying->held;
    change->after.bare = change->before.bare;
    // Kueue's fields go before the adapter compares.
    if (!carry_fields(carrying, false) || !carry_fields(carrying, true) ||
        (change->own && !kueue_strip(change->desired, context->mirror)))
        return WHARF_RETRY;
    if (!mirror_set_progress(context, change->desired))
        return WHARF_RETRY;
    wharf_result result = adapter_update(context->call, carrying->from, context->mirror, change->desired);
    if (result != WHARF_OK)
        return result;
    bool settled = context->progress == PROGRESS_GIVEN || context->progress == PROGRESS_REFUSED;
    bool ok = (!fenced || undo_fence(context, change->desired, carrying->held)) &&
              (!settled || resume(context, change->desired, carrying->held));
    return ok && mirror_set_marks(context, change->desired) && carry_give_back(carrying) ? make_diff(context, change)
                                                                                         : WHARF_RETRY;
}

// How to write a record that is not in a patch yet, if there is nothing else to carry.
enum record_need {
    RECORD_WRITE, // by a separate patch: a restarted host has to know the carried fields and the owner of `suspend`
    RECORD_WAIT,  // with the next change; until then the record is in the host's memory
    RECORD_THERE  // not at all: the mirror has the record
};

// The next change converts a record in the old format. Values of spec fields matter only after a suspension in the
// worker, which is a change of the record itself.
static bool find_need(const struct mirror_context *context, const struct change *change, const char *present,
                      enum record_need *need) {
    const char *known = context->record ? context->record->known : NULL;
    const struct record *after = &change->after;
    AUTO_RECORD there = {0};
    *need = known ? RECORD_WRITE : RECORD_THERE; // the mirror may never have had a record
    if (!present)
        return true;
    if (!record_read(&there, present, NULL, false))
        return false;
    bool untouched = there.old && (!known || strcmp(known, present) == 0) && !change->carrying.held;
    bool covered = untouched ? record_has_all(&there.carried, &after->carried) : record_covers(&there, after);
    bool has_values = untouched || record_has_all(&there.values, &after->values);
    *need = !covered ? RECORD_WRITE : has_values ? RECORD_THERE : after->shared ? RECORD_WRITE : RECORD_WAIT;
    return true;
}

static bool set_record(struct json *object, const char *text) {
    return json_set(carry_metadata(object, "annotations"), MARK_CARRIED, json_new_string(text));
}

// Puts the record into the patch if the mirror has another one. `text` is then the mirror's record after the patch.
static wharf_result add_record(const struct mirror_context *context, struct change *change, struct buffer *text) {
    const char *present = object_annotation(context->mirror, MARK_CARRIED);
    bool same = present && strcmp(present, text->data) == 0, alone = json_size(change->diff) == 0;
    if (context->record)
        context->record->alone = alone;
    if (alone) {
        enum record_need need = RECORD_THERE;
        if (!same && !find_need(context, change, present, &need))
            return WHARF_RETRY;
        if (need == RECORD_WAIT)
            return WHARF_OK;
        if (need == RECORD_THERE) {
            buffer_reset(text);
            return !present || buffer_text(text, present) ? WHARF_OK : WHARF_RETRY;
        }
    }
    if (!same && !set_record(change->carrying.to, text->data))
        return WHARF_RETRY;
    wharf_result result = mirror_check_annotations(context, change->carrying.to);
    if (result != WHARF_OK || same)
        return result;
    return set_record(change->diff, text->data) ? WHARF_OK : WHARF_RETRY;
}

// Whether the immutable fields are the same as at the create.
static bool immutable_is_same(const struct mirror_context *context) {
    const char *made_of = object_annotation(context->mirror, MARK_IMMUTABLE);
    return !made_of || strtoull(made_of, NULL, 16) == carry_immutable_hash(&context->kind->abi, context->workload);
}

// Caches the result of a comparison.
static bool set_carry(const struct mirror_context *context, bool complete) {
    if (context->carry)
        *context->carry = complete ? CARRY_COMPLETE : CARRY_PARTIAL;
    return complete;
}

bool mirror_is_complete(const struct mirror_context *context) {
    if (context->carry && *context->carry != CARRY_UNKNOWN)
        return *context->carry == CARRY_COMPLETE;
    if (!immutable_is_same(context))
        return set_carry(context, false);
    AUTO_CHANGE change = {0};
    wharf_result result = draft_mirror(context, &change);
    if (result == WHARF_RETRY) // not known now
        return false;
    return set_carry(context, result == WHARF_OK && json_size(change.diff) == 0);
}

// resourceVersion is a precondition of patches with arrays, which a merge patch replaces whole; of resuming, since the
// host resumes only its own suspension; and of fields that may change only in a suspended mirror.
static wharf_result finish_patch(const struct mirror_context *context, struct change *change, enum piece piece,
                                 struct json **patch) {
    AUTO_BUFFER(text, SIZE_MAX / 4);
    struct mirror_record *record = context->record;
    const wharf_kind *kind = &context->kind->abi;
    bool bare = !piece_has_record(piece), was_suspended = phase_suspend_asked(kind, context->mirror);
    bool resumes = was_suspended && !phase_suspend_asked(kind, change->carrying.to);
    if (bare && json_size(change->diff) == 0)
        return WHARF_OK;
    if (!record_print(&change->after, &change->before, &text))
        return WHARF_RETRY;
    wharf_result result = bare ? WHARF_OK : add_record(context, change, &text);
    if (result != WHARF_OK)
        return result;
    if (record) {
        record->piece = (uint16_t)piece;
        record->stops = !was_suspended && phase_suspend_asked(kind, change->carrying.to);
        record->suspended_in_worker = change->carrying.held && !context->suspended_by_kueue;
        free(TAKE(record->next));
        bool known = text.len > 0;
        record->next = known ? buffer_take(&text, NULL) : NULL;
        if (known && !record->next)
            return WHARF_RETRY;
    }
    if (json_size(change->diff) == 0)
        return WHARF_OK;
    size_t others = json_size(change->diff) - (json_get(change->diff, "metadata") ? 1 : 0);
    bool as_seen = change->has_array || resumes || (was_suspended && others > 0) || context->progress;
    if (!mirror_set_precondition(change->diff, context->mirror, as_seen))
        return WHARF_RETRY;
    *patch = TAKE(change->diff);
    return WHARF_OK;
}

uint64_t mirror_patch_hash(const struct json *patch) {
    uint64_t hash = 0;
    for (const struct json *m = json_first(patch); m; m = json_next(m))
        if (strcmp(json_key(m), "metadata") != 0)
            hash = hash * 31 + json_hash(m);
    for (const struct json *m = json_first(json_get(patch, "metadata")); m; m = json_next(m))
        if (strcmp(json_key(m), "resourceVersion") != 0)
            hash = hash * 31 + json_hash(m);
    return hash ? hash : 1;
}

// Drops a patch that the worker rejected before.
static void hold_back(const struct mirror_context *context, struct change *change, enum piece piece,
                      struct json **patch) {
    if (!*patch || !rejections_has(context->record->refused, mirror_patch_hash(*patch)))
        return;
    change->any_rejected = true;
    piece_name(&context->kind->abi, piece, &change->rejected);
    json_free(TAKE(*patch));
}

static wharf_result make_piece(const struct mirror_context *context, struct change *change, enum piece piece,
                               struct json **patch) {
    json_free(change->part);
    change->carrying.to = change->part = piece_cut(&context->kind->abi, context->mirror, change->desired, piece);
    wharf_result result = change->part ? make_diff(context, change) : WHARF_RETRY;
    return result == WHARF_OK ? finish_patch(context, change, piece, patch) : result;
}

// The first piece that the worker has not rejected.
static wharf_result choose_piece(const struct mirror_context *context, struct change *change, struct json **patch) {
    const wharf_kind *kind = &context->kind->abi;
    wharf_result last = WHARF_OK;
    bool resumes = phase_suspend_asked(kind, context->mirror) && !phase_suspend_asked(kind, change->desired);
    for (size_t i = 0; i < pieces_count(kind) && !*patch; i++) {
        enum piece piece = pieces_at(kind, i, resumes);
        wharf_result result = make_piece(context, change, piece, patch);
        if (result == WHARF_RETRY)
            return result;
        last = result == WHARF_OK ? last : result;
        hold_back(context, change, piece, patch);
    }
    return *patch || change->any_rejected ? WHARF_OK : last;
}

// The whole, or after a rejection a piece.
static wharf_result choose_patch(const struct mirror_context *context, struct change *change, struct json **patch) {
    struct mirror_record *record = context->record;
    if (!record)
        return finish_patch(context, change, PIECE_WHOLE, patch);
    buffer_init(&change->rejected, HELD_MAX);
    wharf_result result = WHARF_REFUSED;
    if (!record->refused || record->refused->whole) {
        result = finish_patch(context, change, PIECE_WHOLE, patch);
        hold_back(context, change, PIECE_WHOLE, patch);
    }
    if (result == WHARF_REFUSED)
        result = choose_piece(context, change, patch);
    if (result != WHARF_OK || !change->any_rejected || *patch)
        return result;
    free(TAKE(record->next));
    record->held = strdup(change->rejected.len > 0 ? change->rejected.data : "the spec");
    return record->held ? WHARF_OK : WHARF_RETRY;
}

// Reports changes of immutable fields.
static wharf_result report_immutable(const struct mirror_context *context, const struct change *change) {
    if (context->call->answer.message || immutable_is_same(context))
        return WHARF_OK;
    AUTO_BUFFER(fields, 4096);
    if (!carry_immutable_differs(&context->kind->abi, change->source, context->mirror, &fields))
        return WHARF_RETRY;
    context->call->answer.reason = "NotCarried";
    context->call->answer.message =
        services_table()->format(&context->call->call,
                                 "%s changed, which cannot be carried to an existing mirror (immutable fields): the "
                                 "change takes effect only in a new mirror",
                                 fields.len ? fields.data : "a field of the spec");
    return WHARF_OK;
}

wharf_result mirror_patch(const struct mirror_context *context, struct json **patch) {
    *patch = NULL;
    AUTO_CHANGE change = {0};
    wharf_result result = draft_mirror(context, &change);
    if (result == WHARF_OK && context->kind->abi.observed_generation)
        set_carry(context, json_size(change.diff) == 0 && immutable_is_same(context));
    if (result == WHARF_OK)
        result = choose_patch(context, &change, patch);
    if (result == WHARF_OK)
        result = report_immutable(context, &change);
    if (result != WHARF_OK) {
        json_free(TAKE(*patch));
        mirror_record_cleanup(context->record);
    }
    return result;
}
