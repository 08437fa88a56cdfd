// SPDX-License-Identifier: Apache-2.0
// Writes as the API servers accept or reject them.
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/guards.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/promise_rules.h"
#include "tests/simulation/queues.h"
#include "tests/simulation/rivals.h"
#include "tests/simulation/rooms.h"
#include "tests/simulation/rules.h"
#include "tests/simulation/status_rules.h"
#include "tests/simulation/steady.h"
#include "tests/simulation/tenants.h"

#include <string.h>

static const char *uid_of(const struct json *object) {
    return rules_text(object, "metadata", NULL, "uid");
}

static void track_workload(struct trial *trial, size_t kind, const struct json *job) {
    struct rules *rules = trial->rules;
    if (rules->n_workloads == RULES_WORKLOADS)
        return;
    struct tracked_workload *tracked = &rules->workloads[rules->n_workloads++];
    *tracked = (struct tracked_workload){.kind = kind, .ours = trial_is_ours(trial, kind, job)};
    text_copy(tracked->uid, sizeof tracked->uid, uid_of(job));
    text_copy(tracked->name, sizeof tracked->name, rules_text(job, "metadata", NULL, "name"));
    text_copy(tracked->namespace_, sizeof tracked->namespace_, rules_text(job, "metadata", NULL, "namespace"));
}

