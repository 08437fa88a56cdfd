// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/fields.h"

#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/simulation/breaks.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/rules.h"

#include <stdlib.h>
#include <string.h>

#define FIELD "/spec/template/spec/priorityClassName"
#define LOOK_NS CLOCK_SECOND
#define LEFT_NS (20 * CLOCK_SECOND) // for a mirror to be deleted, with nothing wrong
#define CALM_NS CLOCK_MINUTE        // after trouble

enum drops { DROPS_NOT, DROPS_ALWAYS, DROPS_AT_TIMES };

struct fields {
    struct random random;
    enum drops drops[TRIAL_CLUSTERS];
    int64_t looked_ns;
    bool lacked[RULES_MIRRORS];       // when it was created
    unsigned sender[RULES_WORKLOADS]; // the process of the host that sent the last create
    unsigned maker[RULES_MIRRORS];    // the one that created it,
    bool answered[RULES_MIRRORS];     // and has got the answer
    int64_t since_ns[RULES_MIRRORS];  // since when it could have been deleted; 0: it has not been without
};

void fields_set_up(struct trial *trial, size_t cluster) {
    static const char text[] = "{\"metadata\":{\"name\":\"high\"},\"value\":1000}";
    AUTO_JSON class = NULL;
    if (!trial->plan.fields)
        return;
    error_free(json_parse(text, sizeof text - 1, &class));
    trial->user_acts = true;
    world_apply(trial->worlds[cluster], "scheduling.k8s.io", "priorityclasses", class, trial->now_ns);
    trial->user_acts = false;
}

struct fields *fields_new(struct trial *trial) {
    static const char *const words[] = {"", "drops a field", "drops a field at times"};
    struct fields *fields = calloc(1, sizeof *fields);
    if (!fields || !trial->plan.fields)
        return fields;
    fields->random.state = trial->seed * 61 + 31;
    (void)random_next(&fields->random);
    for (size_t c = 1; c < trial->plan.n_clusters; c++)
        fields_set_up(trial, c);
    for (size_t c = 2; c < trial->plan.n_clusters; c++) { // the first one has it
        fields->drops[c] = (enum drops)random_below(&fields->random, 3);
        if (fields->drops[c] && !cuts_has(trial, "w%zu %s", c, words[fields->drops[c]]))
            fields->drops[c] = DROPS_NOT;
    }
    return fields;
}

void fields_ask(struct trial *trial, struct json *job) {
    if (trial->plan.fields && random_below(&trial->fields->random, 4) &&
        !pointer_set(job, FIELD, json_new_string("high")))
        abort();
}

void fields_admit(struct trial *trial, size_t cluster, struct json *object) {
    if (!trial->plan.fields || !trial->fields->drops[cluster])
        return;
    if (trial->fields->drops[cluster] == DROPS_ALWAYS || random_below(&trial->fields->random, 2))
        pointer_remove(object, FIELD);
}

bool fields_keeps(const struct trial *trial, size_t cluster) {
    return !trial->plan.fields || trial->fields->drops[cluster] == DROPS_NOT;
}

// The workload has it, and was created with it.
static const struct json *workload_with(struct trial *trial, const struct json *mirror) {
    const struct json *job = trial_object(trial, ENGINE_MANAGEMENT, 0, object_namespace(mirror), object_name(mirror));
    return job && strcmp(object_uid(job), rules_text(mirror, "metadata", "labels", MARK_UID)) == 0 &&
                   pointer_find(job, FIELD)
               ? job
               : NULL;
}

bool fields_lacked(const struct trial *trial, const struct tracked_mirror *mirror) {
    return trial->plan.fields && trial->fields->lacked[mirror - trial->rules->mirrors];
}

static bool lacks(struct trial *trial, const struct json *mirror) {
    return trial->plan.fields && mirror && !pointer_find(mirror, FIELD) && workload_with(trial, mirror);
}

void fields_sent(struct trial *trial, const struct json *mirror) {
    const struct tracked_workload *job = rules_workload(trial, rules_text(mirror, "metadata", "labels", MARK_UID));
    if (job)
        trial->fields->sender[job - trial->rules->workloads] = trial->host->number;
}

// Where it is always dropped, the host has been told so when it tried.
void fields_created(struct trial *trial, size_t cluster, const struct json *mirror) {
    struct tracked_mirror *tracked = rules_mirror(trial, object_uid(mirror));
    const struct tracked_workload *job = rules_workload(trial, rules_text(mirror, "metadata", "labels", MARK_UID));
    if (tracked && job)
        trial->fields->maker[tracked - trial->rules->mirrors] = trial->fields->sender[job - trial->rules->workloads];
    if (tracked && lacks(trial, mirror))
        trial->fields->lacked[tracked - trial->rules->mirrors] = true;
    if (lacks(trial, mirror) && trial->fields->drops[cluster] == DROPS_ALWAYS)
        trial_fail(trial, "requireFields: the mirror of %s is created in %s, which drops " FIELD, object_name(mirror),
                   world_name(trial->worlds[cluster]));
}

void fields_answered(struct trial *trial, const struct object *object) {
    const struct tracked_mirror *mirror = object ? rules_mirror(trial, object_uid(object->value)) : NULL;
    size_t index = mirror ? (size_t)(mirror - trial->rules->mirrors) : 0;
    if (mirror && trial->fields->maker[index] == trial->host->number)
        trial->fields->answered[index] = true;
}

// The process that created it ended before the answer.
static bool is_unheard(const struct trial *trial, size_t index) {
    bool ended = true;
    for (size_t h = 0; h < TRIAL_HOSTS; h++)
        ended &= !trial->hosts[h].alive || trial->hosts[h].number != trial->fields->maker[index];
    return ended && !trial->fields->answered[index];
}

static void look_at(struct trial *trial, size_t index) {
    const struct tracked_mirror *tracked = &trial->rules->mirrors[index];
    const struct tracked_workload *job = rules_workload(trial, tracked->workload);
    int64_t *since_ns = &trial->fields->since_ns[index];
    const struct json *mirror =
        job && tracked->kind == 0 ? trial_object(trial, tracked->cluster, 0, job->namespace_, job->name) : NULL;
    bool left = mirror && strcmp(object_uid(mirror), tracked->uid) == 0 && lacks(trial, mirror) && !job->tampered &&
                !object_is_being_deleted(mirror) && !rules_finished(mirror) &&
                trial_is_ours(trial, 0, workload_with(trial, mirror)) && !pests_rule(trial, tracked->cluster) &&
                !is_unheard(trial, index) && !breaks_failed(trial, 0); // rule 12: it stays
    if (!left || !faults_are_over(trial, tracked->cluster, CALM_NS)) {
        *since_ns = 0;
        return;
    }
    if (*since_ns == 0)
        *since_ns = trial->now_ns;
    if (trial->now_ns - *since_ns > LEFT_NS)
        trial_fail(trial, "requireFields: the mirror of %s in %s is left without " FIELD, job->name,
                   world_name(trial->worlds[tracked->cluster]));
}

void fields_check(struct trial *trial) {
    if (!trial->plan.fields || trial->now_ns < trial->fields->looked_ns + LOOK_NS)
        return;
    trial->fields->looked_ns = trial->now_ns;
    for (size_t i = 0; i < trial->rules->n_mirrors; i++)
        look_at(trial, i);
}
