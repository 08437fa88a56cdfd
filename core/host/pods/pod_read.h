// SPDX-License-Identifier: Apache-2.0
// What the status of pods says: for logs, for last words and for the causes of failures. Texts are cut to a length.
#pragma once

#include "core/base/error.h"
#include "core/json/json.h"

#include <wharf/adapter.h>

struct pod_container {
    const char *name;
    bool init, ready, running, waiting, terminated;
    int64_t restarts, exit_code;
    const char *reason;  // of the waiting or terminated state; "" if none
    const char *message; // the same
    const char *ended;   // time of the end; "" if none
};

struct pod {
    const char *name, *phase, *reason, *message, *created;
    const char *disruption, *disrupted; // reason and message of condition DisruptionTarget; "" if none
    const char *default_container; // its annotation, or the first one; "" if the pod has no containers
    struct pod_container *containers;
    size_t n_containers;
};

struct pods {
    struct pod *list; // the newest first
    size_t count;
    bool truncated;      // there are more
    struct error *blind; // why some owners were not followed: one more may be missing
    char **texts;        // of all pods
    size_t n_texts;
    bool failed; // to keep a text
};

struct error *pods_add(struct pods *pods, const struct json *object);
void pods_clear(struct pods *pods);

const struct pod_container *pod_container_find(const struct pod *pod, const char *name); // or NULL

// For the list of pods of an object of this kind, "&fieldSelector=..."; `fields` is encoded. A Job's controller gives
// each pod the Job's uid as a label: the list has no other pods. NULL: out of memory.
char *pods_select(const wharf_kind *kind, const char *uid, const char *fields);
