// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/need_state.h"

#include "core/adapter/phase.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/members.h"
#include "tests/simulation/steady.h"
#include "tests/world/pod_needs.h"

#include <stdlib.h>
#include <string.h>

struct need_rules *need_rules_new(void) {
    return calloc(1, sizeof(struct need_rules));
}

struct need_state *need_state_of(const struct trial *trial, size_t cluster, size_t index) {
    return &trial->need_rules->states[cluster][index];
}

const char *need_label(const struct json *object, const char *name) {
    return rules_text(object, "metadata", "labels", name);
}

const char *need_note(const struct json *object, const char *name) {
    return rules_text(object, "metadata", "annotations", name);
}

char *need_name_of(const struct trial *trial, size_t index) {
    const struct thing *thing = needs_at(trial, index);
    return text_format("%s %s/%s", need_names[thing->resource].plural, thing->namespace_, thing->name);
}

bool need_is_made(const struct trial *trial, const char *uid) {
    for (size_t i = 0; i < trial->need_rules->n_made; i++)
        if (strcmp(trial->need_rules->made[i], uid) == 0)
            return true;
    return false;
}

static bool is_labelled(const struct json *object) {
    return object && text_equal(need_label(object, MARK_ORIGIN), TRIAL_ORIGIN) && *need_label(object, COPY_OF);
}

// D8: without a seal it counts as handed over.
bool need_is_given(const struct json *object) {
    return is_labelled(object) && !*need_note(object, MARK_SEAL);
}

// The host must recognise it as its own; without a key by the labels alone.
bool need_is_copy(const struct trial *trial, const struct json *object) {
    bool unsealed = !seal_keys_any(trial->seals) || trial->plan.upgrade;
    return is_labelled(object) &&
           (unsealed || (*need_note(object, MARK_SEAL) && need_is_made(trial, object_uid(object))));
}

bool need_is_retyped(struct trial *trial, size_t index, const struct json *copy) {
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    return needs_at(trial, index)->resource == NEED_SECRETS && source &&
           !json_equal(json_get(source, "type"), json_get(copy, "type"));
}

// Of pods -----------------------------------------------------------------------------------------------------

static void gather_index(struct need_gather *gather, size_t index, bool optional) {
    if (index < needs_count(gather->trial))
        *(optional ? &gather->optional : &gather->needed) |= UINT64_C(1) << index;
}

static void gather_one(void *ctx, const struct need *need) {
    struct need_gather *gather = ctx;
    gather_index(gather, needs_find(gather->trial, need->group, need->plural, gather->namespace_, need->name),
                 need->optional);
}

static void gather_pull_secrets(struct need_gather *gather, size_t cluster) {
    for (size_t i = 0; i < needs_count(gather->trial); i++) {
        bool named = ((gather->needed | gather->optional) >> i & 1) != 0;
        const struct json *account = named && needs_at(gather->trial, i)->resource == NEED_ACCOUNTS
                                         ? needs_object(gather->trial, cluster, i)
                                         : NULL;
        for (const struct json *s = json_first(json_get(account, "imagePullSecrets")); s; s = json_next(s)) {
            const char *name = json_string_or(json_get(s, "name"), "");
            gather_index(gather, needs_find(gather->trial, "", "secrets", gather->namespace_, name), true);
        }
    }
}

static void gather_references(struct need_gather *gather, size_t kind, const struct json *object) {
    __attribute__((cleanup(references_clear))) struct references found = {0};
    sim_references(gather->trial->kinds[kind], object, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct reference *r = found.list[i];
        if (!r->is_made)
            gather_index(gather, needs_find_reference(gather->trial, r), r->optional);
    }
}

// What the pods of an object name, and its ServiceAccount as it is in that cluster.
struct need_gather need_gather(struct trial *trial, size_t cluster, size_t kind, const struct json *object) {
    struct need_gather gather = {.trial = trial, .namespace_ = object_namespace(object)};
    if (kind == 0)
        pod_needs_each(pointer_find(object, POD), gather_one, &gather);
    else
        gather_references(&gather, kind, object);
    gather_pull_secrets(&gather, cluster);
    return gather;
}

static bool counts(struct trial *trial, size_t cluster, size_t kind, const struct json *object,
                   enum need_mirrors which) {
    const struct tracked_mirror *mirror = rules_mirror(trial, object_uid(object));
    return mirror && !(which == MIRRORS_TOLD && !rules_was_told_to_all(trial, mirror)) &&
           !(which == MIRRORS_KNOWN && need_is_held(trial, kind, object)) && !forgery_is(object) &&
           rules_is_ours(trial, cluster, kind, object);
}

