// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/rivals.h"

#include "core/adapter/phase.h"

#include "tests/simulation/fields.h"
#include "tests/simulation/rules.h"

#include <stdio.h>
#include <string.h>

#define JOBS 6
#define EVERY_NS (300 * CLOCK_MS)

bool rivals_are_there(uint64_t seed) {
    return seed % 5 == 2;
}

static bool acts(const struct trial *trial) {
    return rivals_are_there(trial->seed) && trial->plan.faults && !trial->plan.plain && !trial->plan.elects &&
           trial->plan.back == TRIAL_BACK_NONE && trial->now_ns < trial->plan.trouble_end_ns;
}

int64_t rivals_due(const struct trial *trial) {
    return acts(trial) ? trial->now_ns - trial->now_ns % EVERY_NS + EVERY_NS : CLOCK_NEVER;
}

static bool has_mirror(struct trial *trial, size_t kind, const char *name) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        if (trial_object(trial, c, kind, "default", name))
            return true;
    return false;
}

// As a merge patch: that its pods have failed. NULL: the kind has no such story.
static char *failure(const struct sim_kind *kind) {
    if (!kind->fixture)
        return strdup("{\"status\":{\"active\":null,\"ready\":0,\"terminating\":0,\"conditions\":[{\"type\":"
                      "\"FailureTarget\",\"status\":\"True\",\"reason\":\"rival\"},{\"type\":\"Failed\",\"status\":"
                      "\"True\",\"reason\":\"rival\"}]}}");
    const struct story *story = fixture_story(kind->fixture, "failed");
    const struct step *last = story && story->n_steps > 0 ? &story->steps[story->n_steps - 1] : NULL;
    if (!last || last->type != STEP_STATUS || !last->phase || strcmp(last->phase, "Failed") != 0)
        return NULL;
    AUTO_TEXT status = json_text(last->status, NULL);
    return text_format("{\"status\":%s}", status ? status : "{}");
}

static void run(struct trial *trial, size_t kind, const char *name) {
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, kind, "default", name);
    struct tracked_workload *job =
        workload ? rules_workload(trial, rules_text(workload, "metadata", NULL, "uid")) : NULL;
    if (!job || !job->ours || sim_finished(trial->kinds[kind], workload) || !has_mirror(trial, kind, name) ||
        (kind == 0 && !json_path(workload, "status", "startTime", NULL)))
        return;
    const wharf_kind *abi = &trial->engine_kinds[kind]->abi;
    bool own = (abi->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
    AUTO_TEXT patch = own ? failure(trial->kinds[kind]) : NULL;
    if (!patch || world_patch(trial->worlds[ENGINE_MANAGEMENT], abi->group, abi->plural, "default", name, "status",
                              patch, trial->now_ns) != 200)
        return;
    job->rival_end = job->touched = job->scaled = true;
    trial_trace(trial, "a rival writes that %s %s has failed", abi->plural, name);
}

void rivals_act(struct trial *trial) {
    if (!acts(trial) || trial->now_ns % EVERY_NS)
        return;
    uint64_t turn = (uint64_t)(trial->now_ns / EVERY_NS);
    if (turn % 4) // most objects of a trial are left alone
        return;
    char name[16];
    snprintf(name, sizeof name, "job-%u", (unsigned)(turn / 4 % JOBS));
    trial->user_acts = true;
    for (size_t k = 0; k < trial->n_kinds; k++)
        run(trial, k, name);
    trial->user_acts = false;
}

// What has not started in time is withdrawn, whatever another writer says meanwhile.
static bool is_withdrawn(const struct trial *trial, const struct tracked_workload *job, const struct json *object) {
    return trial->plan.pending_timeout_ns && job->withdrawn > 0 &&
           json_int64(json_path(object, "status", "ready", NULL), 0) == 0;
}

// The worker did not keep a mark or a required field, so the mirror counts as rejected.
static bool is_rejected(struct trial *trial, const struct json *object) {
    const struct tracked_mirror *mirror = rules_mirror(trial, rules_text(object, "metadata", NULL, "uid"));
    return !*rules_text(object, "metadata", "labels", MARK_ORIGIN) || (mirror && fields_lacked(trial, mirror));
}

void rivals_check(struct trial *trial, size_t kind, const struct json *workload, const struct json *object) {
    const struct tracked_workload *job = rules_workload(trial, rules_text(object, "metadata", "labels", MARK_UID));
    if (!job || !job->rival_end || job->tampered || sim_finished(trial->kinds[kind], object) || !workload ||
        !sim_finished(trial->kinds[kind], workload) || !trial_is_ours(trial, kind, workload) ||
        *rules_text(workload, "metadata", NULL, "deletionTimestamp") ||
        strcmp(rules_text(workload, "metadata", NULL, "uid"), job->uid) != 0 ||
        mirror_attempt(workload) != mirror_attempt(object) || is_withdrawn(trial, job, object) ||
        is_rejected(trial, object) ||
        (trial->engine_kinds[kind]->hybrid == HYBRID_SUSPEND &&
         phase_suspend_asked(&trial->engine_kinds[kind]->abi, object)))
        return;
    trial_fail(trial, "rule 10: the mirror of %s is deleted while it runs, for another writer's final status",
               job->name);
}
