// SPDX-License-Identifier: Apache-2.0
// The pods of an object in a worker, of any kind: pods whose owner references lead to the object, directly or through
// other objects (a Job of a JobSet, a ReplicaSet). Of other objects, only metadata is read.
#pragma once

#include "core/host/pods/pod_read.h"

#define PODS_MAX ((size_t)500) // of one object, for a person
#define PODS_SEEN 20000        // of a namespace

// Reads objects; see blocking_client_get.
struct pods_source {
    struct error *(*get)(void *ctx, const char *path, bool metadata, struct json **out);
    void *ctx;
    const char *select; // for the list of pods, "&fieldSelector=status.phase%3DFailed"; NULL: all
};

// `uid` is the object's. At most `max` pods.
struct error *pods_find(const struct pods_source *source, const char *namespace_, const char *uid, size_t max,
                        struct pods *out);