uint64_t need_used_by_mirrors(struct trial *trial, size_t cluster, enum need_mirrors which) {
    uint64_t used = 0;
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *o; (o = world_next(trial->worlds[cluster], abi->group, abi->plural, &cursor));) {
            if (!counts(trial, cluster, k, o, which))
                continue;
            struct need_gather gather = need_gather(trial, cluster, k, o);
            used |= gather.needed | gather.optional;
        }
    }
    return used;
}

// An unfinished workload that is placed there, or (`any`) is to be placed. One that is suspended or being deleted gets
// no mirror.
static bool is_user(const struct trial *trial, size_t cluster, size_t kind, const struct json *workload, bool any) {
    const char *placed = mirror_attempt(workload) > 0 ? need_note(workload, MARK_CLUSTER) : ""; // else no annotation
    if (!trial_is_ours(trial, kind, workload) || sim_finished(trial->kinds[kind], workload) ||
        object_is_being_deleted(workload) || phase_suspend_asked(&trial->engine_kinds[kind]->abi, workload))
        return false;
    return *placed ? strcmp(placed, world_name(trial->worlds[cluster])) == 0 : any;
}

uint64_t need_used_by_workloads(struct trial *trial, size_t cluster, bool any) {
    uint64_t used = 0;
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *o;
             (o = world_next(trial->worlds[ENGINE_MANAGEMENT], abi->group, abi->plural, &cursor));) {
            if (!is_user(trial, cluster, k, o, any))
                continue;
            struct need_gather gather = need_gather(trial, ENGINE_MANAGEMENT, k, o);
            used |= gather.needed | gather.optional;
        }
    }
    return used;
}

void need_note_user(struct trial *trial, size_t kind, const struct json *workload) {
    if (!workload)
        return;
    struct need_gather gather = need_gather(trial, ENGINE_MANAGEMENT, kind, workload);
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        for (size_t i = 0; i < needs_count(trial) && is_user(trial, c, kind, workload, true); i++)
            if ((gather.needed | gather.optional) >> i & 1)
                need_state_of(trial, c, i)->unused_ns = 0;
}

// What the host knows -----------------------------------------------------------------------------------------

// Rule 9: a host that reads another uid does nothing there, and with another management cluster nothing anywhere.
static bool is_refused(const struct trial *trial, size_t cluster) {
    return trial->host->refused_ns[ENGINE_MANAGEMENT] || trial->host->refused_ns[cluster];
}

bool need_is_calm(const struct trial *trial, size_t cluster) {
    return !trial->plan.elects && !trial->plan.slow && !trial->plan.costs && !trial->plan.breaks &&
           !trial->plan.shards && faults_are_over(trial, cluster, CALM_NS) && steady_is_calm(trial, cluster, CALM_NS) &&
           members_knows(trial, cluster) && !trial->host->silent[cluster] && trial->host->alive &&
           !is_refused(trial, cluster) && trial->now_ns >= trial->host->asleep_until_ns;
}

// It must know this object, and its source, as they are.
bool need_is_known(const struct trial *trial, size_t cluster, size_t index) {
    return need_is_calm(trial, cluster) && trial->now_ns - need_state_of(trial, cluster, index)->others_ns > KNOWN_NS &&
           trial->now_ns - need_state_of(trial, ENGINE_MANAGEMENT, index)->others_ns > KNOWN_NS;
}

void need_add_made(struct trial *trial, const char *uid) {
    struct need_rules *rules = trial->need_rules;
    if (need_is_made(trial, uid))
        return;
    if (rules->n_made == MADE)
        trial_fail(trial, "more copies than a trial can have: is there a loop?");
    else
        text_copy(rules->made[rules->n_made++], sizeof *rules->made, uid);
}

bool need_is_of_another_host(const struct json *object) {
    return object && *need_label(object, MARK_ORIGIN) && strcmp(need_label(object, MARK_ORIGIN), TRIAL_ORIGIN) != 0;
}

bool need_is_held(struct trial *trial, size_t kind, const struct json *object) {
    const struct json *workload =
        trial_object(trial, ENGINE_MANAGEMENT, kind, object_namespace(object), object_name(object));
    bool orphan = !workload || strcmp(object_uid(workload), need_label(object, MARK_UID)) != 0;
    return *need_label(object, MARK_UID) && (orphan || (forgery_is(object) && !seal_keys_any(trial->seals)));
}
