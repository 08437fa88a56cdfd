// SPDX-License-Identifier: Apache-2.0
// The controllers of PersistentVolumeClaims: a new claim is bound to a volume, and a deleted one goes once no pod uses
// it (pkg/controller/volume/persistentvolume and pvcprotection).
#include "core/base/clock.h"
#include "tests/world/commit.h"
#include "tests/world/controllers.h"
#include "tests/world/job_run.h"
#include "tests/world/meta.h"
#include "tests/world/pod_needs.h"

#include <string.h>

#define USED_NS (250 * CLOCK_MS) // until it is looked at again

static void bind(struct stored *claim) {
    struct json *value = world_json_copy(claim->value);
    AUTO_TEXT volume = text_format("pvc-%s", claim->uid);
    struct json *notes = world_json_child(world_json_child(value, "metadata"), "annotations");
    world_set_text(notes, "pv.kubernetes.io/bind-completed", "yes");
    world_set_text(notes, "volume.kubernetes.io/storage-provisioner", "world.test/volumes");
    world_set_text(world_json_child(value, "spec"), "volumeName", volume);
    world_set_text(world_json_child(value, "status"), "phase", "Bound");
    commit_internal_update(claim, value, false);
}

struct use {
    const char *claim;
    bool found;
};

static void look(void *ctx, const struct need *need) {
    struct use *use = ctx;
    use->found |= strcmp(need->plural, "persistentvolumeclaims") == 0 && strcmp(need->name, use->claim) == 0;
}

static bool is_used(const struct stored *claim) {
    struct use use = {.claim = claim->name};
    for (const struct stored *job = claim->kind->cluster->jobs->head.next[0]; job && !use.found; job = job->next[0]) {
        const struct job_run *run = job->run;
        if (run && run->pod_count > 0 && strcmp(job->namespace_, claim->namespace_) == 0)
            pod_needs_each(json_path(job->value, "spec", "template", "spec", NULL), look, &use);
    }
    return use.found;
}

void world_claims_sync(struct stored *claim) {
    const char *phase = json_string_or(json_path(claim->value, "status", "phase", NULL), "");
    if (!meta_deleting(claim->value)) {
        if (strcmp(phase, "Bound") != 0)
            bind(claim);
    } else if (is_used(claim)) {
        world_controllers_at(claim, claim->kind->cluster->now_ns + USED_NS);
    } else if (meta_has_finalizer(claim->value, CLAIM_FINALIZER)) {
        commit_drop_finalizer(claim, CLAIM_FINALIZER);
    }
}
