// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/intake.h"

#include "core/engine/mirror/mirror.h"
#include "core/kube/object/object.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/leases.h"
#include "tests/simulation/rules.h"
#include "tests/support/engine_views.h"

#include <stdlib.h>
#include <string.h>

#define CHANGES 4
#define LEAST 2
#define TOLD 256
#define CHECK_NS (10 * CLOCK_SECOND)
#define CALM_NS (4 * CLOCK_MINUTE) // after trouble: a silent watch is noticed by then
#define LEASED_NS CHECK_NS         // after a lease was taken: its kinds have been listed again by then

struct intake {
    size_t max;
    struct {
        int64_t at_ns;
        size_t max;
    } changes[CHANGES];
    size_t n_changes;
    // The event that the engine is about to get, if it is a workload that it does not know.
    char uid[40], name[32], space[32];
    size_t kind;
    bool placed;
    bool replaces; // an older one of its name, which the engine knows and has not seen deleted
    size_t count;  // of those that it knows
    struct {       // workloads that were told, by the present process
        char uid[40];
        unsigned process;
    } told[TOLD];
    size_t n_told;
    int64_t checked_ns;
};

struct intake *intake_new(struct trial *trial) {
    struct intake *intake = calloc(1, sizeof *intake);
    struct random random = {.state = trial->seed * 59 + 29};
    (void)random_next(&random);
    if (!intake || !trial->plan.intake)
        return intake;
    intake->max = LEAST + random_below(&random, 6);
    intake->n_changes = random_below(&random, CHANGES + 1);
    uint64_t length_ns = (uint64_t)(trial->plan.trouble_end_ns - trial->now_ns);
    for (size_t i = 0; i < intake->n_changes; i++) {
        intake->changes[i].at_ns = trial->now_ns + (int64_t)random_below(&random, length_ns);
        intake->changes[i].max = LEAST + random_below(&random, 10);
        if (!cuts_has(trial, "%.3f operator: maxWorkloads %zu",
                      (double)(intake->changes[i].at_ns - TRIAL_START_NS) / 1e9, intake->changes[i].max))
            intake->changes[i].at_ns = CLOCK_NEVER;
    }
    return intake;
}

size_t intake_max(const struct trial *trial) {
    return trial->intake->max;
}

static void set(struct trial *trial, size_t max) {
    trial_trace(trial, "operator: maxWorkloads %zu", max);
    trial->intake->max = max;
    instance_configure(trial);
}

int64_t intake_due(const struct trial *trial) {
    int64_t due = CLOCK_NEVER;
    for (size_t i = 0; i < trial->intake->n_changes; i++)
        due = clock_earlier(due, trial->intake->changes[i].at_ns);
    return due;
}

void intake_act(struct trial *trial) {
    struct intake *intake = trial->intake;
    for (size_t i = 0; i < intake->n_changes; i++) {
        if (intake->changes[i].at_ns > trial->now_ns)
            continue;
        intake->changes[i].at_ns = CLOCK_NEVER;
        set(trial, intake->changes[i].max);
    }
}

static size_t delegated(struct trial *trial) {
    size_t count = 0;
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *object;
             (object = world_next(trial->worlds[ENGINE_MANAGEMENT], abi->group, abi->plural, &cursor));)
            count += trial_is_ours(trial, k, object);
    }
    return count;
}

void intake_end(struct trial *trial) {
    trial->intake->n_changes = 0;
    if (trial->plan.intake)
        set(trial, trial->seed % 2 ? 0 : delegated(trial));
}

struct look {
    struct intake *intake;
    bool known, older;
};

static void look_at(void *ctx, const struct engine_view *view) {
    struct look *look = ctx;
    struct intake *intake = look->intake;
    bool same = strcmp(view->uid, intake->uid) == 0;
    intake->count++;
    look->known |= same;
    look->older |= !same && view->kind == intake->kind && strcmp(view->name, intake->name) == 0 &&
                   strcmp(view->namespace_, intake->space) == 0;
}

static struct look look(struct trial *trial) {
    struct look look = {.intake = trial->intake};
    trial->intake->count = 0;
    engine_each(trial->host->turn.engine, look_at, &look);
    return look;
}

static bool has_name_of(const struct tracked_workload *job, size_t kind, const struct json *workload) {
    return job && job->kind == kind && strcmp(job->name, object_name(workload)) == 0 &&
           strcmp(job->namespace_, object_namespace(workload)) == 0;
}

