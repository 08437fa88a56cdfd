// SPDX-License-Identifier: Apache-2.0
#include "core/serve/pods/targets.h"

#include "core/base/clock.h"
#include "core/json/writer.h"

#define READERS 4 // less than the places of the turnstile

// A worker that gives page after page, or is slow with each, holds a thread of the server.
static struct error *get_within_patience(void *ctx, const char *path, bool metadata, struct json **out) {
    struct target *target = ctx;
    if (clock_now().mono_ns >= target->until_ns)
        return error_new(ERROR_LIMIT, "it has taken longer than %d s",
                         (int)(target->source->patience_ns / CLOCK_SECOND));
    return blocking_client_get(&target->worker, path, metadata, out);
}

void target_describe(const struct target *target, struct buffer *out) {
    const char *space = target->mirror.space;
    bool renamed = *space && strcmp(space, target->namespace_) != 0;
    buffer_printf(out, "%s (%s%s%sattempt %u)", target->mirror.cluster, renamed ? "namespace " : "",
                  renamed ? space : "", renamed ? ", " : "", target->mirror.attempt);
}

// ERROR_NOT_FOUND is left to mirrors that are gone.
static struct error *find_endpoint(const struct target *target, struct endpoint **out) {
    struct error *error = target->source->endpoint(target->source->ctx, target->mirror.cluster, out);
    if (error && error->code == ERROR_NOT_FOUND)
        error->code = ERROR_IO;
    return error;
}

static struct error *connect_to(struct target *target) {
    struct endpoint *endpoint = NULL;
    TRY(find_endpoint(target, &endpoint));
    blocking_client_close(&target->worker);
    target->moved = false;
    return blocking_client_open(endpoint, target->mirror.cluster, target->stop, &target->worker);
}

// Uses renewed credentials from now on.
static struct error *renew_endpoint(struct target *target) {
    struct endpoint *endpoint = NULL;
    if (!target->worker.client || target->moved)
        return NULL;
    TRY(find_endpoint(target, &endpoint));
    target->moved = !connection_use(&target->worker.connection, endpoint);
    return NULL;
}

const char *target_tenant(const struct target *target) {
    return target->mirror.as_tenant ? target->namespace_ : NULL;
}

struct error *target_locate(struct target *target) {
    struct api_mirror mirror;
    struct error *error = api_find_mirror(target->source->api, target->kind, target->namespace_, target->name, &mirror);
    target->awaited = mirror.awaited;
    if (error)
        return error;
    target->moved = target->moved || strcmp(mirror.cluster, target->mirror.cluster) != 0 ||
                    strcmp(mirror.uid, target->mirror.uid) != 0;
    target->mirror = mirror;
    return renew_endpoint(target);
}

struct error *target_read(struct target *target) {
    if (target->moved || !target->worker.client)
        TRY(connect_to(target));
    struct pods pods;
    const struct pods_source source = {.get = get_within_patience, .ctx = target};
    target->until_ns = clock_now().mono_ns + target->source->patience_ns;
    struct error *error = pods_find(&source, target->mirror.space, target->mirror.uid, PODS_MAX, &pods);
    if (error && error->code == ERROR_REFUSED)
        error->code = ERROR_IO; // the host may not, which says nothing about the caller
    if (error)
        return error_wrap(error, "cannot list the pods in %s", target->mirror.cluster);
    pods_clear(&target->pods);
    target->pods = pods;
    return NULL;
}

struct error *target_open(const struct web_call *call, struct target *out) {
    *out = (struct target){.source = &call->server->source,
                           .namespace_ = call->segments[1],
                           .name = call->segments[2],
                           .stop = &call->server->stopping};
    return api_find_kind(out->source->api, call->segments[0], &out->kind);
}

struct error *target_open_pods(const struct web_call *call, struct target *out) {
    TRY(target_open(call, out));
    TRY(target_locate(out));
    return target_read(out);
}

void target_close(struct target *target) {
    pods_clear(&target->pods);
    blocking_client_close(&target->worker);
}

static int pod_rank(const struct pod *pod) {
    if (strcmp(pod->phase, "Running") == 0)
        return 0;
    return strcmp(pod->phase, "Pending") == 0 ? 2 : 1;
}

static struct error *no_pod(const struct target *target, const char *name) {
    AUTO_BUFFER(where, 256);
    target_describe(target, &where);
    if (name)
        return error_new(ERROR_NOT_FOUND, "%s %s/%s has no pod \"%.253s\" in %s", target->kind->abi.kind,
                         target->namespace_, target->name, name, where.data);
    return error_new(ERROR_NOT_FOUND, "%s %s/%s has no pods in %s%s%s", target->kind->abi.kind, target->namespace_,
                     target->name, where.data, target->pods.blind ? "; they may be of " : "",
                     target->pods.blind ? error_text(target->pods.blind) : "");
}

struct error *target_pod(const struct target *target, const char *name, const struct pod **out) {
    *out = NULL;
    for (size_t i = 0; i < target->pods.count; i++) {
        const struct pod *pod = &target->pods.list[i];
        if (name ? strcmp(pod->name, name) == 0 : !*out || pod_rank(pod) < pod_rank(*out))
            *out = pod;
    }
    return *out ? NULL : no_pod(target, name);
}

struct error *target_container(const struct pod *pod, const char *name, const struct pod_container **out) {
    *out = pod_container_find(pod, name ? name : pod->default_container);
    if (*out)
        return NULL;
    AUTO_BUFFER(known, 1024);
    for (size_t i = 0; i < pod->n_containers; i++)
        buffer_printf(&known, "%s%s", i > 0 ? ", " : "", pod->containers[i].name);
    return error_new(ERROR_INVALID, "pod %s has no container \"%.253s\", only %s", pod->name, name ? name : "",
                     known.data ? known.data : "none");
}

// GET /api/v1/pods/KIND/NAMESPACE/NAME -------------------------------------------------------------------------------

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
    writer_string(out, "namespace", target->mirror.space);
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
