// SPDX-License-Identifier: Apache-2.0
// The actions of the host on a workload, and signs that an adapter forgot something: fields that delete a mirror, and
// changes that an update reverts.
#include "core/conform/child.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"
#include "core/adapter/pods.h"
#include "core/adapter/references.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <malloc.h>
#include <strings.h>

#define ORIGIN "conformance"
#define LATER_NS CLOCK_MINUTE // between two calls that must have the same result
#define SHOWN 300             // bytes of a patch that a finding shows

struct reply {
    wharf_result result;
    int phase;          // -1: there is none
    struct json *value; // the mirror, the host's patch or the pods; NULL: none
};

static wharf_result ask_dependencies(struct adapter_call *call, const struct json *workload) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    return references_of(call, workload, &found);
}

static struct reply ask(struct run *run, enum function function, const struct json *workload, const struct json *mirror,
                        wharf_mirror_state state) {
    struct reply reply = {.phase = -1};
    if (function == CALL_PROGRESS || function == CALL_CHILD_PROGRESS) {
        reply.value = progress_ask(run, function, workload, mirror);
        return reply;
    }
    struct adapter_probe probe;
    wharf_phase phase = {.size = 0};
    uint64_t wanted = 0;
    probe_begin(&probe, run, workload, mirror, state);
    struct mirror_context context = {.kind = &run->now->kind,
                                     .origin = ORIGIN,
                                     .call = &probe.call,
                                     .workload = workload,
                                     .mirror = mirror,
                                     .attempt = 1};
    if (function == CALL_PHASE)
        reply.result = adapter_phase(&probe.call, workload, &phase);
    else if (function == CALL_ACCEPT)
        reply.result = adapter_accept(&probe.call, workload);
    else if (function == CALL_POD_SETS)
        reply.result = pods_of(&probe.call, workload, &reply.value);
    else if (function == CALL_DEPENDENCIES)
        reply.result = ask_dependencies(&probe.call, workload);
    else if (function == CALL_MIRROR)
        reply.result = mirror_make(&context, &reply.value);
    else if (function == CALL_UPDATE)
        reply.result = mirror_patch(&context, &reply.value);
    else if (function == CALL_STATUS)
        reply.result = mirror_status(&context, &reply.value, &wanted);
    if (function == CALL_PHASE && reply.result == WHARF_OK)
        reply.phase = (int)phase.phase;
    const char *message = adapter_answer_message(&probe.call, NULL);
    text_copy(run->answer, sizeof(run->answer), message ? message : "");
    probe_end(&probe);
    return reply;
}

int step_phase(struct run *run, const struct json *object) {
    return ask(run, CALL_PHASE, object, NULL, WHARF_MIRROR_NONE).phase;
}

void step_accept(struct run *run, const struct json *workload) {
    ask(run, CALL_ACCEPT, workload, NULL, WHARF_MIRROR_NONE);
}

void step_pods(struct run *run, const struct json *object) {
    json_free(ask(run, CALL_POD_SETS, object, NULL, WHARF_MIRROR_NONE).value);
    if (tested_has(run->now, CALL_DEPENDENCIES))
        ask(run, CALL_DEPENDENCIES, object, NULL, WHARF_MIRROR_NONE);
}

// -- the mirror --

// A field that a mirror must not have.
struct leftover {
    struct run *run;
    enum rule rule;
    const char *pattern;
    const struct json *before; // a field of this object is no new finding; or NULL
};

static bool report_leftover(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    const struct leftover *leftover = ctx;
    if (!pointer_find(leftover->before, pointer))
        run_report(leftover->run, leftover->rule, leftover->rule == RULE_MIRROR ? CALL_MIRROR : CALL_UPDATE,
                   leftover->pattern, "%s is in the mirror (%s of the kind)", pointer, leftover->pattern);
    return true;
}

// Checks that managedBy and the kind's removed fields are absent.
static void check_removed(struct run *run, enum rule rule, const struct json *before, const struct json *mirror) {
    const wharf_kind *kind = &run->now->kind.abi;
    struct leftover leftover = {run, rule, "managed_by", before};
    pointer_each(mirror, kind->managed_by, report_leftover, &leftover);
    for (const char *const *p = kind->removed; p && *p; p++) {
        leftover.pattern = *p;
        pointer_each(mirror, *p, report_leftover, &leftover);
    }
}