// It is placed already, or the host may have seen a mirror of it.
static bool may_be_placed(struct trial *trial, size_t kind, const struct json *workload) {
    if (object_annotation(workload, MARK_CLUSTER))
        return true;
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        if (trial_object(trial, c, kind, object_namespace(workload), object_name(workload)))
            return true;
    const struct rules *rules = trial->rules;
    for (size_t i = 0; i < rules->n_mirrors; i++) // also of an earlier one of its name
        if (has_name_of(rules_workload(trial, rules->mirrors[i].workload), kind, workload))
            return true;
    for (size_t i = 0; i < rules->n_workloads; i++) // whose create may still be on its way
        if (rules->workloads[i].placements > 0 && has_name_of(&rules->workloads[i], kind, workload))
            return true;
    return false;
}

void intake_before(struct trial *trial, const struct engine_event *event) {
    struct intake *intake = trial->intake;
    intake->uid[0] = '\0';
    if (!intake->max || event->type != EVENT_SEEN || event->cluster != ENGINE_MANAGEMENT ||
        !trial_is_ours(trial, event->kind, event->object->value))
        return;
    text_copy(intake->uid, sizeof intake->uid, object_uid(event->object->value));
    text_copy(intake->name, sizeof intake->name, object_name(event->object->value));
    text_copy(intake->space, sizeof intake->space, object_namespace(event->object->value));
    intake->kind = event->kind;
    intake->placed = may_be_placed(trial, event->kind, event->object->value);
    struct look found = look(trial);
    intake->replaces = found.older;
    if (found.known)
        intake->uid[0] = '\0';
}

static void note_told(struct trial *trial, const struct update *update, size_t n_events) {
    struct intake *intake = trial->intake;
    for (size_t i = n_events; i < update->n_events; i++) {
        if (strcmp(update->events[i].reason, "TooManyWorkloads") != 0 || intake->n_told == TOLD)
            continue;
        intake->told[intake->n_told].process = trial->host->number;
        text_copy(intake->told[intake->n_told++].uid, sizeof intake->told->uid, update->events[i].uid);
    }
}

static bool was_told(const struct trial *trial, const char *uid) {
    const struct intake *intake = trial->intake;
    for (size_t i = 0; i < intake->n_told; i++)
        if (intake->told[i].process == trial->host->number && strcmp(intake->told[i].uid, uid) == 0)
            return true;
    return intake->n_told == TOLD;
}

void intake_after(struct trial *trial, const struct update *update, size_t n_events) {
    struct intake *intake = trial->intake;
    note_told(trial, update, n_events);
    if (!intake->max || !intake->uid[0])
        return;
    size_t before = intake->count;
    bool known = look(trial).known;
    bool grew = !intake->replaces || intake->count > before;
    if (known && grew && before >= intake->max && !intake->placed)
        trial_fail(trial, "maxWorkloads: %s is taken in, and there are %zu of at most %zu", intake->name, before,
                   intake->max);
    if (!known && before < intake->max)
        trial_fail(trial, "maxWorkloads: %s is not taken in, and there are %zu of at most %zu", intake->name, before,
                   intake->max);
    if (!known && !was_told(trial, intake->uid) && !trial->plan.shards) // else by the host that has the lease
        trial_fail(trial, "maxWorkloads: %s is not taken in, and no Event says so", intake->name);
    intake->uid[0] = '\0';
}

static int64_t age_of(const struct trial *trial, const struct json *object) {
    int64_t made_ns = 0;
    (void)clock_parse_rfc3339(rules_text(object, "metadata", NULL, "creationTimestamp"), &made_ns);
    return trial->now_ns - made_ns;
}

// After trouble: what is not taken in has been told so, also where the lease was another host's at first.
void intake_check(struct trial *trial) {
    struct intake *intake = trial->intake;
    if (!intake->max || trial->plan.hosts > 1 || trial->now_ns < intake->checked_ns + CHECK_NS ||
        !leases_are_settled(trial, LEASED_NS) || !faults_are_over(trial, ENGINE_MANAGEMENT, CALM_NS))
        return;
    intake->checked_ns = trial->now_ns;
    for (size_t i = 0; i < trial->rules->n_workloads; i++) {
        const struct tracked_workload *job = &trial->rules->workloads[i];
        const struct json *there =
            job->kind < trial->host->n_configured && trial->host->feeds[ENGINE_MANAGEMENT][job->kind].listed
                ? trial_object(trial, ENGINE_MANAGEMENT, job->kind, job->namespace_, job->name)
                : NULL;
        if (!there || strcmp(object_uid(there), job->uid) != 0 || !trial_is_ours(trial, job->kind, there) ||
            age_of(trial, there) < CLOCK_MINUTE)
            continue;
        text_copy(intake->uid, sizeof intake->uid, job->uid);
        if (!look(trial).known && !was_told(trial, job->uid))
            trial_fail(trial, "maxWorkloads: %s has not been taken in, and no Event has said so", job->name);
    }
    intake->uid[0] = '\0';
}
