// SPDX-License-Identifier: Apache-2.0
// Fields that the worker drops, and marks that a policy in the worker strips or changes at the create. Watches do not
// show a mirror without marks, and a restarted host would not recognise the mirror, which counts as rejected: the host
// deletes the mirror by the uid, once, and reschedules the workload.
#include "core/engine/mirror/mirror_parts.h"

#include "core/engine/placement/placing.h"
#include "core/engine/request/command.h"
#include "core/json/pointer.h"

#define POINTER_MAX ((size_t)4096)
#define DEPTH_MAX 64

struct dropped_search {
    const struct kind *kind; // the kind's removed fields do not count; NULL: all fields count
    bool only_scheduling;
    struct buffer *out; // NULL: the caller needs only the number
    size_t found;
};

// A place below the spec. The search writes pointers of missing fields only.
struct dropped_at {
    const struct dropped_at *above;
    const char *key; // NULL: an item
    size_t index;
    int depth;
    const char *in;  // the last key above
    bool scheduling; // is such a field, or below one
};

// Servers leave out empty values, CRDs and webhooks also objects of such.
static bool is_empty(const struct json *value, int depth) {
    if (!json_is_container(value))
        return json_is_zero(value);
    for (const struct json *member = json_first(value); member; member = json_next(member))
        if (depth == DEPTH_MAX || !is_empty(member, depth + 1))
            return false;
    return true;
}

static void write_pointer(const struct dropped_at *place, struct buffer *out) {
    if (place->above) {
        write_pointer(place->above, out);
        pointer_append_child(out, place->key, place->index);
    } else {
        buffer_text(out, "/spec");
    }
}

// The stored object lacks the value at the place.
static void note_field(struct dropped_search *search, const struct json *value, const struct dropped_at *place) {
    bool scheduling = place->scheduling || scheduling_is_below(value, place->key);
    if ((search->only_scheduling && !scheduling) ||
        (place->scheduling ? scheduling_is_unset(place->key, value) : !scheduling && is_empty(value, 0)))
        return;
    AUTO_BUFFER(pointer, POINTER_MAX);
    write_pointer(place, &pointer);
    if (pointer.failed || (search->kind && carry_is_removed(&search->kind->abi, pointer.data)))
        return;
    search->found++;
    if (search->out && search->found <= DROPPED_NAMED && search->out->len + pointer.len + 32 < DROPPED_TEXT_MAX)
        buffer_printf(search->out, "%s%s", search->found > 1 ? ", " : "", pointer.data);
}

static void compare(struct dropped_search *search, const struct json *sent, const struct json *stored,
                    const struct dropped_at *place);

static void compare_items(struct dropped_search *search, const struct json *sent, const struct json *stored,
                          struct dropped_at *place) {
    bool as_many = json_size(sent) == json_size(stored);
    const struct json *beside = json_first(stored);
    for (const struct json *item = json_first(sent); item; item = json_next(item), place->index++) {
        const char *name = json_string(json_get(item, "name"));
        const struct json *other = name ? json_find_item(stored, "name", name) : as_many ? beside : NULL;
        if (other)
            compare(search, item, other, place);
        beside = as_many ? json_next(beside) : NULL;
    }
}

static void compare_members(struct dropped_search *search, const struct json *sent, const struct json *stored,
                            struct dropped_at *place) {
    for (const struct json *member = json_first(sent); member; member = json_next(member)) {
        place->key = json_key(member);
        place->scheduling = place->above->scheduling || scheduling_is_named(place->key, place->in);
        const struct json *other = json_get(stored, place->key);
        if (other)
            compare(search, member, other, place);
        else
            note_field(search, member, place);
    }
}

// The server converted a value of another type, and did not drop it.
static void compare(struct dropped_search *search, const struct json *sent, const struct json *stored,
                    const struct dropped_at *place) {
    struct dropped_at below = {.above = place,
                               .depth = place->depth + 1,
                               .in = place->key ? place->key : place->in,
                               .scheduling = place->scheduling};
    if (below.depth > DEPTH_MAX || json_type(sent) != json_type(stored))
        return;
    if (json_is(sent, JSON_ARRAY))
        compare_items(search, sent, stored, &below);
    else if (json_is(sent, JSON_OBJECT))
        compare_members(search, sent, stored, &below);
}

