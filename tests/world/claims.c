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

static struct op make_op(const struct stored *claim, enum world_verb verb, struct world_response *response) {
    return (struct op){.cluster = claim->kind->cluster,
                       .kind = claim->kind,
                       .version = claim->kind->versions[0],
                       .namespace_ = claim->namespace_,
                       .name = claim->name,
                       .subresource = "",
                       .verb = verb,
                       .internal = true,
                       .response = response};
}

static void update(struct stored *claim, struct json *value) {
    struct world_response response = {0};
    struct op op = make_op(claim, WORLD_UPDATE, &response);
    AUTO_JSON old = op.cluster->hook ? world_json_copy(claim->value) : NULL;
    commit_update(&op, claim, value, old, false);
}

static void bind(struct stored *claim) {
    struct json *value = world_json_copy(claim->value);
    AUTO_TEXT volume = text_format("pvc-%s", claim->uid);
    struct json *notes = world_json_child(world_json_child(value, "metadata"), "annotations");
    world_set_text(notes, "pv.kubernetes.io/bind-completed", "yes");
    world_set_text(notes, "volume.kubernetes.io/storage-provisioner", "world.test/volumes");
    world_set_text(world_json_child(value, "spec"), "volumeName", volume);
    world_set_text(world_json_child(value, "status"), "phase", "Bound");
    update(claim, value);
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

static void remove_claim(struct stored *claim) {
    struct world_response response = {0};
    struct json *value = world_json_copy(claim->value);
    meta_remove_finalizer(value, CLAIM_FINALIZER);
    bool last = !json_path(value, "metadata", "finalizers", NULL);
    update(claim, value);
    struct op op = make_op(claim, WORLD_DELETE, &response);
    if (last)
        commit_remove(&op, claim);
}

void world_claims_sync(struct stored *claim) {
    const char *phase = json_string_or(json_path(claim->value, "status", "phase", NULL), "");
    if (!meta_deleting(claim->value)) {
        if (strcmp(phase, "Bound") != 0)
            bind(claim);
    } else if (is_used(claim)) {
        world_controllers_at(claim, claim->kind->cluster->now_ns + USED_NS);
    } else if (meta_has_finalizer(claim->value, CLAIM_FINALIZER)) {
        remove_claim(claim);
    }
}
