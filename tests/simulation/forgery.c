// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/forgery.h"
#include "core/base/error.h"
#include "core/json/pointer.h"
#include "tests/simulation/rules.h"
#include "tests/world/world.h"

#include <stdlib.h>
#include <string.h>

#define FORGED "example.com/forged"
#define FORGED_PODS 23 // more than a Job of a trial has
#define FORGED_ATTEMPT 1000

struct seal_keys *forgery_keys(uint64_t seed) {
    static const char key[] = "the key of all trials that have one";
    const void *const keys[] = {key};
    const size_t lens[] = {sizeof key - 1};
    struct seal_keys *made = NULL;
    struct error *error = seal_keys_new(keys, lens, seed % 2, &made);
    if (error)
        abort();
    return made;
}

static void set_text(struct json *object, const char *pointer, const char *text) {
    if (!pointer_set(object, pointer, json_new_string(text)))
        abort();
}

static void make_many(struct json *job) {
    static const char *const own[] = {"/spec/selector",
                                      "/spec/template/metadata/labels/controller-uid",
                                      "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
                                      "/spec/completionMode",
                                      "/spec/backoffLimitPerIndex",
                                      "/spec/maxFailedIndexes",
                                      "/spec/suspend"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        pointer_remove(job, own[i]);
    if (!pointer_set(job, "/spec/parallelism", json_new_int64(FORGED_PODS)) ||
        !pointer_set(job, "/spec/completions", json_new_int64(FORGED_PODS)))
        abort();
    set_text(job, "/metadata/annotations/world.test~1duration", "1ms");
}

void forgery_make(struct trial *trial, size_t kind, const struct json *mirror, size_t cluster, const char *name) {
    static const char *const stored[] = {"/metadata/uid",
                                         "/metadata/resourceVersion",
                                         "/metadata/generation",
                                         "/metadata/creationTimestamp",
                                         "/metadata/managedFields",
                                         "/metadata/deletionTimestamp",
                                         "/metadata/deletionGracePeriodSeconds",
                                         "/metadata/finalizers",
                                         "/status"};
    const wharf_kind *abi = &trial->engine_kinds[kind]->abi;
    const char *namespace_ = rules_text(mirror, "metadata", NULL, "namespace");
    if (trial_object(trial, cluster, kind, namespace_, name))
        return;
    AUTO_JSON copy = json_copy(mirror);
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
        pointer_remove(copy, stored[i]);
    set_text(copy, "/metadata/name", name);
    set_text(copy, "/metadata/annotations/example.com~1forged", "yes");
    // Without a key only its attempt distinguishes a copy from the mirror.
    if (!seal_keys_any(trial->seals) || trial_chance(trial, 50)) {
        AUTO_TEXT attempt = text_format("%llu", FORGED_ATTEMPT + (unsigned long long)trial_below(trial, 9));
        set_text(copy, "/metadata/annotations/wharf.dev~1attempt", attempt);
    }
    if (trial_chance(trial, 30))
        pointer_remove(copy, "/metadata/annotations/wharf.dev~1seal");
    if (kind == 0)
        make_many(copy);
    int status = world_apply(trial->worlds[cluster], abi->group, abi->plural, copy, trial->now_ns);
    const struct json *made = trial_object(trial, cluster, kind, namespace_, name);
    trial_trace(trial, "user: forges %s in %s: %d", name, world_name(trial->worlds[cluster]), status);
    if (made && !seal_keys_any(trial->seals))
        rules_adopt(trial, cluster, kind, made); // an orphan, once its workload is gone
}

bool forgery_is(const struct json *object) {
    return *rules_text(object, "metadata", "annotations", FORGED) || mirror_attempt(object) >= FORGED_ATTEMPT;
}

void forgery_seal(struct trial *trial, size_t kind, size_t cluster, struct json *object) {
    struct seal_subject subject = {.origin = TRIAL_ORIGIN,
                                   .kind = trial->engine_kinds[kind]->plural_group,
                                   .namespace_ = rules_text(object, "metadata", NULL, "namespace"),
                                   .name = rules_text(object, "metadata", NULL, "name"),
                                   .uid = rules_text(object, "metadata", "labels", MARK_UID),
                                   .cluster = world_name(trial->worlds[cluster]),
                                   .attempt = mirror_attempt(object)};
    char seal[SEAL_TEXT_MAX];
    if (seal_make(trial->seals, &subject, seal))
        set_text(object, "/metadata/annotations/wharf.dev~1seal", seal);
}

void forgery_check(struct trial *trial, const struct json *workload) {
    const char *name = rules_text(workload, "metadata", NULL, "name");
    if (mirror_attempt(workload) >= FORGED_ATTEMPT)
        trial_fail(trial, "rule 3: a forged mirror of %s was adopted", name);
    static const char *const counts[] = {"active", "ready", "succeeded", "failed", "terminating"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (json_int64(json_path(workload, "status", counts[i], NULL), 0) == FORGED_PODS)
            trial_fail(trial, "rule 3: the status of a forged mirror was copied to %s", name);
}
