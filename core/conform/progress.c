// SPDX-License-Identifier: Apache-2.0
// The functions `progress` and `child_progress`: what the host gives to the mirror of a second attempt, and to the
// objects that the kind's controller makes for it.
#include "core/conform/child.h"

#include "core/adapter/phase.h"
#include "core/json/pointer.h"

#include <strings.h>

#define SHOWN 300 // bytes of a status that a finding shows
#define ATTEMPT 2

// What is kept of a child may be anything.
static bool is_kept(enum function function, const struct json *former) {
    return function == CALL_CHILD_PROGRESS && !json_get(former, "workload");
}

struct json *progress_ask(struct run *run, enum function function, const struct json *workload,
                          const struct json *mirror) {
    struct adapter_probe probe;
    AUTO_JSON object = json_new_object();
    if (!object || !tested_has(run->now, function))
        return NULL;
    probe_begin(&probe, run, workload, mirror, WHARF_MIRROR_NONE);
    probe.call.call.attempt = ATTEMPT;
    wharf_result result = function == CALL_PROGRESS ? adapter_progress(&probe.call, workload, mirror, object)
                                                    : adapter_child_progress(&probe.call, workload, mirror, object);
    probe_end(&probe);
    const struct json *counted = is_kept(function, workload) ? object : json_get(object, "status");
    return result == WHARF_OK && json_size(counted) > 0 ? TAKE(object) : NULL;
}

void progress_check(struct run *run, enum function function, const struct json *former, const struct json *out) {
    if (is_kept(function, former))
        return;
    for (const struct json *member = json_first(out); member; member = json_next(member))
        if (strcmp(json_key(member), "status") != 0)
            run_report(run, RULE_PROGRESS_ONLY, function, json_key(member), "/%s is in the result", json_key(member));
    const struct json *status = json_get(out, "status");
    if (status && !json_is(status, JSON_OBJECT))
        run_report(run, RULE_PROGRESS_ONLY, function, "status", "/status in the result is not an object");
}

static void report_given(struct run *run, enum rule rule, enum function function, const char *when,
                         const struct json *given) {
    char shown[SHOWN];
    AUTO_TEXT text = json_text(given, NULL);
    text_copy(shown, sizeof(shown), text ? text : "");
    run_report(run, rule, function, when, "%s the result is %s", when, shown);
}

// The object as a server stores it once the status is given. NULL when out of memory.
static const struct json *with_given(const struct json *object, const struct json *given) {
    AUTO_JSON patch = json_new_object();
    bool ok = patch && json_set(patch, "status", json_copy(json_get(given, "status")));
    return ok ? input_patched(object, patch) : NULL;
}

// Gives the object what the function says, as often as it says something: the second time is a finding. The object
// with the status; `object` if there was nothing to give.
static const struct json *give(struct run *run, enum function function, const struct json *from,
                               const struct json *object) {
    AUTO_JSON given = progress_ask(run, function, from, object);
    const struct json *after = given ? with_given(object, given) : NULL;
    AUTO_JSON again = after ? progress_ask(run, function, from, after) : NULL;
    if (again)
        report_given(run, RULE_PROGRESS_STABLE, function, "once the object has what was set,", again);
    return after ? after : object;
}

// -- of a mirror --

static const struct json *suspended(const wharf_kind *kind, const struct json *mirror) {
    AUTO_JSON copy = json_copy(mirror);
    if (!copy || (kind->suspend && !pointer_set(copy, kind->suspend, phase_suspend_value(kind, mirror))))
        return NULL;
    json_remove(copy, "status");
    return input_copy(copy);
}

static void must_be_silent(struct run *run, const struct json *workload, const struct json *mirror, const char *when) {
    AUTO_JSON before = progress_ask(run, CALL_PROGRESS, workload, NULL);
    AUTO_JSON then = mirror ? progress_ask(run, CALL_PROGRESS, workload, mirror) : NULL;
    if (before || then)
        report_given(run, RULE_PROGRESS, CALL_PROGRESS, when, before ? before : then);
}