// The parts of an object that the host may not change.
static struct json *without_ours(const struct json *object) {
    struct json *copy = json_copy(object);
    static const char *const ours[] = {"/metadata/annotations/wharf.dev~1cluster",
                                       "/metadata/annotations/wharf.dev~1attempt",
                                       "/metadata/annotations/wharf.dev~1previous",
                                       "/metadata/annotations/wharf.dev~1progress",
                                       "/metadata/annotations/wharf.dev~1retried",
                                       "/metadata/annotations/wharf.dev~1used",
                                       "/metadata/labels/wharf.dev~1cluster",
                                       "/metadata/resourceVersion",
                                       "/metadata/managedFields"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        pointer_remove(copy, ours[i]);
    if (json_size(json_path(copy, "metadata", "annotations", NULL)) == 0)
        pointer_remove(copy, "/metadata/annotations");
    if (json_size(json_path(copy, "metadata", "labels", NULL)) == 0)
        pointer_remove(copy, "/metadata/labels");
    return copy;
}

static void check_placement(struct trial *trial, struct tracked_workload *job, const struct world_write *write) {
    AUTO_JSON before = without_ours(write->old);
    AUTO_JSON after = without_ours(write->now);
    if (!json_equal(before, after))
        trial_fail(trial, "rule 1: more of %s was changed than the annotations and the label", write->name);
    promises_placed(trial, job, write);
    job->placements += !write->noop;
}

static void check_status(struct trial *trial, struct tracked_workload *job, const struct world_write *write) {
    if (write->status >= 300 || !job)
        return;
    // A request of before a restore that arrives after it: its version may have been given once more.
    bool again = job->stray && trial->rules->back_ns[ENGINE_MANAGEMENT];
    if (write->noop && !job->unsure && !again)
        trial_fail(trial, "rule 6: a status patch of %s changed nothing", write->name);
    job->unsure = false;
    job->statuses++;
}

// The whole object is patched where the kind has no status subresource.
static bool is_status(const struct trial *trial, size_t kind, const struct world_write *write) {
    if (!(trial->engine_kinds[kind]->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE))
        return write->verb == WORLD_UPDATE_STATUS;
    return write->verb == WORLD_UPDATE && write->old && write->now &&
           !json_equal(json_get(write->old, "status"), json_get(write->now, "status"));
}

// A patch of which the host has heard nothing may arrive after the cluster went back and has reached the
// resourceVersion again that is its precondition.
static bool may_be_from_before(struct trial *trial, size_t kind, const struct world_write *write) {
    int64_t back_ns = trial->rules->back_ns[ENGINE_MANAGEMENT];
    if (kind == trial->n_kinds || back_ns == 0 || trial->now_ns - back_ns > RULES_STRAY_NS)
        return false;
    const struct json *there = trial_object(trial, ENGINE_MANAGEMENT, kind, write->namespace_, write->name);
    const struct tracked_workload *job = there ? rules_workload(trial, uid_of(there)) : NULL;
    return job && job->stray;
}

static void in_management(struct trial *trial, size_t kind, const struct world_write *write) {
    if ((write->status == 422 || write->status == 400) && !may_be_from_before(trial, kind, write))
        trial_fail(trial, "rule 6: %s %s was refused: %s", write->plural, write->name, write->message);
    if (strcmp(write->plural, "events") == 0) {
        struct tracked_workload *job = rules_workload(trial, rules_text(write->now, "regarding", NULL, "uid"));
        if (job && write->status < 300 && write->verb == WORLD_CREATE)
            job->events++;
        if (job && write->status < 300 && write->verb == WORLD_CREATE && trial->plan.back != TRIAL_BACK_ALL)
            promises_told(trial, write->now);
        return;
    }
    if (strcmp(write->plural, "leases") == 0 && trial->plan.elects)
        return;
    if (kind == trial->n_kinds) {
        trial_fail(trial, "rule 1: a write to %s in the management cluster", write->plural);
        return;
    }
    struct tracked_workload *job = write->old ? rules_workload(trial, uid_of(write->old)) : NULL;
    if (job)
        job->stray |= trial->rules->late;
    if (job && write->status < 300 && write->now && sim_finished(trial->kinds[kind], write->now) &&
        !sim_finished(trial->kinds[kind], write->old))
        job->end_ns = trial->now_ns;
    if (write->status < 300 && write->now)
        forgery_check(trial, write->now);
    if (write->status < 300 && (!job || !job->ours))
        trial_fail(trial, "rule 1: %s was written, and is not the host's", write->name);
    else if (is_status(trial, kind, write))
        check_status(trial, job, write);
    else if (write->status < 300)
        check_placement(trial, job, write);
}

static bool has_managed_by(const struct json *value) {
    for (const struct json *item = json_first(value); item; item = json_next(item))
        if (text_equal(json_key(item), "managedBy") || has_managed_by(item))
            return true;
    return false;
}

struct removed {
    const char *pattern;
    bool found;
};

static bool find_removed(void *ctx, const char *pointer, struct json *value) {
    struct removed *removed = ctx;
    (void)pointer, (void)value;
    removed->found = true;
    return false;
}

static const char *removed_of(const wharf_kind *abi, const struct json *mirror) {
    for (const char *const *pattern = abi->removed; pattern && *pattern; pattern++) {
        struct removed removed = {.pattern = *pattern};
        pointer_each(mirror, *pattern, find_removed, &removed);
        if (removed.found)
            return *pattern;
    }
    return NULL;
}

const char *rules_forbidden(const struct trial *trial, size_t kind, const struct json *mirror, bool as_sent) {
    static const char *const never[] = {"/metadata/ownerReferences"};
    static const char *const never_sent[] = {"/metadata/uid", "/metadata/resourceVersion", "/metadata/generation",
                                             "/metadata/managedFields", "/status"};
    const struct custom *custom = trial->kinds[kind]->custom;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (pointer_find(mirror, never[i]))
            return never[i];
    for (const struct json *f = json_first(json_path(mirror, "metadata", "finalizers", NULL)); f; f = json_next(f))
        if (!text_equal(json_string(f), MARK_FINALIZER) && as_sent)
            return "a foreign finalizer";
    for (size_t i = 0; as_sent && i < sizeof never_sent / sizeof *never_sent; i++)
        if (pointer_find(mirror, never_sent[i]))
            return never_sent[i];
    bool defaulted = custom && custom->defaulted && !as_sent && !custom_delegated(custom, mirror);
    if (has_managed_by(json_get(mirror, "spec")) && !defaulted)
        return "a managedBy";
    if (custom && (custom_ttl_s(custom, mirror, true) >= 0 || custom_ttl_s(custom, mirror, false) >= 0))
        return "a field that deletes it";
    if (!custom && pointer_find(mirror, "/spec/ttlSecondsAfterFinished"))
        return "/spec/ttlSecondsAfterFinished";
    return as_sent ? removed_of(&trial->engine_kinds[kind]->abi, mirror) : NULL;
}

static void check_shape(struct trial *trial, size_t kind, const struct json *mirror) {
    const char *forbidden = rules_forbidden(trial, kind, mirror, false);
    if (forbidden)
        trial_fail(trial, "rule 8: the mirror %s has %s", rules_text(mirror, "metadata", NULL, "name"), forbidden);
}

static void adopt_unmarked(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, kind, write->namespace_, write->name);
    struct tracked_workload *job = workload ? rules_workload(trial, uid_of(workload)) : NULL;
    rules_adopt(trial, cluster, kind, write->now);
    if (!job || trial->failure)
        return;
    struct tracked_mirror *m = &trial->rules->mirrors[trial->rules->n_mirrors - 1];
    text_copy(m->workload, sizeof m->workload, job->uid);
    m->guessed = m->attempt == 0;
    if (m->guessed)
        m->attempt = job->begun; // the workload may have been placed again since
    job->creates++;
    job->touched = job->scaled = true;
}

