// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pod_oom.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/kube/object/object.h"

#include <string.h>

static const char *limit_of(const struct json *pod, const char *container) {
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < 2; i++)
        for (const struct json *c = json_first(json_path(pod, "spec", lists[i], NULL)); c; c = json_next(c))
            if (text_equal(json_string(json_get(c, "name")), container))
                return json_string(json_path(c, "resources", "limits", "memory", NULL));
    return NULL;
}

static void look(const struct json *pod, const struct json *status, const char *state, int64_t since_wall_ns,
                 void (*found)(void *ctx, const char *text, uint64_t id), void *ctx) {
    const struct json *ended = json_path(status, state, "terminated", NULL);
    const char *name = json_string_or(json_get(status, "name"), "");
    int64_t at_ns = 0;
    if (!text_equal(json_string(json_get(ended, "reason")), "OOMKilled") ||
        !clock_parse_rfc3339(json_string_or(json_get(ended, "finishedAt"), ""), &at_ns) || at_ns < since_wall_ns)
        return;
    const char *limit = limit_of(pod, name);
    AUTO_TEXT text = text_format("container %s was killed because it exceeded its memory limit%s%s%s", name,
                                 limit ? " (" : "", limit ? limit : "", limit ? ")" : "");
    uint64_t id = text_hash(text_hash(TEXT_HASH, object_uid(pod)), name);
    id = text_hash(id, json_string_or(json_get(ended, "containerID"), ""));
    id = text_hash(id, json_string_or(json_get(ended, "finishedAt"), ""));
    if (text)
        found(ctx, text, id);
}

void pod_oom_each(const struct json *pod, int64_t since_wall_ns,
                  void (*found)(void *ctx, const char *text, uint64_t id), void *ctx) {
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    for (size_t i = 0; i < 2; i++)
        for (const struct json *s = json_first(json_path(pod, "status", lists[i], NULL)); s; s = json_next(s)) {
            look(pod, s, "state", since_wall_ns, found, ctx);
            look(pod, s, "lastState", since_wall_ns, found, ctx);
        }
}
