// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pods.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

#define CONTAINERS_MAX ((size_t)256) // of a pod; further ones are left out
#define TEXT_MAX 1024                // bytes of a text that a worker wrote; longer ones are cut
#define SINGLE 32                    // up to so many pods are read one by one; else all of the namespace
#define NAMES_MAX ((size_t)1 << 20)

static void pod_clear(struct pod *pod) {
    for (size_t i = 0; i < pod->n_containers; i++) {
        free(pod->containers[i].name);
        free(pod->containers[i].reason);
    }
    free(pod->containers);
    char *texts[] = {pod->name, pod->uid, pod->phase, pod->reason, pod->created, pod->default_container};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
}

void pods_clear(struct pods *pods) {
    for (size_t i = 0; i < pods->count; i++)
        pod_clear(&pods->list[i]);
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

static char *copy_cut(const char *text) {
    char cut[TEXT_MAX];
    text_copy(cut, sizeof cut, text);
    return strdup(cut);
}

static const struct json *find_status(const struct json *statuses, const char *name) {
    size_t left = 2 * CONTAINERS_MAX;
    for (const struct json *status = json_first(statuses); status && left > 0; status = json_next(status), left--)
        if (strcmp(json_string_or(json_get(status, "name"), ""), name) == 0)
            return status;
    return NULL;
}

static bool read_container(const struct json *spec, const struct json *statuses, bool init, struct pod_container *out) {
    const char *name = json_string_or(json_get(spec, "name"), "");
    const struct json *status = find_status(statuses, name), *state = json_get(status, "state");
    const struct json *ended = json_get(state, "terminated");
    const struct json *why = ended ? ended : json_get(state, "waiting");
    *out = (struct pod_container){.init = init,
                                  .ready = json_bool(json_get(status, "ready"), false),
                                  .running = json_get(state, "running"),
                                  .terminated = ended,
                                  .restarts = json_int64(json_get(status, "restartCount"), 0),
                                  .exit_code = json_int64(json_get(ended, "exitCode"), 0)};
    out->name = copy_cut(name);
    out->reason = copy_cut(json_string_or(json_get(why, "reason"), ""));
    return out->name && out->reason;
}

static bool read_containers(const struct json *object, const char *list, const char *statuses, bool init,
                            struct pod *out) {
    const struct json *spec = json_path(object, "spec", list, NULL);
    for (const struct json *c = json_first(spec); c && out->n_containers < CONTAINERS_MAX; c = json_next(c)) {
        struct pod_container *place = array_next(&out->containers, out->n_containers, sizeof *place);
        if (!place)
            return false;
        out->n_containers++;
        if (!read_container(c, json_path(object, "status", statuses, NULL), init, place))
            return false;
    }
    return true;
}

static bool copy_text(const struct json *value, const char *fallback, char **out) {
    *out = copy_cut(json_string_or(value, fallback));
    return *out;
}

static bool read_pod(const struct json *object, struct pod *out) {
    const struct json *status = json_get(object, "status");
    const char *named = object_annotation(object, "kubectl.kubernetes.io/default-container");
    bool ok = copy_text(json_path(object, "metadata", "name", NULL), "", &out->name) &&
              copy_text(json_path(object, "metadata", "uid", NULL), "", &out->uid) &&
              copy_text(json_path(object, "metadata", "creationTimestamp", NULL), "", &out->created) &&
              copy_text(json_get(status, "phase"), "Unknown", &out->phase) &&
              copy_text(json_get(status, "reason"), "", &out->reason) &&
              read_containers(object, "containers", "containerStatuses", false, out) &&
              read_containers(object, "initContainers", "initContainerStatuses", true, out);
    if (!ok)
        return false;
    const char *first = out->n_containers > 0 ? out->containers[0].name : "";
    out->default_container = strdup(named && pod_container_find(out, named) ? named : first);
    return out->default_container;
}

static struct error *add_pod(struct pods *pods, const struct json *object) {
    struct pod *place = array_next(&pods->list, pods->count, sizeof *place);
    if (!place)
        return error_no_memory();
    pods->count++;
    return read_pod(object, place) ? NULL : error_no_memory();
}

// A pod that is gone meanwhile is left out.
static struct error *read_each(const struct pods_source *source, const char *namespace_, const struct buffer *names,
                               struct pods *out) {
    struct error *error = NULL;
    for (const char *name = names->data; name && name < names->data + names->len && !error; name += strlen(name) + 1) {
        AUTO_JSON object = NULL;
        AUTO_TEXT path = text_format("/api/v1/namespaces/%s/pods/%s", namespace_, name);
        error = path ? source->get(source->ctx, path, false, &object) : error_no_memory();
        if (!error)
            error = add_pod(out, object);
        else if (error->code == ERROR_NOT_FOUND) {
            error_free(error);
            error = NULL;
        }
    }
    return error;
}

static bool is_named(const struct buffer *names, const char *wanted) {
    for (const char *name = names->data; name && name < names->data + names->len; name += strlen(name) + 1)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

static struct error *read_all(const struct pods_source *source, const char *namespace_, const struct buffer *names,
                              struct pods *out) {
    AUTO_BUFFER(more, 16384);
    struct error *error = NULL;
    buffer_text(&more, "");
    do {
        AUTO_JSON page = NULL;
        AUTO_TEXT path = text_format("/api/v1/namespaces/%s/pods?limit=100%s%s", namespace_,
                                     more.len > 0 ? "&continue=" : "", more.data);
        error = path ? source->get(source->ctx, path, false, &page) : error_no_memory();
        buffer_reset(&more);
        for (const struct json *pod = json_first(json_get(page, "items")); pod && !error; pod = json_next(pod))
            if (out->count < PODS_MAX && is_named(names, object_name(pod)))
                error = add_pod(out, pod);
        text_percent_encode(&more, json_string_or(json_path(page, "metadata", "continue", NULL), ""));
        if (!error && more.failed)
            error = error_no_memory();
    } while (!error && more.len > 0 && out->count < PODS_MAX);
    return error;
}

static int newest_first(const void *a, const void *b) {
    const struct pod *one = a, *other = b;
    int order = strcmp(other->created, one->created);
    return order != 0 ? order : strcmp(one->name, other->name);
}

struct error *pods_find(const struct pods_source *source, const char *namespace_, const char *uid, struct pods *out) {
    AUTO_BUFFER(names, NAMES_MAX);
    size_t count = 0;
    *out = (struct pods){0};
    struct error *error = pods_names(source, namespace_, uid, PODS_MAX, &names, &count, &out->truncated, &out->blind);
    if (!error && count > 0)
        error = (count <= SINGLE ? read_each : read_all)(source, namespace_, &names, out);
    if (error) {
        pods_clear(out);
        return error;
    }
    if (out->count > 1)
        qsort(out->list, out->count, sizeof *out->list, newest_first);
    return NULL;
}