static void check_created(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    struct rules *rules = trial->rules;
    const char *uid = rules_text(write->now, "metadata", "labels", MARK_UID);
    struct tracked_workload *job = rules_workload(trial, uid);
    uint32_t attempt = mirror_attempt(write->now);
    if (pests_rule(trial, cluster)) { // it may have lost its marks
        adopt_unmarked(trial, cluster, kind, write);
        return;
    }
    check_shape(trial, kind, write->now);
    if (!job || !job->ours || attempt == 0) {
        trial_fail(trial, "rule 1: %s was created, for no workload of the host's", write->name);
        return;
    }
    for (size_t i = 0; i < rules->n_mirrors && !job->tampered; i++) {
        const struct tracked_mirror *m = &rules->mirrors[i];
        if (strcmp(m->workload, uid) == 0 && m->attempt == attempt && m->cluster != cluster && !m->guessed)
            trial_fail(trial, "rule 2: attempt %u of %s was made in %s and in %s", attempt, write->name,
                       world_name(trial->worlds[m->cluster]), world_name(trial->worlds[cluster]));
    }
    job->creates++;
    rules_adopt(trial, cluster, kind, write->now);
    if (kind == 0)
        fields_created(trial, cluster, write->now);
}

static void check_carried(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    check_shape(trial, kind, write->now);
    static const char injected[] = "/metadata/labels/example.com~1injected";
    if (pointer_find(write->old, injected) && !pointer_find(write->now, injected))
        trial_fail(trial, "rule 3: a label that the worker set on %s was removed", write->name);
    struct tracked_workload *job = rules_workload(trial, rules_text(write->now, "metadata", "labels", MARK_UID));
    if (job && finalizer_is_on(write->old) && !finalizer_is_on(write->now))
        job->releases++;
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(write->now));
    bool crossed = mirror && mirror->others_ns >= mirror->patched_ns; // somebody else was faster
    // A host that was asleep reads what happened meanwhile one by one.
    crossed |= mirror && mirror->patched_ns >= trial->host->asleep_until_ns &&
               mirror->patched_ns - trial->host->asleep_until_ns < 100 * CLOCK_MS;
    if (write->noop && job && !crossed && !pests_rule(trial, cluster) && !job->mirror_unsure && !trial->plan.stripping)
        trial_fail(trial, "rule 8: a patch of the mirror %s changed nothing", write->name);
}

static void check_deleted(struct trial *trial, size_t kind, const struct world_write *write) {
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(write->old));
    struct tracked_workload *job = rules_workload(trial, mirror->workload);
    if (!job)
        return;
    job->deletes++;
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, kind, write->namespace_, write->name);
    rivals_check(trial, kind, workload, write->old);
    if (workload && strcmp(uid_of(workload), job->uid) == 0 && mirror->attempt == 1 && !job->tampered &&
        !job->rival_end && sim_finished(trial->kinds[kind], workload))
        outcome_compare(trial, workload, write->old);
}

// A patch has the uid of its object, and there may be another object of that name by now.
// Tekton rejects changes of a finished run, and making a running one pending: the host may not know yet that it runs.
static bool may_be_refused(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    const struct json *there =
        kind < trial->n_kinds ? trial_object(trial, cluster, kind, write->namespace_, write->name) : NULL;
    const struct custom *custom = there ? trial->kinds[kind]->custom : NULL;
    if (write->message && strstr(write->message, "metadata.uid"))
        return true;
    return custom && custom->done_is_done && json_path(there, "status", "startTime", NULL);
}

