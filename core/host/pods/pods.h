// SPDX-License-Identifier: Apache-2.0
// The pods of an object in a worker, of any kind: pods whose owner references lead to the object, directly or through
// other objects (a Job of a JobSet, a ReplicaSet). Of other objects, only metadata is read.
#pragma once

#include "core/json/json.h"

#define PODS_MAX ((size_t)500) // of one object, for a person
#define PODS_SEEN 20000        // of a namespace

// Reads objects; see blocking_client_get.
struct pods_source {
    struct error *(*get)(void *ctx, const char *path, bool metadata, struct json **out);
    void *ctx;
    const char *select; // for the list of pods, "&fieldSelector=status.phase%3DFailed"; NULL: all
};

struct pod_container {
    const char *name;
    bool init, ready, running, terminated;
    int64_t restarts, exit_code;
    const char *reason;  // of the waiting or terminated state; "" if none
    const char *message; // the same
    const char *ended;   // time of the end; "" if none
};

struct pod {
    const char *name, *phase, *reason, *message, *created;
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

// `uid` is the object's. At most `max` pods.
struct error *pods_find(const struct pods_source *source, const char *namespace_, const char *uid, size_t max,
                        struct pods *out);
void pods_clear(struct pods *pods);

const struct pod_container *pod_container_find(const struct pod *pod, const char *name); // or NULL