size_t dropped_find(const struct kind *kind, bool only_scheduling, const struct json *sent, const struct json *stored,
                    struct buffer *out) {
    struct dropped_search search = {.kind = kind, .only_scheduling = only_scheduling, .out = out};
    const struct json *spec = json_get(sent, "spec"), *kept = json_get(stored, "spec");
    if (spec && kept)
        compare(&search, spec, kept, &(struct dropped_at){.above = NULL});
    if (out && search.found > DROPPED_NAMED)
        buffer_printf(out, ", and %zu more", search.found - DROPPED_NAMED);
    return search.found;
}

size_t dropped_of(struct engine *engine, struct entry *entry, const struct json *stored, bool only_scheduling,
                  struct buffer *out) {
    const struct kind *kind = engine->kinds[entry->kind];
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    if (!workload || dropped_find(kind, only_scheduling, workload, stored, NULL) == 0)
        return 0;
    AUTO_CALL call;
    AUTO_JSON sent = NULL;
    struct mirror_context context = call_begin_for_mirror(engine, entry, NULL, WHARF_MIRROR_NONE, &call);
    bool made = context.workload && mirror_make(&context, &sent) == WHARF_OK;
    if (call.trouble != CALL_FINE)
        return DROPPED_UNKNOWN;
    return made ? dropped_find(NULL, only_scheduling, sent, stored, out) : 0;
}

enum require_fields dropped_required(const struct engine *engine, const struct entry *entry) {
    return placement_rule_of(engine, entry, NULL, NULL)->require_fields;
}

// 0: the workload has no field that the worker has to keep.
static uint64_t fingerprint_of(struct engine *engine, const struct entry *entry) {
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    return scheduling_fingerprint(engine->kinds[entry->kind], workload);
}

static bool are_kept(const struct kept_fields *kept, uint64_t fingerprint) {
    for (size_t i = 0; i < KEPT_FIELDS; i++)
        if (kept->fingerprints[i] == fingerprint)
            return true;
    return false;
}

bool dropped_must_try(struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    enum require_fields required = dropped_required(engine, entry);
    if (mirror->tried || required == REQUIRE_NONE)
        return false;
    return required == REQUIRE_ALL ||
           !are_kept(&engine->clusters[mirror->facts.cluster].mirror, fingerprint_of(engine, entry));
}

void dropped_note(struct engine *engine, const struct entry *entry, const struct mirror *mirror, bool some) {
    struct kept_fields *kept = &engine->clusters[mirror->facts.cluster].mirror;
    uint64_t fingerprint = dropped_required(engine, entry) == REQUIRE_SCHEDULING ? fingerprint_of(engine, entry) : 0;
    if (some)
        *kept = (struct kept_fields){0};
    else if (!are_kept(kept, fingerprint))
        kept->fingerprints[kept->next++ % KEPT_FIELDS] = fingerprint;
}

// The next connection may lead to another version of the server, or of the CRD.
static void on_state(struct engine *engine, struct engine_event *event) {
    engine->clusters[event->cluster].mirror = (struct kept_fields){0};
}

const struct part part_dropped = {
    .name = "dropped fields", .before = answer_check_dropped, .events = PART_EVENT(EVENT_STATE), .event = on_state};

const char *marks_lost(struct engine *engine, const struct entry *entry, struct mirror *mirror, uint32_t attempt,
                       bool sealed) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    const struct kind *kind = engine->kinds[entry->kind];
    if (!object)
        return NULL;
    if (!text_equal(object_label(object, MARK_ORIGIN), engine->origin))
        return MARK_ORIGIN;
    if (!text_equal(object_label(object, MARK_UID), entry->workload->uid))
        return MARK_UID;
    if (!text_equal(object_label(object, MARK_KIND), kind->plural_group))
        return MARK_KIND;
    if (mirror_attempt(object) != attempt)
        return MARK_ATTEMPT;
    if (sealed || !seal_keys_any(engine->seals))
        return NULL;
    enum seal_verdict verdict = mirror_seal(kind, engine->seals, mirror_cluster(engine, mirror), object);
    return verdict == SEAL_VALID || verdict == SEAL_OLD_KEY ? NULL : MARK_SEAL;
}

void marks_adopt(struct entry *entry, struct mirror *mirror, uint32_t attempt) {
    text_copy(mirror->workload_uid, sizeof mirror->workload_uid, entry->workload->uid);
    mirror->facts.attempt = attempt;
    mirror->facts.of_workload = mirror->was_of_workload = mirror->facts.proven = mirror->unmarked =
        mirror->facts.marks_stripped = true;
}