static void in_worker(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    if (strcmp(write->plural, "namespaces") == 0 && write->verb == WORLD_CREATE && trial->plan.create_namespaces)
        return;
    if (strcmp(write->plural, "workloads") == 0) {
        queues_activated(trial, write);
        return;
    }
    if (strcmp(write->plural, "leases") == 0 && trial->plan.guards)
        return;
    if (kind == trial->n_kinds) {
        trial_fail(trial, "rule 3: a write to %s in a worker", write->plural);
        return;
    }
    bool refused = write->verb == WORLD_UPDATE_STATUS && progress_is_refused(trial, cluster);
    if ((write->status == 422 || write->status == 400) && !refused && !may_be_refused(trial, cluster, kind, write))
        trial_fail(trial, "a write to %s %s in %s was refused: %s", write->plural, write->name,
                   world_name(trial->worlds[cluster]), write->message);
    if (write->status >= 300) {
        if (write->verb == WORLD_CREATE && kind == 0)
            rooms_rejected(trial, cluster, write->namespace_, write->name);
        return;
    }
    queues_written(trial, cluster, write);
    if (write->verb == WORLD_CREATE) {
        check_created(trial, cluster, kind, write);
        return;
    }
    if (!rules_mirror(trial, uid_of(write->old)))
        trial_fail(trial, "rule 3: %s in %s was written, and is not the host's", write->name,
                   world_name(trial->worlds[cluster]));
    else if (write->verb == WORLD_UPDATE)
        check_carried(trial, cluster, kind, write);
    else if (write->verb == WORLD_DELETE)
        check_deleted(trial, kind, write);
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
static void note_change(struct trial *trial, size_t kind, const struct world_write *write) {
    struct tracked_workload *job = rules_workload(trial, rules_text(write->now, "metadata", "labels", MARK_UID));
    const struct tracked_mirror *mirror = rules_mirror(trial, uid_of(write->now));
    if (job && mirror && is_status(trial, kind, write))
        job->changes++;
}

static void note_user(struct trial *trial, size_t cluster, size_t kind, const struct world_write *write) {
    struct tracked_mirror *mirror = write->now ? rules_mirror(trial, uid_of(write->now)) : NULL;
    if (mirror)
        mirror->others_ns = trial->now_ns;
    if (cluster != ENGINE_MANAGEMENT)
        return;
    struct tracked_workload *tracked = rules_workload(trial, uid_of(write->now));
    if (write->verb == WORLD_CREATE) {
        track_workload(trial, kind, write->now);
        pests_retried(trial, write->name);
    } else if (tracked && write->now && trial_is_ours(trial, kind, write->now))
        tracked->ours = true;
}

static void note_late(struct trial *trial) {
    uint64_t late_writes = sim_net_counts(trial->net)->late_writes;
    trial->rules->late = late_writes != trial->rules->late_writes;
    trial->rules->late_writes = late_writes;
}

void rules_hook(void *ctx, const struct world_write *write) {
    const struct side *side = ctx;
    struct trial *trial = side->trial;
    size_t kind = trial_kind(trial, write->group, write->plural);
    bool known = kind < trial->n_kinds;
    trace_write(trial, side->cluster, write);
    note_late(trial);
    if (!trial->user_acts && !write->internal)
        tenants_written(trial, side->cluster, write);
    if (need_rules_hook(trial, side->cluster, write))
        return;
    if (known && kind == 0 && side->cluster != ENGINE_MANAGEMENT && write->now && write->status < 300)
        status_written(trial, write->now);
    if (known && write->status < 300)
        for (size_t c = 0; c < trial->plan.n_clusters; c++)
            rules_count(trial, c, kind, write->namespace_, write->name, true);
    if (trial->user_acts) {
        if (known && write->status < 300)
            note_user(trial, side->cluster, kind, write);
    } else if (write->internal) {
        if (known && write->status < 300)
            steady_change(trial, kind, write->namespace_, write->name);
        if (known && side->cluster != ENGINE_MANAGEMENT)
            note_change(trial, kind, write);
    } else if (side->cluster == ENGINE_MANAGEMENT) {
        in_management(trial, kind, write);
    } else {
        in_worker(trial, side->cluster, kind, write);
    }
    if (known && kind == 0)
        progress_written(trial, side->cluster, write);
    if (known && side->cluster != ENGINE_MANAGEMENT && write->status < 300) {
        struct tracked_mirror *mirror =
            trial->rules->late && write->now ? rules_mirror(trial, uid_of(write->now)) : NULL;
        if (mirror)
            mirror->late_ns = trial->now_ns;
        guards_written(trial, side->cluster, kind, write);
    }
}