static void check_mirror(struct run *run, const struct json *workload, const struct json *mirror) {
    static const char own[] = " name namespace labels annotations ";
    check_removed(run, RULE_MIRROR, NULL, mirror);
    if (json_get(mirror, "status"))
        run_report(run, RULE_MIRROR, CALL_MIRROR, "/status", "/status is in the mirror");
    for (const struct json *m = json_first(json_get(mirror, "metadata")); m; m = json_next(m)) {
        AUTO_TEXT word = text_format(" %s ", json_key(m));
        if (word && !strstr(own, word))
            run_report(run, RULE_MIRROR, CALL_MIRROR, json_key(m), "/metadata/%s is in the mirror", json_key(m));
    }
    static const char *const types[] = {"apiVersion", "kind"};
    for (size_t i = 0; i < 2; i++)
        if (!json_equal(json_get(workload, types[i]), json_get(mirror, types[i])))
            run_report(run, RULE_MIRROR, CALL_MIRROR, types[i], "/%s of the mirror is not that of the workload",
                       types[i]);
    if (object_uid(workload)[0] != '\0' && !mirror_is_ours(&run->now->kind, ORIGIN, mirror))
        run_report(run, RULE_MARKS, CALL_MIRROR, "ours",
                   "the mirror lost the labels by which the host identifies its mirrors");
}

// Adds the fields that the worker cluster sets.
static bool complete_mirror(struct json *mirror) {
    struct json *metadata = json_get(mirror, "metadata");
    return json_set(metadata, "uid", json_new_string("11111111-2222-4333-8444-555555555555")) &&
           json_set(metadata, "resourceVersion", json_new_string("20")) &&
           json_set(metadata, "generation", json_new_int64(1)) &&
           json_set(metadata, "creationTimestamp", json_new_string("2026-01-02T03:04:05Z"));
}

const struct json *step_mirror(struct run *run, const struct json *workload, const struct json *status) {
    AUTO_JSON mirror = ask(run, CALL_MIRROR, workload, NULL, WHARF_MIRROR_NONE).value;
    if (!mirror)
        return NULL;
    check_mirror(run, workload, mirror);
    if (run->thorough)
        step_note_carried(run, mirror, workload, mirror);
    return complete_mirror(mirror) ? input_with_status(mirror, status) : NULL;
}

// -- changes --

const struct json *input_patched(const struct json *object, const struct json *patch) {
    AUTO_JSON result = json_copy(object);
    return result && patch_apply(&result, patch) ? input_copy(result) : NULL;
}

// The object with a patch of the host: input memory. Takes the patch.
static const struct json *patched(const struct json *object, struct json *patch) {
    struct json *metadata = json_get(patch, "metadata");
    json_remove(metadata, "uid");
    json_remove(metadata, "resourceVersion");
    const struct json *copy = input_patched(object, patch);
    json_free(patch);
    return copy ? copy : object;
}

static void report_patch(struct run *run, enum rule rule, enum function function, const char *which,
                         const struct json *patch) {
    char shown[SHOWN];
    AUTO_TEXT text = json_text(patch, NULL);
    text_copy(shown, sizeof(shown), text ? text : "");
    run_report(run, rule, function, "", "%s call would write %s%s", which, shown,
               text && strlen(text) > strlen(shown) ? "..." : "");
}

// Applies the patch; the same call one minute later must change nothing more.
static const struct json *settle(struct run *run, enum function function, const struct json *workload,
                                 const struct json *mirror, wharf_mirror_state state, struct json *patch) {
    bool update = function == CALL_UPDATE;
    const struct json *after = patched(update ? mirror : workload, patch);
    if (update)
        check_removed(run, RULE_UPDATE_CLEAN, mirror, after);
    run->later_ns = LATER_NS;
    AUTO_JSON again = ask(run, function, update ? workload : after, update ? after : mirror, state).value;
    run->later_ns = 0;
    if (again)
        report_patch(run, update ? RULE_UPDATE_STABLE : RULE_STATUS_STABLE, function, "a second", again);
    return after;
}

