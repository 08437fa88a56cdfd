// SPDX-License-Identifier: Apache-2.0
// The host and the servers: creates mirrors, applies patches, counts generations.
#include "tests/unit/plugins/kinds.h"

#include "core/adapter/owed_status.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

static bool set_text(struct json *object, const char *key, const char *text) {
    return json_set(object, key, json_new_string(text));
}

struct json *kinds_stored(struct tale *tale, const struct json *object, const char *uid) {
    struct json *stored = json_copy(object);
    struct json *metadata = json_get(stored, "metadata");
    AUTO_TEXT version = text_format("%lld", (long long)tale->resource_version++);
    assert_true(json_is(metadata, JSON_OBJECT));
    assert_true(set_text(metadata, "uid", uid) && set_text(metadata, "resourceVersion", version) &&
                set_text(metadata, "creationTimestamp", KINDS_NOW) &&
                json_set(metadata, "generation", json_new_int64(1)));
    return stored;
}

struct json *kinds_workload(struct tale *tale) {
    struct json *workload = kinds_stored(tale, tale->fixture->workload, "workload-uid");
    static const char extra[] =
        "{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"name\":\"o\",\"uid\":\"o-uid\","
        "\"controller\":true}],\"finalizers\":[\"example.com/keep\"],\"managedFields\":[{\"manager\":\"kubectl\"}],"
        "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}}";
    struct json *patch = NULL;
    assert_null(json_parse(extra, sizeof extra - 1, &patch));
    struct json *metadata = json_get(workload, "metadata");
    assert_true(patch_apply(&metadata, patch));
    json_free(patch);
    return workload;
}

static struct mirror_context begin(const struct tale *tale, struct adapter_call *call) {
    static const char *const clusters[] = {"w1", "w2"};
    const char *slash = strrchr(json_string_or(json_get(tale->fixture->workload, "apiVersion"), ""), '/');
    struct call_context context = {
        .kind = &tale->kind->abi,
        .given = tale->kind->given,
        .cluster = tale->attempt ? clusters[(tale->attempt + 1) % 2] : NULL,
        .attempt = tale->attempt,
        .version = slash ? slash + 1 : "v1",
        .object = "default/one",
        .mirror_state = tale->mirror ? WHARF_MIRROR_PRESENT
                        : tale->lost ? WHARF_MIRROR_LOST
                                     : WHARF_MIRROR_NONE,
    };
    assert_true(clock_parse_rfc3339(KINDS_NOW, &context.now.wall_ns));
    context.now.wall_ns += tale->later_ns;
    adapter_call_begin(call, &context);
    return (struct mirror_context){.kind = tale->kind,
                                   .origin = "test",
                                   .call = call,
                                   .workload = tale->workload,
                                   .mirror = tale->mirror,
                                   .attempt = tale->attempt};
}

// Keeps the Event of a call, and checks that the call did not modify its inputs.
static void end(struct tale *tale, struct adapter_call *call, wharf_result result, const uint64_t hashes[2]) {
    if (call->answer.message) {
        free(tale->event);
        tale->event = strdup(adapter_answer_message(call, "unreadable"));
    }
    adapter_call_end(call);
    if (json_hash(tale->workload) != hashes[0] || json_hash(tale->mirror) != hashes[1])
        kinds_fail(tale, "a call changed an object that it was given to look at");
    if (result == WHARF_RETRY)
        kinds_fail(tale, "a call answers that it is to be tried again");
    if (result == WHARF_REFUSED && !tale->event)
        kinds_fail(tale, "a call refuses without a reason");
}

#define HASHES(tale)                                                                                                   \
    { json_hash((tale)->workload), json_hash((tale)->mirror) }

struct json *kinds_create(struct tale *tale) {
    uint64_t hashes[2] = HASHES(tale);
    struct adapter_call call;
    struct mirror_context job = begin(tale, &call);
    AUTO_JSON made = NULL;
    wharf_result result = adapter_accept(&call, tale->workload);
    if (result == WHARF_OK)
        result = mirror_make(&job, &made);
    end(tale, &call, result, hashes);
    if (result != WHARF_OK)
        return NULL;
    static const char *const allowed[] = {"name", "namespace", "labels", "annotations"};
    for (const struct json *m = json_first(json_get(made, "metadata")); m; m = json_next(m)) {
        bool known = false;
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            known = known || strcmp(json_key(m), allowed[i]) == 0;
        if (!known)
            kinds_fail(tale, "the new mirror has metadata.%s", json_key(m));
    }
    if (json_get(made, "status"))
        kinds_fail(tale, "the new mirror has a status");
    AUTO_TEXT uid = text_format("mirror-uid-%u", tale->attempt);
    return kinds_stored(tale, made, uid);
}

void kinds_begin_attempt(struct tale *tale) {
    tale->attempt++;
    tale->lost = false;
    tale->mirror = kinds_create(tale);
    if (!tale->mirror)
        kinds_fail(tale, "the mirror is refused: %s", tale->event ? tale->event : "without a reason");
    kinds_check_mirror(tale, tale->mirror);
}