void step_progress(struct run *run, const struct json *workload, const struct json *made) {
    if (!tested_has(run->now, CALL_PROGRESS))
        return;
    const struct json *mirror = made ? suspended(&run->now->kind.abi, made) : NULL;
    int phase = step_phase(run, workload);
    if (phase >= 0 && phase_is_final((wharf_phase_kind)phase)) {
        must_be_silent(run, workload, mirror, "for a finished workload");
        return;
    }
    if (json_size(json_get(workload, "status")) == 0) {
        must_be_silent(run, workload, mirror, "for a workload without a status");
        return;
    }
    json_free(progress_ask(run, CALL_PROGRESS, workload, NULL));
    const struct json *after = mirror ? give(run, CALL_PROGRESS, workload, mirror) : NULL;
    int then = after && after != mirror ? step_phase(run, after) : -1;
    if (then >= 0 && phase_is_final((wharf_phase_kind)then))
        run_report(run, RULE_PROGRESS, CALL_PROGRESS, "final",
                   "the mirror is WHARF_%s with the result, before it has run", phase_name(then));
}

// -- of a child --

// Whether the object is of this resource: its kind, in lower case, begins the plural.
static bool is_child(const wharf_child *child, const struct json *object) {
    const char *kind = json_string_or(json_get(object, "kind"), "");
    AUTO_TEXT version = text_format("%s%s%s", child->group, child->group[0] ? "/" : "", child->version);
    return *kind && strncasecmp(child->plural, kind, strlen(kind)) == 0 &&
           text_equal(version, json_string(json_get(object, "apiVersion")));
}

// Like the host: keeps what the function says of a child of the mirror, and gives that to a new child.
static void give_child(struct run *run, const struct json *workload, const struct json *mirror,
                       const struct json *child) {
    AUTO_JSON kept = progress_ask(run, CALL_CHILD_PROGRESS, child, mirror);
    AUTO_JSON former = kept ? TAKE(kept) : json_new_object();
    AUTO_JSON bare = json_copy(child);
    json_remove(bare, "status");
    bool ok = former && bare && json_set(former, "workload", json_copy(workload));
    const struct json *from = ok ? input_copy(former) : NULL, *fresh = ok ? input_copy(bare) : NULL;
    if (!from || !fresh)
        return;
    json_free(progress_ask(run, CALL_CHILD_PROGRESS, from, NULL));
    give(run, CALL_CHILD_PROGRESS, from, fresh);
}

void step_child_progress(struct run *run, const struct json *workload, const struct json *mirror) {
    if (tested_has(run->now, CALL_CHILD_PROGRESS) && mirror)
        give_child(run, workload, mirror, workload);
}

// With its own status, and with those in its lives.
static void give_states(struct run *run, const struct json *workload, const struct json *mirror,
                        const struct document *child) {
    const struct documents *documents = run->documents;
    const struct json *former = input_copy(child->value);
    if (former)
        give_child(run, workload, mirror, former);
    for (size_t i = 0; former && i < documents->count; i++) {
        const struct document *step = &documents->list[i];
        const struct json *status = life_is_step(step) ? json_get(step->value, "status") : NULL;
        const struct json *then =
            status && life_is_of(documents, step, child) ? input_with_status(former, status) : NULL;
        if (then)
            give_child(run, workload, mirror, then);
    }
}

void step_children(struct run *run, const struct json *workload, const struct json *mirror) {
    const struct documents *documents = run->documents;
    bool has = mirror && tested_has(run->now, CALL_CHILD_PROGRESS);
    for (size_t i = 0; has && i < documents->count; i++)
        for (const wharf_child *child = run->now->kind.abi.children; child && child->plural; child++)
            if (is_child(child, documents->list[i].value))
                give_states(run, workload, mirror, &documents->list[i]);
}
