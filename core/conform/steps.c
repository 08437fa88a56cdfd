// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"
#include "core/adapter/pods.h"
#include "core/base/text.h"
#include "core/json/patch.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define ORIGIN "conformance"
#define LATER_NS CLOCK_MINUTE // between two calls that must have the same result
#define SHOWN 300             // bytes of a patch that a finding shows

int step_phase(struct run *run, const struct json *object) {
    struct adapter_probe probe;
    wharf_phase phase;
    probe_begin(&probe, run, object, NULL, WHARF_MIRROR_NONE);
    wharf_result result = adapter_phase(&probe.call, object, &phase);
    probe_end(&probe);
    return result == WHARF_OK ? (int)phase.phase : -1;
}

bool step_accept(struct run *run, const struct json *workload) {
    struct adapter_probe probe;
    probe_begin(&probe, run, workload, NULL, WHARF_MIRROR_NONE);
    wharf_result result = adapter_accept(&probe.call, workload);
    probe_end(&probe);
    return result == WHARF_OK;
}

void step_pods(struct run *run, const struct json *object) {
    struct adapter_probe probe;
    AUTO_JSON sets = NULL;
    probe_begin(&probe, run, object, NULL, WHARF_MIRROR_NONE);
    pods_of(&probe.call, object, &sets);
    probe_end(&probe);
}

static struct mirror_context make_context(struct adapter_probe *probe, const struct json *workload,
                                          const struct json *mirror) {
    return (struct mirror_context){.kind = &probe->run->now->kind,
                                   .origin = ORIGIN,
                                   .call = &probe->call,
                                   .workload = workload,
                                   .mirror = mirror,
                                   .attempt = 1};
}

// A field that a mirror must not have.
struct leftover {
    struct run *run;
    enum rule rule;
    enum function function;
    const char *pattern;
    const struct json *before; // a field of this object is no new finding; or NULL
};

static bool say_leftover(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    const struct leftover *leftover = ctx;
    if (!pointer_find(leftover->before, pointer))
        run_report(leftover->run, leftover->rule, leftover->function, leftover->pattern,
                   "%s is in the mirror (%s of the kind)", pointer, leftover->pattern);
    return true;
}

// Checks that managedBy and the kind's removed fields are absent.
static void check_removed(struct run *run, enum rule rule, const struct json *before, const struct json *mirror) {
    const wharf_kind *kind = &run->now->kind.abi;
    struct leftover leftover = {run, rule, rule == RULE_MIRROR ? CALL_MIRROR : CALL_UPDATE, "managed_by", before};
    if (pointer_find(mirror, kind->managed_by))
        say_leftover(&leftover, kind->managed_by, NULL);
    for (const char *const *p = kind->removed; p && *p; p++) {
        leftover.pattern = *p;
        pointer_each(mirror, *p, say_leftover, &leftover);
    }
}

