// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pod_read.h"

#include "core/adapter/phase.h"
#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/object/object.h"

#define CONTAINERS_MAX ((size_t)256) // of a pod; further ones are left out
#define TEXT_MAX 1024                // bytes of a text that a worker wrote; longer ones are cut
#define MESSAGE_MAX 4096             // bytes of a message; a kubelet keeps no longer one of a container

void pods_clear(struct pods *pods) {
    for (size_t i = 0; i < pods->count; i++)
        free(pods->list[i].containers);
    for (size_t i = 0; i < pods->n_texts; i++)
        free(pods->texts[i]);
    free(pods->texts);
    free(pods->list);
    error_free(pods->blind);
    *pods = (struct pods){0};
}

const struct pod_container *pod_container_find(const struct pod *pod, const char *name) {
    for (size_t i = 0; i < pod->n_containers; i++)
        if (strcmp(pod->containers[i].name, name) == 0)
            return &pod->containers[i];
    return NULL;
}

static const char *keep_within(struct pods *pods, const struct json *value, const char *fallback, size_t max) {
    char cut[MESSAGE_MAX];
    text_copy(cut, max, json_string_or(value, fallback));
    char **place = array_next(&pods->texts, pods->n_texts, sizeof *place);
    if (!place || !(*place = strdup(cut))) {
        pods->failed = true;
        return "";
    }
    return pods->texts[pods->n_texts++];
}

static const char *keep_text(struct pods *pods, const struct json *value, const char *fallback) {
    return keep_within(pods, value, fallback, TEXT_MAX);
}

static const struct json *find_status(const struct json *statuses, const char *name) {
    size_t left = 2 * CONTAINERS_MAX;
    for (const struct json *status = json_first(statuses); status && left > 0; status = json_next(status), left--)
        if (strcmp(json_string_or(json_get(status, "name"), ""), name) == 0)
            return status;
    return NULL;
}

static void read_containers(struct pods *pods, const struct json *object, const char *list, const char *statuses,
                            struct pod *out) {
    const struct json *spec = json_path(object, "spec", list, NULL);
    for (const struct json *c = json_first(spec); c && out->n_containers < CONTAINERS_MAX; c = json_next(c)) {
        struct pod_container *place = array_next(&out->containers, out->n_containers, sizeof *place);
        if (!place) {
            pods->failed = true;
            return;
        }
        out->n_containers++;
        const char *name = json_string_or(json_get(c, "name"), "");
        const struct json *status = find_status(json_path(object, "status", statuses, NULL), name);
        const struct json *state = json_get(status, "state"), *ended = json_get(state, "terminated");
        const struct json *why = ended ? ended : json_get(state, "waiting");
        *place = (struct pod_container){.name = keep_text(pods, json_get(c, "name"), ""),
                                        .init = strcmp(list, "initContainers") == 0,
                                        .ready = json_bool(json_get(status, "ready"), false),
                                        .running = json_get(state, "running"),
                                        .waiting = json_get(state, "waiting"),
                                        .terminated = ended,
                                        .restarts = json_int64(json_get(status, "restartCount"), 0),
                                        .exit_code = json_int64(json_get(ended, "exitCode"), 0),
                                        .reason = keep_text(pods, json_get(why, "reason"), ""),
                                        .message = keep_within(pods, json_get(why, "message"), "", MESSAGE_MAX),
                                        .ended = keep_text(pods, json_get(ended, "finishedAt"), "")};
    }
}

struct error *pods_add(struct pods *pods, const struct json *object) {
    const struct json *metadata = json_get(object, "metadata"), *status = json_get(object, "status");
    const struct json *disruption = phase_condition(json_get(status, "conditions"), "DisruptionTarget", "True");
    const char *named = object_annotation(object, "kubectl.kubernetes.io/default-container");
    struct pod *out = array_next(&pods->list, pods->count, sizeof *out);
    if (!out)
        return error_no_memory();
    pods->count++;
    *out = (struct pod){.name = keep_text(pods, json_get(metadata, "name"), ""),
                        .phase = keep_text(pods, json_get(status, "phase"), "Unknown"),
                        .reason = keep_text(pods, json_get(status, "reason"), ""),
                        .message = keep_text(pods, json_get(status, "message"), ""),
                        .disruption = keep_text(pods, json_get(disruption, "reason"), ""),
                        .disrupted = keep_text(pods, json_get(disruption, "message"), ""),
                        .created = keep_text(pods, json_get(metadata, "creationTimestamp"), "")};
    read_containers(pods, object, "containers", "containerStatuses", out);
    read_containers(pods, object, "initContainers", "initContainerStatuses", out);
    const char *first = out->n_containers > 0 ? out->containers[0].name : "";
    const struct pod_container *container = named ? pod_container_find(out, named) : NULL;
    out->default_container = container ? container->name : first;
    return pods->failed ? error_no_memory() : NULL;
}

char *pods_select(const wharf_kind *kind, const char *uid, const char *fields) {
    AUTO_BUFFER(select, 512);
    buffer_printf(&select, "&fieldSelector=%s", fields);
    if (strcmp(kind->group, "batch") == 0 && strcmp(kind->kind, "Job") == 0) {
        buffer_text(&select, "&labelSelector=batch.kubernetes.io%2Fcontroller-uid%3D");
        text_percent_encode(&select, uid);
    }
    return buffer_take(&select, NULL);
}