const struct json *step_update(struct run *run, const struct json *workload, const struct json *mirror, bool fresh) {
    struct json *patch = ask(run, CALL_UPDATE, workload, mirror, WHARF_MIRROR_PRESENT).value;
    if (patch && fresh)
        report_patch(run, RULE_MIRROR_STABLE, CALL_UPDATE, "another", patch);
    return patch ? settle(run, CALL_UPDATE, workload, mirror, WHARF_MIRROR_PRESENT, patch) : mirror;
}

const struct json *step_change(struct run *run, const struct json *workload, const struct json *mirror) {
    struct json *patch = ask(run, CALL_UPDATE, workload, mirror, WHARF_MIRROR_PRESENT).value;
    return patch ? patched(mirror, patch) : mirror;
}

const struct json *step_status(struct run *run, const struct json *workload, const struct json *mirror,
                               wharf_mirror_state state) {
    struct reply reply = ask(run, CALL_STATUS, workload, mirror, state);
    run->answered = reply.result;
    return reply.value ? settle(run, CALL_STATUS, workload, mirror, state, reply.value) : workload;
}

// -- a workload that no cluster accepts: gave_up_status, and the changes by `status` without a mirror. A kind's
// gave_up_status alone has to make the workload fail: the host writes nothing else --

#define MESSAGE "no worker has started it within 24h; 0/2 workers accept it: w1 quota exceeded; w2 did not start"

// The workload with gave_up_status alone, and the workload as the host writes it. False if there is no status.
static bool gave_up_results(struct run *run, const struct json *workload, const struct json **told,
                            const struct json **written) {
    struct adapter_probe probe;
    AUTO_JSON object = json_new_object();
    const struct json *status = json_get(workload, "status");
    if (!json_set(object, "status", json_is(status, JSON_OBJECT) ? json_copy(status) : json_new_object()))
        return false;
    probe_begin(&probe, run, workload, NULL, WHARF_MIRROR_NONE);
    bool done = owed_gave_up(&probe.call, workload, MESSAGE, object) == WHARF_OK;
    *told = done ? input_with_status(workload, json_get(object, "status")) : NULL;
    done = *told && adapter_status(&probe.call, workload, NULL, object) == WHARF_OK;
    *written = done ? input_with_status(workload, json_get(object, "status")) : NULL;
    probe_end(&probe);
    return *written;
}

void step_gave_up(struct run *run, const struct json *workload) {
    const struct json *told = NULL, *written = NULL;
    int phase = step_phase(run, workload);
    if (!run->now->kind.abi.gave_up_status || phase < 0 || phase_is_final((wharf_phase_kind)phase) ||
        phase == WHARF_SUSPENDED || !gave_up_results(run, workload, &told, &written))
        return;
    // An earlier outcome may stay.
    if (json_get(workload, "status") && json_equal(json_get(workload, "status"), json_get(written, "status")))
        return;
    int before = step_phase(run, told), after = step_phase(run, written);
    if (before < 0 || after < 0 || after == WHARF_FAILED)
        return;
    if (before == WHARF_FAILED)
        run_report(run, RULE_GAVE_UP, CALL_STATUS, "",
                   "phase is WHARF_FAILED with gave_up_status, and WHARF_%s with the result of `status`",
                   phase_name(after));
    else
        run_report(run, RULE_GAVE_UP, CALL_PHASE, "", "phase is WHARF_%s with gave_up_status", phase_name(after));
}

// -- memory --

#define WARM_UP 2
#define MEASURED 8
#define ROUNDS 12
#define GROWTH ((size_t)8) // bytes a call

#if defined(__SANITIZE_ADDRESS__)
size_t __sanitizer_get_current_allocated_bytes(void); // mallinfo2 does not cover the sanitizer's allocator