static void check_mirror(struct run *run, const struct json *workload, const struct json *mirror) {
    static const char *const own[] = {"name", "namespace", "labels", "annotations"};
    check_removed(run, RULE_MIRROR, NULL, mirror);
    if (json_get(mirror, "status"))
        run_report(run, RULE_MIRROR, CALL_MIRROR, "/status", "/status is in the mirror");
    for (const struct json *m = json_first(json_get(mirror, "metadata")); m; m = json_next(m)) {
        bool known = false;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            known |= strcmp(own[i], json_key(m)) == 0;
        if (!known)
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

// Adds the fields that the worker cluster sets. Takes `mirror`.
static const struct json *stored(struct json *mirror, const struct json *status) {
    struct json *metadata = json_get(mirror, "metadata");
    bool done = json_set(metadata, "uid", json_new_string("11111111-2222-4333-8444-555555555555")) &&
                json_set(metadata, "resourceVersion", json_new_string("20")) &&
                json_set(metadata, "generation", json_new_int64(1)) &&
                json_set(metadata, "creationTimestamp", json_new_string("2026-01-02T03:04:05Z"));
    const struct json *copy = done ? input_with_status(mirror, status) : NULL;
    json_free(mirror);
    return copy;
}

// The mirror, or NULL if the adapter does not make one.
static struct json *ask_mirror(struct run *run, const struct json *workload) {
    struct adapter_probe probe;
    struct json *mirror = NULL;
    probe_begin(&probe, run, workload, NULL, WHARF_MIRROR_NONE);
    struct mirror_context context = make_context(&probe, workload, NULL);
    wharf_result result = mirror_make(&context, &mirror);
    probe_end(&probe);
    return result == WHARF_OK ? mirror : NULL;
}

const struct json *step_mirror(struct run *run, const struct json *workload, const struct json *status) {
    struct json *mirror = ask_mirror(run, workload);
    if (!mirror)
        return NULL;
    check_mirror(run, workload, mirror);
    if (run->thorough)
        traits_of_made(run, workload, mirror);
    return stored(mirror, status);
}

// The object with a merge patch of the host applied: input memory. Takes the patch.
static const struct json *patched(const struct json *object, struct json *patch) {
    struct json *metadata = json_get(patch, "metadata");
    json_remove(metadata, "uid");
    json_remove(metadata, "resourceVersion");
    AUTO_JSON result = json_copy(object);
    const struct json *copy = result && patch_apply(&result, patch) ? input_copy(result) : NULL;
    json_free(patch);
    return copy ? copy : object;
}

static void shown(const struct json *patch, char out[SHOWN + 4]) {
    char *text = json_text(patch, NULL);
    text_copy(out, SHOWN, text ? text : "");
    if (text && strlen(text) > strlen(out))
        memcpy(out + strlen(out), "...", sizeof("..."));
    free(text);
}

// The patch that the host would send, or NULL.
static struct json *ask_update(struct run *run, const struct json *workload, const struct json *mirror,
                               wharf_result *result) {
    struct adapter_probe probe;
    struct json *patch = NULL;
    probe_begin(&probe, run, workload, mirror, WHARF_MIRROR_PRESENT);
    struct mirror_context context = make_context(&probe, workload, mirror);
    *result = mirror_patch(&context, &patch);
    const char *message = adapter_answer_message(&probe.call, NULL);
    text_copy(run->answer, sizeof(run->answer), message ? message : "");
    probe_end(&probe);
    return patch;
}

static void say_patch(struct run *run, enum rule rule, enum function function, const struct json *patch) {
    char text[SHOWN + 4];
    shown(patch, text);
    run_report(run, rule, function, "", "a second call would write %s", text);
}

const struct json *step_update(struct run *run, const struct json *workload, const struct json *mirror, bool fresh) {
    wharf_result result;
    struct json *patch = ask_update(run, workload, mirror, &result);
    if (!patch)
        return mirror;
    if (fresh) {
        char text[SHOWN + 4];
        shown(patch, text);
        run_report(run, RULE_MIRROR_STABLE, CALL_UPDATE, "", "another call would write %s", text);
    }
    const struct json *after = patched(mirror, patch);
    check_removed(run, RULE_UPDATE_CLEAN, mirror, after);
    run->later_ns = LATER_NS;
    AUTO_JSON again = ask_update(run, workload, after, &result);
    run->later_ns = 0;
    if (again)
        say_patch(run, RULE_UPDATE_STABLE, CALL_UPDATE, again);
    return after;
}

const struct json *step_change(struct run *run, const struct json *workload, const struct json *mirror) {
    wharf_result result;
    struct json *patch = ask_update(run, workload, mirror, &result);
    return patch ? patched(mirror, patch) : mirror;
}

static struct json *ask_status(struct run *run, const struct json *workload, const struct json *mirror,
                               wharf_mirror_state state, wharf_result *result) {
    struct adapter_probe probe;
    struct json *patch = NULL;
    uint64_t wanted = 0;
    probe_begin(&probe, run, workload, mirror, state);
    struct mirror_context context = make_context(&probe, workload, mirror);
    *result = mirror_status(&context, &patch, &wanted);
    probe_end(&probe);
    return patch;
}

const struct json *step_status(struct run *run, const struct json *workload, const struct json *mirror,
                               wharf_mirror_state state) {
    wharf_result result;
    struct json *patch = ask_status(run, workload, mirror, state, &run->answered);
    if (!patch)
        return workload;
    const struct json *after = patched(workload, patch);
    run->later_ns = LATER_NS;
    AUTO_JSON again = ask_status(run, after, mirror, state, &result);
    run->later_ns = 0;
    if (again)
        say_patch(run, RULE_STATUS_STABLE, CALL_STATUS, again);
    return after;
}

// -- a workload that no cluster accepts: gave_up_status, and the changes by `status` without a mirror. A kind's
// gave_up_status alone has to make the workload fail: the host writes nothing else --

#define MESSAGE "no worker has started it within 24h; 0/2 workers accept it: w1 quota exceeded; w2 did not start"

static bool copy_status(struct json *to, const struct json *from) {
    const struct json *status = json_get(from, "status");
    return json_set(to, "status", json_is(status, JSON_OBJECT) ? json_copy(status) : json_new_object());
}

// The workload with gave_up_status alone, and the workload as the host writes it. False if there is no status.
static bool gave_up_results(struct run *run, const struct json *workload, const struct json **told,
                            const struct json **written) {
    struct adapter_probe probe;
    AUTO_JSON object = json_new_object();
    if (!object || !copy_status(object, workload))
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
    if (before == WHARF_FAILED && after >= 0 && after != WHARF_FAILED)
        run_report(run, RULE_GAVE_UP, CALL_STATUS, "",
                   "phase is WHARF_FAILED with gave_up_status, and WHARF_%s with the result of `status`",
                   phase_name(after));
    else if (before >= 0 && after != WHARF_FAILED && after >= 0)
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

static void call_once(struct run *run, enum function function, const struct json *workload, const struct json *mirror) {
    wharf_result result;
    if (function == CALL_PHASE)
        step_phase(run, workload);
    else if (function == CALL_ACCEPT)
        step_accept(run, workload);
    else if (function == CALL_POD_SETS)
        step_pods(run, workload);
    else if (function == CALL_UPDATE)
        json_free(mirror ? ask_update(run, workload, mirror, &result) : NULL);
    else if (function == CALL_STATUS)
        json_free(ask_status(run, workload, mirror, mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE, &result));
    else if (function == CALL_MIRROR)
        json_free(ask_mirror(run, workload));
}

// Bytes a call, the least of several rounds: the allocator keeps a little for itself now and then.
static size_t growth(struct run *run, enum function function, const struct json *workload, const struct json *mirror) {
    size_t least = SIZE_MAX;
    for (size_t round = 0; round < ROUNDS && least >= GROWTH; round++) {
        size_t before = memory_in_use();
        for (size_t i = 0; i < MEASURED; i++)
            call_once(run, function, workload, mirror);
        size_t after = memory_in_use();
        size_t grown = after > before ? (after - before) / MEASURED : 0;
        least = grown < least ? grown : least;
    }
    return least;
}

void step_memory(struct run *run, const struct json *workload, const struct json *mirror) {
    run->quiet = true;
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++) {
        if (!adapter_has(&run->now->kind.abi, (enum adapter_function)(function - CALL_PHASE)))
            continue;
        run->measured = function;
        for (size_t i = 0; i < WARM_UP; i++)
            call_once(run, function, workload, mirror);
        size_t grown = growth(run, function, workload, mirror);
        if (grown >= GROWTH)
            run_report(run, RULE_MEMORY, function, "", "%zu bytes more are in use after each call", grown);
    }
    run->quiet = false;
}