// What a server does with a merge patch: uid and resourceVersion are preconditions.
static void apply(struct tale *tale, struct json **object, struct json *patch, bool status) {
    struct json *metadata = json_get(patch, "metadata");
    if (strcmp(json_string_or(json_get(metadata, "uid"), ""), object_uid(*object)) != 0)
        kinds_fail(tale, "a patch does not name the uid of what it is for");
    const char *version = json_string(json_get(metadata, "resourceVersion"));
    if (version && strcmp(version, object_version(*object)) != 0)
        kinds_fail(tale, "a patch is for another resourceVersion");
    AUTO_JSON before = json_copy(*object);
    AUTO_TEXT next = text_format("%lld", (long long)tale->resource_version++);
    assert_true(patch_apply(object, patch));
    bool own = (tale->kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    bool changed = status ? !own : !json_equal(json_get(before, "spec"), json_get(*object, "spec"));
    int64_t generation = object_generation(before) + (changed ? 1 : 0);
    metadata = json_get(*object, "metadata");
    assert_true(json_set(metadata, "generation", json_new_int64(generation)) &&
                set_text(metadata, "resourceVersion", next));
}

static bool carry_once(struct tale *tale, bool *patched) {
    uint64_t hashes[2] = HASHES(tale);
    struct adapter_call call;
    struct mirror_context job = begin(tale, &call);
    AUTO_JSON patch = NULL;
    struct mirror_record record = {.known = NULL};
    job.record = &record;
    wharf_result result = mirror_patch(&job, &patch);
    end(tale, &call, result, hashes);
    mirror_record_cleanup(&record);
    if (patch && record.alone) // nobody writes over it here
        kinds_fail(tale, "a patch of the mirror has nothing but the record");
    if (patch && json_get(patch, "status"))
        kinds_fail(tale, "a patch of the mirror has a status");
    if (patch)
        apply(tale, &tale->mirror, patch, false);
    *patched = patch;
    return result == WHARF_OK;
}

// As by the host: a patched mirror is reconciled again.
bool kinds_carry(struct tale *tale) {
    bool patched = true, ok = true;
    for (int times = 0; ok && patched; times++) {
        if (times > 3)
            kinds_fail(tale, "the mirror is patched repeatedly");
        ok = carry_once(tale, &patched);
    }
    return ok;
}

void kinds_copy_status(struct tale *tale) {
    uint64_t hashes[2] = HASHES(tale), wanted = 0;
    struct adapter_call call;
    struct mirror_context job = begin(tale, &call);
    AUTO_JSON patch = NULL;
    wharf_result result = mirror_status(&job, &patch, &wanted);
    end(tale, &call, result, hashes);
    if (result != WHARF_OK)
        kinds_fail(tale, "the status is refused: %s", tale->event);
    if (patch)
        apply(tale, &tale->workload, patch, true);
}

wharf_phase kinds_phase(struct tale *tale, const struct json *object, char **reason) {
    struct adapter_call call;
    begin(tale, &call);
    wharf_phase phase;
    wharf_result result = adapter_phase(&call, object, &phase);
    *reason = phase.reason ? strdup(phase.reason) : NULL;
    phase.reason = phase.message = NULL;
    adapter_call_end(&call);
    if (result != WHARF_OK)
        kinds_fail(tale, "the phase is not told");
    return phase;
}

#define NOBODY "0/2 workers accept it"

// As it is written after `workload`.
static struct json *give_up(struct tale *tale, wharf_phase *phase, char **told) {
    struct adapter_call call;
    begin(tale, &call);
    AUTO_JSON object = json_new_object();
    assert_true(json_set(object, "status", json_copy(json_get(tale->workload, "status"))));
    assert_int_equal(owed_gave_up(&call, tale->workload, NOBODY, object), WHARF_OK);
    assert_int_equal(adapter_status(&call, tale->workload, NULL, object), WHARF_OK);
    AUTO_JSON after = json_copy(tale->workload);
    assert_true(json_set(after, "status", json_copy(json_get(object, "status"))));
    assert_int_equal(adapter_phase(&call, after, phase), WHARF_OK);
    *told = text_format("%s: %s", phase->reason ? phase->reason : "", phase->message ? phase->message : "");
    phase->reason = phase->message = NULL;
    adapter_call_end(&call);
    return json_detach(object, "status");
}

struct json *kinds_gave_up(const struct tale *tale) {
    struct tale other = *tale;
    wharf_phase phase;
    AUTO_TEXT told = NULL;
    AUTO_TEXT again = NULL;
    AUTO_JSON workload = json_copy(tale->workload);
    if (!json_get(workload, "status"))
        assert_true(json_set(workload, "status", json_new_object()));
    other.workload = workload;
    AUTO_JSON status = tale->kind->abi.gave_up_status ? give_up(&other, &phase, &told) : NULL;
    if (!status || json_equal(status, json_get(workload, "status")))
        return NULL;
    if (phase.phase != WHARF_FAILED)
        kinds_fail(tale, "given up, it has phase %u, %s", phase.phase, told);
    if (strcmp(tale->kind->adapter->name, "generic") != 0 && strcmp(told, "NoClusterAccepts: " NOBODY) != 0)
        kinds_fail(tale, "given up, it says %s", told);
    assert_true(json_set(workload, "status", json_copy(status)));
    AUTO_JSON second = give_up(&other, &phase, &again);
    kinds_expect_same(tale, "the status of one that is given up again", second, status);
    return TAKE(status);
}
