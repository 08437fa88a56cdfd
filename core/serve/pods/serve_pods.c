// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/pods/KIND/NAMESPACE/NAME
#include "core/json/writer.h"
#include "core/serve/http/server.h"
#include "core/serve/pods/targets.h"

#define READERS 4 // less than the places of the turnstile

static void put_container(struct writer *out, const struct pod_container *container) {
    writer_object(out, NULL);
    writer_string(out, "name", container->name);
    writer_bool(out, "init", container->init);
    writer_bool(out, "ready", container->ready);
    writer_string(out, "state", container->running ? "running" : container->terminated ? "terminated" : "waiting");
    writer_string(out, "reason", container->reason);
    writer_int(out, "restarts", container->restarts);
    if (container->terminated)
        writer_int(out, "exitCode", container->exit_code);
    writer_end(out, '}');
}

static void put_pod(struct writer *out, const struct target *target, const struct pod *pod) {
    writer_object(out, NULL);
    writer_string(out, "name", pod->name);
    writer_string(out, "namespace", target->namespace_);
    writer_string(out, "cluster", target->mirror.cluster);
    writer_uint(out, "attempt", target->mirror.attempt);
    writer_string(out, "phase", pod->phase);
    writer_string(out, "reason", pod->reason);
    writer_string(out, "createdAt", pod->created);
    writer_array(out, "containers");
    for (size_t i = 0; i < pod->n_containers; i++)
        put_container(out, &pod->containers[i]);
    writer_end(out, ']');
    writer_end(out, '}');
}

static struct error *read_pods(struct web_call *call) {
    __attribute__((cleanup(target_close))) struct target target;
    TRY(target_open_pods(call, &target));
    AUTO_BUFFER(body, WEB_BODY_MAX);
    struct writer out = {.out = &body};
    writer_object(&out, NULL);
    writer_array(&out, "items");
    for (size_t i = 0; i < target.pods.count; i++)
        put_pod(&out, &target, &target.pods.list[i]);
    writer_end(&out, ']');
    writer_bool(&out, "truncated", target.pods.truncated);
    writer_string(&out, "incomplete", target.pods.blind ? error_text(target.pods.blind) : NULL);
    writer_end(&out, '}');
    buffer_char(&body, '\n');
    web_answer(call, MHD_HTTP_OK, WEB_JSON, &body);
    return NULL;
}

// Each waits for a worker: the rest of the API has the other places of the turnstile.
struct error *serve_pods(struct web_call *call) {
    atomic_uint *readers = &call->server->pods_readers;
    struct error *error = atomic_fetch_add(readers, 1) < READERS
                              ? read_pods(call)
                              : error_new(ERROR_STOPPED, "pods are being read for %d callers: try again", READERS);
    atomic_fetch_sub(readers, 1);
    return error;
}
