// SPDX-License-Identifier: Apache-2.0
// The mirror of a workload for /pods, /logs and /exec: the worker, over a separate connection, and the pods.
#pragma once

#include "core/host/io/cluster_connection.h"
#include "core/host/pods/pods.h"
#include "core/serve/http/server.h"

struct target {
    const struct http_source *source;
    const struct kind *kind;
    const char *namespace_, *name; // of the workload; the call's
    struct api_mirror mirror;      // as last found
    struct blocking_client worker; // to the worker
    struct pods pods;              // as last read
    int64_t until_ns;              // for reading the pods
    bool moved;                    // another mirror, or another address: the connection is to be replaced
    bool awaited;                  // there is no mirror now, but there will be
    const atomic_bool *stop;
};

// The workload that the path of the call names. The target ends before the call.
struct error *target_open(const struct web_call *call, struct target *out);
// The same; also finds the mirror, and reads its pods.
struct error *target_open_pods(const struct web_call *call, struct target *out);
void target_close(struct target *target);

// Finds the mirror again; ERROR_NOT_FOUND: there is none (see `awaited`). If `moved` is set then, target_read will
// replace the connection, so close all streams over the old one first.
struct error *target_locate(struct target *target);
// Reads the pods of the mirror that was found.
struct error *target_read(struct target *target);

// The tenant of a log or a session, see tenant.h; NULL: the host itself. Pods are read by the host.
const char *target_tenant(const struct target *target);

// "w1 (attempt 2)"; where the namespace has another name, "w1 (namespace west-team-a, attempt 2)".
void target_describe(const struct target *target, struct buffer *out);

// The pod of this name; NULL: the default pod: the newest one that runs, or has run, or waits. ERROR_NOT_FOUND: none.
struct error *target_pod(const struct target *target, const char *name, const struct pod **out);
// The container of this name, or the pod's default one. ERROR_INVALID: the pod has no such container.
struct error *target_container(const struct pod *pod, const char *name, const struct pod_container **out);