static size_t memory_in_use(void) {
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t memory_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#endif

// Bytes by which the memory in use grew.
static size_t call_many(struct run *run, enum function function, const struct json *workload, const struct json *mirror,
                        size_t count) {
    wharf_mirror_state state = mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE;
    size_t before = memory_in_use();
    for (size_t i = 0; i < count; i++)
        json_free(ask(run, function, workload, mirror, state).value);
    size_t after = memory_in_use();
    return after > before ? after - before : 0;
}

void step_memory(struct run *run, const struct json *workload, const struct json *mirror) {
    run->quiet = true;
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++) {
        bool both = function == CALL_UPDATE || function == CALL_STATUS || function == CALL_PROGRESS;
        bool slow = run->board->slow[run->now->index % BOARD_KINDS][function] > 0;
        if (!tested_has(run->now, function) || (function == CALL_UPDATE && !mirror) || slow)
            continue;
        run->measured = function;
        call_many(run, function, workload, both ? mirror : NULL, WARM_UP);
        // The least of several rounds: the allocator keeps a little for itself now and then.
        size_t least = SIZE_MAX;
        for (size_t round = 0; round < ROUNDS && least >= GROWTH; round++)
            least = size_least(least, call_many(run, function, workload, both ? mirror : NULL, MEASURED) / MEASURED);
        if (least >= GROWTH)
            run_report(run, RULE_MEMORY, function, "", "%zu bytes more are in use after each call", least);
    }
    run->quiet = false;
}

// -- fields that delete a finished mirror --

// "ttlSecondsAfterFinished", "jobTTL", "deleteAfter".
static bool is_deadline_name(const char *name) {
    static const char *const words[] = {"deleteAfter", "expireAfter", "expiresAfter", "removeAfter", "autoDelete"};
    bool ttl = strcmp(name, "ttl") == 0 || strstr(name, "TTL") || strstr(name, "Ttl") ||
               (text_has_prefix(name, "ttl") && name[3] >= 'A' && name[3] <= 'Z');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        ttl |= strncasecmp(name, words[i], strlen(words[i])) == 0;
    return ttl;
}

// Pods do not delete their workload.
static bool is_template(const wharf_kind *kind, const char *pointer) {
    bool any = false;
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++)
        any |=
            pointer_matches(pods->templates, pointer) || (pods->fallback && pointer_matches(pods->fallback, pointer));
    return any;
}

static void find_deadlines(struct run *run, struct buffer *at, const struct json *value) {
    if (!json_is_container(value) || is_template(&run->now->kind.abi, at->data))
        return;
    size_t len = at->len, index = 0;
    for (const struct json *item = json_first(value); item; item = json_next(item), index++) {
        const char *key = json_key(item);
        if (!pointer_append_child(at, key, index))
            return;
        if (key && is_deadline_name(key))
            run_warn(run,
                     "%s stays on the mirror: if it deletes a finished object, name it in `removed`, or the mirror "
                     "is gone before the host copies the status",
                     at->data);
        else
            find_deadlines(run, at, item);
        buffer_truncate(at, len);
    }
}

void step_traits(struct run *run, const struct json *mirror) {
    AUTO_BUFFER(at, 4096);
    if (buffer_text(&at, "/spec"))
        find_deadlines(run, &at, json_get(mirror, "spec"));
}

// -- carried fields --

struct carry_check {
    const struct json *mirror, *desired, *result;
    bool wanted, done;
};

static bool note_field(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    struct carry_check *check = ctx;
    const struct json *before = pointer_find(check->mirror, pointer);
    bool wanted = !json_equal(pointer_find(check->desired, pointer), before);
    check->wanted |= wanted;
    // A part may have to wait, and parts that a controller wrote may stay.
    check->done |= wanted && !json_equal(before, pointer_find(check->result, pointer));
    return true;
}

void step_note_carried(struct run *run, const struct json *mirror, const struct json *desired,
                       const struct json *result) {
    const wharf_carried *carried = run->now->kind.abi.carried;
    struct board_carried *counts = run->board->carried[run->now->index % BOARD_KINDS];
    for (size_t i = 0; carried && carried[i].pointer && i < BOARD_CARRIED; i++) {
        struct carry_check check = {mirror, desired, result, false, false};
        pointer_each(desired, carried[i].pointer, note_field, &check);
        pointer_each(mirror, carried[i].pointer, note_field, &check);
        counts[i].differs |= result == mirror && check.wanted;
        counts[i].wanted += result != mirror && check.wanted;
        counts[i].done += check.done;
    }
}
