// SPDX-License-Identifier: Apache-2.0
// Writes as the API servers accept or refuse them.
#include "core/host/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/rules.h"

#include <string.h>

static const char *uid_of(const struct json *object) {
    return rules_text(object, "metadata", NULL, "uid");
}

static void track_job(struct trial *trial, const struct json *job) {
    struct rules *rules = trial->rules;
    if (rules->n_jobs == RULES_JOBS)
        return;
    struct tracked_job *tracked = &rules->jobs[rules->n_jobs++];
    *tracked = (struct tracked_job){.ours = strcmp(rules_text(job, "spec", NULL, "managedBy"), TRIAL_MANAGED_BY) == 0};
    text_copy(tracked->uid, sizeof tracked->uid, uid_of(job));
    text_copy(tracked->name, sizeof tracked->name, rules_text(job, "metadata", NULL, "name"));
    text_copy(tracked->namespace_, sizeof tracked->namespace_, rules_text(job, "metadata", NULL, "namespace"));
}

// Of an object, what the host may not change.
static struct json *without_ours(const struct json *object) {
    struct json *copy = json_copy(object);
    pointer_remove(copy, "/metadata/annotations/wharf.dev~1cluster");
    pointer_remove(copy, "/metadata/annotations/wharf.dev~1attempt");
    pointer_remove(copy, "/metadata/resourceVersion");
    pointer_remove(copy, "/metadata/managedFields");
    if (json_size(json_path(copy, "metadata", "annotations", NULL)) == 0)
        pointer_remove(copy, "/metadata/annotations");
    return copy;
}

static void check_placement(struct trial *trial, struct tracked_job *job, const struct world_write *write) {
    AUTO_JSON before = without_ours(write->old);
    AUTO_JSON after = without_ours(write->now);
    if (!json_equal(before, after))
        trial_fail(trial, "rule 1: more of %s was changed than the annotations", write->name);
    job->placements += !write->noop;
}

static void check_status(struct trial *trial, struct tracked_job *job, const struct world_write *write) {
    if (write->status == 422)
        trial_fail(trial, "rule 6: a status of %s was refused: %s", write->name, write->message);
    if (write->status >= 300 || !job)
        return;
    if (write->noop && !job->unsure)
        trial_fail(trial, "rule 6: a status patch of %s changed nothing", write->name);
    job->unsure = false;
    job->statuses++;
}

static void in_management(struct trial *trial, const struct world_write *write) {
    if (strcmp(write->plural, "events") == 0) {
        struct tracked_job *job = rules_job(trial, rules_text(write->now, "regarding", NULL, "uid"));
        if (job && write->status < 300 && write->verb == WORLD_CREATE)
            job->events++;
        return;
    }
    if (strcmp(write->plural, "jobs") != 0) {
        trial_fail(trial, "rule 1: a write to %s in the management cluster", write->plural);
        return;
    }
    struct tracked_job *job = write->old ? rules_job(trial, uid_of(write->old)) : NULL;
    if (write->status < 300 && (!job || !job->ours))
        trial_fail(trial, "rule 1: %s was written, and is not ours", write->name);
    else if (write->verb == WORLD_UPDATE_STATUS)
        check_status(trial, job, write);
    else if (write->status < 300)
        check_placement(trial, job, write);
}

