// SPDX-License-Identifier: Apache-2.0
#include "core/host/kueue.h"

#include "core/base/text.h"
#include "core/host/engine_internal.h"
#include "core/kube/object.h"

#include <stdio.h>
#include <string.h>

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define LOOK_AGAIN_NS (60 * CLOCK_SECOND)

// Versions of kueue.x-k8s.io, newest first; a server that has none of them has no Kueue.
static const char *const versions[] = {"v1beta2", "v1beta1"};
#define VERSIONS (sizeof versions / sizeof versions[0])

bool kueue_shares(const char *managed_by) {
    return text_equal(managed_by, MULTIKUEUE);
}

bool kueue_may_own(const char *managed_by, const struct json *object) {
    return kueue_shares(managed_by) && object_label(object, KUEUE_QUEUE_NAME);
}

bool kueue_permits(struct engine *engine, struct entry *entry) {
    const struct json *object = doc_tree(&engine->store, &entry->workload);
    if (entry->kueue_free || !kueue_may_own(engine->kinds[entry->kind]->managed_by, object))
        return true;
    char space[254], path[512];
    entry_namespace(entry, space);
    // Kueue labels a Workload with the uid of what it stands for (constants.JobUIDLabel).
    snprintf(path, sizeof path,
             "/apis/kueue.x-k8s.io/%s/namespaces/%s/workloads?labelSelector=kueue.x-k8s.io%%2Fjob-uid%%3D%s",
             versions[entry->asked % VERSIONS], space, entry->uid);
    entry->command =
        command_send(engine, entry, &(struct command_spec){.type = PENDING_OWNER, .verb = VERB_RAW_GET, .path = path});
    if (!entry->command)
        entry->not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
    return false;
}

static const char *owner_of(const struct json *list, const char *uid) {
    for (const struct json *w = json_first(json_get(list, "items")); w; w = json_next(w)) {
        if (text_equal(json_string(json_get(object_controller(w), "uid")), uid))
            return object_name(w);
    }
    return NULL;
}

bool kueue_answered(struct engine *engine, struct entry *entry, const struct response *response) {
    bool absent = response->reason == REASON_NOT_FOUND || response->reason == REASON_KIND_NOT_FOUND;
    if (absent && ++entry->asked < VERSIONS)
        return true; // the next version
    if (absent)
        entry->asked = 0;
    if (!absent && (response->reason != REASON_OK || !json_is(json_get(response->value, "items"), JSON_ARRAY)))
        return false;
    entry->failures = 0;
    entry->not_before_ns = 0;
    const char *owner = owner_of(response->value, entry->uid);
    entry->kueue_free = !owner;
    if (owner) {
        command_note(engine, entry, false, "OwnedByKueue", "Place",
                     "left to the MultiKueue that runs here: Kueue's Workload %s owns it", owner);
        entry->not_before_ns = engine->now.mono_ns + LOOK_AGAIN_NS;
    }
    return true;
}
