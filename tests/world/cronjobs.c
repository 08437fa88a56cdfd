// SPDX-License-Identifier: Apache-2.0
// The CronJob controller, for tests: creates a Job at the interval that annotation world.test/interval says (the
// schedule is ignored), and keeps status.active, lastScheduleTime, lastSuccessfulTime and the history limits.
#include "core/base/clock.h"
#include "tests/world/controllers.h"
#include "tests/world/meta.h"
#include "tests/world/rules.h"
#include "tests/world/server.h"

#include <string.h>

static struct json *owner_reference(const struct stored *cronjob) {
    struct json *owner = json_new_object();
    if (!owner)
        world_oom();
    world_set_text(owner, "apiVersion", "batch/v1");
    world_set_text(owner, "kind", "CronJob");
    world_set_text(owner, "name", cronjob->name);
    world_set_text(owner, "uid", cronjob->uid);
    world_json_set(owner, "controller", json_new_bool(true));
    world_json_set(owner, "blockOwnerDeletion", json_new_bool(true));
    return owner;
}

static void make_job(const struct stored *cronjob, int64_t slot) {
    const struct json *template_ = json_path(cronjob->value, "spec", "jobTemplate", NULL);
    struct json *job = json_new_object(), *owners = json_new_array();
    if (!job || !owners || !json_append(owners, owner_reference(cronjob)))
        world_oom();
    const struct json *metadata = json_get(template_, "metadata");
    world_json_set(job, "metadata", metadata ? world_json_copy(metadata) : json_new_object());
    world_json_set(job, "spec", world_json_copy(json_get(template_, "spec")));
    AUTO_TEXT name = text_format("%s-%lld", cronjob->name, (long long)slot);
    world_set_text(json_get(job, "metadata"), "name", name);
    world_json_set(json_get(job, "metadata"), "ownerReferences", owners);
    world_create_internal(cronjob->kind->cluster->jobs, cronjob->namespace_, job);
}

static bool owned_by(const struct stored *job, const struct stored *cronjob) {
    for (const struct json *owner = json_first(json_path(job->value, "metadata", "ownerReferences", NULL)); owner;
         owner = json_next(owner))
        if (strcmp(json_string_or(json_get(owner, "uid"), ""), cronjob->uid) == 0)
            return true;
    return false;
}

static struct json *reference_to(const struct stored *job) {
    struct json *reference = json_new_object();
    if (!reference)
        world_oom();
    world_set_text(reference, "kind", "Job");
    world_set_text(reference, "apiVersion", "batch/v1");
    world_set_text(reference, "namespace", job->namespace_);
    world_set_text(reference, "name", job->name);
    world_set_text(reference, "uid", job->uid);
    return reference;
}

// Names carry the slot, so key order is age: the oldest finished Jobs over a limit go.
static void trim(const struct stored *cronjob, const char *condition, const char *limit_name) {
    struct kind *jobs = cronjob->kind->cluster->jobs;
    int64_t limit = json_int64(json_path(cronjob->value, "spec", limit_name, NULL), 1), count = 0;
    AUTO_TEXT prefix = text_format("%s/%s-", cronjob->namespace_, cronjob->name);
    for (struct stored *job = world_seek(jobs, prefix); job && text_has_prefix(job->key, prefix); job = job->next[0])
        count += owned_by(job, cronjob) && job_condition(job->value, condition, "True");
    for (struct stored *job = world_seek(jobs, prefix), *next; job && text_has_prefix(job->key, prefix); job = next) {
        next = job->next[0];
        if (count > limit && owned_by(job, cronjob) && job_condition(job->value, condition, "True") &&
            !meta_deleting(job->value)) {
            count--;
            world_remove_stored(job, "Background", true);
        }
    }
}

static void write_status(struct stored *cronjob, bool made) {
    const struct json *old = json_get(cronjob->value, "status");
    struct json *status = old ? world_json_copy(old) : json_new_object(), *active = json_new_array();
    struct kind *jobs = cronjob->kind->cluster->jobs;
    AUTO_TEXT prefix = text_format("%s/%s-", cronjob->namespace_, cronjob->name);
    if (!status || !active)
        world_oom();
    for (struct stored *job = world_seek(jobs, prefix); job && text_has_prefix(job->key, prefix); job = job->next[0])
        if (owned_by(job, cronjob) && !job_finished(job->value) && !json_append(active, reference_to(job)))
            world_oom();
    if (json_size(active) > 0) {
        world_json_set(status, "active", active);
    } else {
        json_remove(status, "active");
        json_free(active);
    }
    if (made)
        meta_stamp_time(status, "lastScheduleTime", cronjob->kind->cluster->now_ns);
    if (json_equal(status, old))
        json_free(status);
    else
        world_write_status(cronjob, status);
}

void world_cronjobs_sync(struct stored *cronjob) {
    const char *text = json_string(json_path(cronjob->value, "metadata", "annotations", WORLD_INTERVAL, NULL));
    int64_t interval, now = cronjob->kind->cluster->now_ns;
    if (!text || !clock_parse_duration(text, &interval) || interval <= 0 || meta_deleting(cronjob->value))
        return;
    int64_t slot = now / interval;
    bool suspended = json_bool(json_path(cronjob->value, "spec", "suspend", NULL), false);
    AUTO_TEXT name = text_format("%s-%lld", cronjob->name, (long long)slot);
    bool made = !suspended && !world_find(cronjob->kind->cluster->jobs, cronjob->namespace_, name);
    // Between two slots, its own writes only trigger a status update.
    int64_t last = 0;
    clock_parse_rfc3339(json_string_or(json_path(cronjob->value, "status", "lastScheduleTime", NULL), ""), &last);
    made = made && last / interval < slot;
    if (made)
        make_job(cronjob, slot);
    trim(cronjob, "Complete", "successfulJobsHistoryLimit");
    trim(cronjob, "Failed", "failedJobsHistoryLimit");
    write_status(cronjob, made);
    world_controllers_at(cronjob, (slot + 1) * interval);
}