static void check_shape(struct trial *trial, const struct json *mirror) {
    static const char *const never[] = {"/spec/managedBy", "/spec/ttlSecondsAfterFinished", "/metadata/ownerReferences",
                                        "/metadata/finalizers"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (pointer_find(mirror, never[i]))
            trial_fail(trial, "rule 8: the mirror %s has %s", rules_text(mirror, "metadata", NULL, "name"), never[i]);
}

static void check_created(struct trial *trial, size_t cluster, const struct world_write *write) {
    struct rules *rules = trial->rules;
    const char *uid = rules_text(write->now, "metadata", "labels", MARK_UID);
    struct tracked_job *job = rules_job(trial, uid);
    uint32_t attempt = mirror_attempt(write->now);
    check_shape(trial, write->now);
    if (!job || !job->ours || attempt == 0) {
        trial_fail(trial, "rule 1: %s was created, of no workload of ours", write->name);
        return;
    }
    for (size_t i = 0; i < rules->n_mirrors && !job->tampered; i++) {
        const struct tracked_mirror *m = &rules->mirrors[i];
        if (strcmp(m->job, uid) == 0 && m->attempt == attempt && m->cluster != cluster)
            trial_fail(trial, "rule 2: attempt %u of %s was made in %s and in %s", attempt, write->name,
                       world_name(trial->worlds[m->cluster]), world_name(trial->worlds[cluster]));
    }
    job->creates++;
    rules_adopt(trial, cluster, write->now);
}

static void check_carried(struct trial *trial, const struct world_write *write) {
    check_shape(trial, write->now);
    static const char injected[] = "/metadata/labels/example.com~1injected";
    if (pointer_find(write->old, injected) && !pointer_find(write->now, injected))
        trial_fail(trial, "rule 3: a label that the worker put on %s was taken off", write->name);
    const struct tracked_job *job = rules_job(trial, rules_text(write->now, "metadata", "labels", MARK_UID));
    if (write->noop && job && !job->mirror_unsure && !trial->plan.stripping)
        trial_fail(trial, "rule 8: a patch of the mirror %s changed nothing", write->name);
}

static void check_deleted(struct trial *trial, const struct world_write *write) {
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(write->old));
    struct tracked_job *job = rules_job(trial, mirror->job);
    if (!job)
        return;
    job->deletes++;
    const struct json *workload = trial_job(trial, ENGINE_MANAGEMENT, write->namespace_, write->name);
    if (workload && strcmp(uid_of(workload), job->uid) == 0 && rules_finished(workload) && mirror->attempt == 1 &&
        !job->tampered)
        outcome_compare(trial, workload, write->old);
}

static void in_worker(struct trial *trial, size_t cluster, const struct world_write *write) {
    if (strcmp(write->plural, "namespaces") == 0 && write->verb == WORLD_CREATE && trial->plan.create_namespaces)
        return;
    if (strcmp(write->plural, "jobs") != 0) {
        trial_fail(trial, "rule 3: a write to %s in a worker", write->plural);
        return;
    }
    if (write->status >= 300)
        return;
    if (write->verb == WORLD_CREATE) {
        check_created(trial, cluster, write);
        return;
    }
    if (!rules_mirror(trial, uid_of(write->old)))
        trial_fail(trial, "rule 3: %s in %s was written, and is not ours", write->name,
                   world_name(trial->worlds[cluster]));
    else if (write->verb == WORLD_UPDATE)
        check_carried(trial, write);
    else if (write->verb == WORLD_DELETE)
        check_deleted(trial, write);
}

static void trace_write(struct trial *trial, size_t cluster, const struct world_write *write) {
    static const char *const verbs[] = {"create", "update", "update status", "delete", "read"};
    trial_hash(trial, write->name, strlen(write->name));
    if (!trial->tracing)
        return;
    AUTO_TEXT status =
        write->verb == WORLD_UPDATE_STATUS && write->now ? json_text(json_get(write->now, "status"), NULL) : NULL;
    const char *who = trial->user_acts ? "user" : write->internal ? "itself" : "host";
    trial_trace(trial, "%s (%s): %s %s %s/%s: %d %s%.170s", world_name(trial->worlds[cluster]), who, verbs[write->verb],
                write->plural, write->namespace_, write->name, write->status, write->noop ? "no change" : "",
                write->message ? write->message
                : status       ? status
                               : "");
}

// A status that a worker's controller wrote.
static void note_change(struct trial *trial, const struct world_write *write) {
    struct tracked_job *job = rules_job(trial, rules_text(write->now, "metadata", "labels", MARK_UID));
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(write->now));
    if (job && mirror && write->verb == WORLD_UPDATE_STATUS)
        job->changes++;
}

void rules_hook(void *ctx, const struct world_write *write) {
    const struct side *side = ctx;
    struct trial *trial = side->trial;
    bool jobs = strcmp(write->plural, "jobs") == 0;
    trace_write(trial, side->cluster, write);
    if (jobs && write->status < 300)
        for (size_t c = 0; c < trial->plan.n_clusters; c++)
            rules_count(trial, c, write->namespace_, write->name, true);
    if (trial->user_acts) {
        if (jobs && side->cluster == ENGINE_MANAGEMENT && write->verb == WORLD_CREATE && write->status < 300)
            track_job(trial, write->now);
    } else if (write->internal) {
        if (jobs && side->cluster != ENGINE_MANAGEMENT)
            note_change(trial, write);
    } else if (side->cluster == ENGINE_MANAGEMENT) {
        in_management(trial, write);
    } else {
        in_worker(trial, side->cluster, write);
    }
}
