// SPDX-License-Identifier: Apache-2.0
// What must be true once trouble is over, and what a life without trouble costs.
#include "core/host/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/users.h"

#include <string.h>

// What is missing of one workload; NULL: nothing.
static char *workload_missing(const struct json *job) {
    const char *name = rules_text(job, "metadata", NULL, "name");
    const char *expected = rules_text(job, "metadata", "annotations", USERS_EXPECTED);
    if (*rules_text(job, "metadata", NULL, "deletionTimestamp"))
        return text_format("%s is still being deleted", name);
    if (rules_finished(job)) {
        bool failed = rules_condition(job, "Failed");
        if (strcmp(expected, failed ? "Complete" : "Failed") == 0)
            return text_format("%s is %s, and should be %s", name, failed ? "Failed" : "Complete", expected);
        return NULL;
    }
    if (!json_bool(json_path(job, "spec", "suspend", NULL), false))
        return text_format("%s has not finished", name);
    if (!rules_condition(job, "Suspended"))
        return text_format("%s is suspended, and its status does not say so", name);
    return NULL;
}

// A mirror that may stay: of a workload that is not over.
static bool may_stay(struct trial *trial, size_t cluster, const struct json *mirror) {
    const struct json *job = trial_job(trial, ENGINE_MANAGEMENT, rules_text(mirror, "metadata", NULL, "namespace"),
                                       rules_text(mirror, "metadata", NULL, "name"));
    return job && !rules_finished(job) &&
           strcmp(rules_text(job, "metadata", NULL, "uid"), rules_text(mirror, "metadata", "labels", MARK_UID)) == 0 &&
           mirror_attempt(job) == mirror_attempt(mirror) &&
           strcmp(rules_text(job, "metadata", "annotations", MARK_CLUSTER), world_name(trial->worlds[cluster])) == 0;
}

static bool same_keys(const struct json *job, const struct json *mirror, const char *map) {
    for (const struct json *m = json_first(json_path(job, "metadata", map, NULL)); m; m = json_next(m))
        if (!mirror_key_is_private(json_key(m)) && !strstr(json_key(m), "controller-uid") &&
            !strstr(json_key(m), "job-name") && !json_equal(json_path(mirror, "metadata", map, json_key(m), NULL), m))
            return false;
    // "team" is the label that users take off.
    return (json_path(job, "metadata", map, "team", NULL) != NULL) ==
           (json_path(mirror, "metadata", map, "team", NULL) != NULL);
}

// A mirror that stays is like its workload.
static char *mirror_missing(struct trial *trial, const struct json *mirror) {
    static const char *const carried[] = {"/spec/suspend", "/spec/parallelism", "/spec/completions",
                                          "/spec/template/spec/nodeSelector", "/spec/template/metadata/annotations"};
    const char *name = rules_text(mirror, "metadata", NULL, "name");
    const struct json *job =
        trial_job(trial, ENGINE_MANAGEMENT, rules_text(mirror, "metadata", NULL, "namespace"), name);
    const struct tracked_job *tracked = rules_job(trial, rules_text(job, "metadata", NULL, "uid"));
    if (tracked->tampered || trial->plan.stripping)
        return NULL;
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++)
        if (!json_equal(pointer_find(job, carried[i]), pointer_find(mirror, carried[i])))
            return text_format("%s of the mirror of %s is not as the workload has it", carried[i], name);
    if (!same_keys(job, mirror, "labels") || !same_keys(job, mirror, "annotations"))
        return text_format("labels or annotations of the mirror of %s are not as the workload has them", name);
    return NULL;
}

char *outcome_missing(struct trial *trial) {
    const void *cursor = NULL;
    for (const struct json *job; (job = world_next(trial->worlds[ENGINE_MANAGEMENT], "batch", "jobs", &cursor));) {
        const struct tracked_job *tracked = rules_job(trial, rules_text(job, "metadata", NULL, "uid"));
        char *missing = tracked && tracked->ours ? workload_missing(job) : NULL;
        if (missing)
            return missing;
    }
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        cursor = NULL;
        for (const struct json *object; (object = world_next(trial->worlds[c], "batch", "jobs", &cursor));) {
            if (!mirror_is_ours(trial->kind, TRIAL_ORIGIN, object))
                continue;
            if (!may_stay(trial, c, object))
                return text_format("a mirror %s is left over in %s", rules_text(object, "metadata", NULL, "name"),
                                   world_name(trial->worlds[c]));
            char *missing = mirror_missing(trial, object);
            if (missing)
                return missing;
        }
    }
    return NULL;
}

void outcome_count(struct trial *trial) {
    for (size_t i = 0; i < trial->rules->n_jobs; i++) {
        const struct tracked_job *job = &trial->rules->jobs[i];
        const struct json *now = trial_job(trial, ENGINE_MANAGEMENT, job->namespace_, job->name);
        if (!job->ours || job->touched || !now || strcmp(rules_text(now, "metadata", NULL, "uid"), job->uid) != 0)
            continue;
        bool ran = job->creates > 0;
        unsigned statuses = ran ? job->changes : 1; // a suspended one gets its condition
        if (job->placements != ran || job->creates != ran || job->deletes != ran || job->statuses != statuses)
            trial_fail(trial,
                       "the life of %s cost %u placements, %u creates, %u statuses for %u changes, and %u deletes",
                       job->name, job->placements, job->creates, job->statuses, job->changes, job->deletes);
        if (job->events > 1)
            trial_fail(trial, "the life of %s made %u Events", job->name, job->events);
    }
}

void outcome_compare(struct trial *trial, const struct json *workload, const struct json *mirror) {
    static const char *const same[] = {"active",           "ready",         "terminating",    "succeeded", "failed",
                                       "completedIndexes", "failedIndexes", "completionTime", "startTime"};
    const struct json *a = json_get(workload, "status"), *b = json_get(mirror, "status");
    const struct tracked_job *job = rules_job(trial, rules_text(workload, "metadata", NULL, "uid"));
    if (!rules_finished(mirror) || job->creates > 1 || job->scaled)
        return; // it was not this mirror that finished it, or not as the workload is now
    bool resumed = json_get(b, "startTime") && rules_has_condition(mirror, "Suspended");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        // A workload that was not seen while it was suspended keeps its startTime: the API server insists on that.
        if (json_equal(json_get(a, same[i]), json_get(b, same[i])) || (resumed && strcmp(same[i], "startTime") == 0))
            continue;
        AUTO_TEXT left = json_text(a, NULL);
        AUTO_TEXT right = json_text(b, NULL);
        trial_fail(trial, "%s of %s is not what its mirror has: %s, not %s", same[i],
                   rules_text(workload, "metadata", NULL, "name"), left, right);
    }
    if (rules_condition(workload, "Complete") != rules_condition(mirror, "Complete"))
        trial_fail(trial, "%s did not end as its mirror", rules_text(workload, "metadata", NULL, "name"));
}
