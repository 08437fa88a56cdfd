// SPDX-License-Identifier: Apache-2.0
// The pods that an object requests, a line for each set.
#include "core/cmd/plan/plan_internal.h"

#include "core/adapter/pods.h"

#include <inttypes.h>

// "cpu 1, memory 2Gi" of a container's requests; limits stand for requests that are not given (core/v1
// ResourceRequirements).
static void add_requests(const struct json *container, struct buffer *text) {
    static const char *const maps[] = {"requests", "limits"};
    const struct json *requests = json_path(container, "resources", "requests", NULL);
    bool any = false;
    for (size_t i = 0; i < 2; i++) {
        const struct json *map = json_path(container, "resources", maps[i], NULL);
        for (const struct json *member = json_first(map); json_key(member); member = json_next(member)) {
            if (i == 1 && json_get(requests, json_key(member)))
                continue;
            const char *number = json_number_text(member);
            buffer_printf(text, "%s%s %s", any ? ", " : " with ", json_key(member),
                          number ? number : json_string_or(member, "?"));
            any = true;
        }
    }
}

static void report_set(struct plan_object *object, const struct json *set) {
    AUTO_BUFFER(text, 65536);
    const struct json *containers = json_path(set, "template", "spec", "containers", NULL);
    for (const struct json *item = json_first(containers); item; item = json_next(item)) {
        const char *image = json_string(json_get(item, "image"));
        buffer_printf(&text, "%s%s", text.len > 0 ? "; " : ": ", json_string_or(json_get(item, "name"), "?"));
        if (image)
            buffer_printf(&text, " (%s)", image);
        add_requests(item, &text);
    }
    plan_comment(&object->lines, "pods: %" PRId64 "%s", json_int64(json_get(set, "count"), 0),
                 text.data ? text.data : "");
}

void plan_report_pods(struct plan_object *object) {
    struct adapter_call call;
    AUTO_JSON sets = NULL;
    plan_begin_call(object, object->attempt, WHARF_MIRROR_NONE, &call);
    wharf_result result = pods_of(&call, object->workload, &sets);
    if (result != WHARF_OK)
        plan_comment(&object->lines, "pods: unknown: %s", adapter_answer_message(&call, "no reason given"));
    adapter_call_end(&call);
    for (const struct json *set = json_first(sets); set; set = json_next(set))
        report_set(object, set);
}
