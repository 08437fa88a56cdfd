// SPDX-License-Identifier: Apache-2.0
#include "tests/world/view.h"
#include "core/base/clock.h"

#include <string.h>

bool view_redirect(struct route *route) {
    if (*route->group || !route->resource || strcmp(route->plural, "events") != 0 || strcmp(route->version, "v1") != 0)
        return false;
    route->group = "events.k8s.io";
    return true;
}

bool view_wants_table(const char *accept) {
    return accept && strstr(accept, "as=Table") && strstr(accept, "v=v1;g=meta.k8s.io");
}

bool view_changes(const struct view *view) {
    return view->core_event || view->table;
}

static void move(struct json *object, const char *from, const char *to) {
    struct json *value = json_detach(object, from);
    if (value)
        world_json_set(object, to, value);
}

// pkg/apis/events/v1/conversion.go. Events without the old time fields get eventTime, as clients expect them.
static void to_core(struct json *event) {
    const struct json *time = json_get(event, "eventTime");
    const struct json *last = json_path(event, "series", "lastObservedTime", NULL);
    char seconds[CLOCK_RFC3339_MAX];
    int64_t at_ns;
    world_set_text(event, "apiVersion", "v1");
    move(event, "regarding", "involvedObject");
    move(event, "note", "message");
    move(event, "reportingController", "reportingComponent");
    move(event, "deprecatedSource", "source");
    move(event, "deprecatedCount", "count");
    if (!json_get(event, "source"))
        world_set_text(world_json_child(event, "source"), "component",
                       json_string_or(json_get(event, "reportingComponent"), ""));
    if (clock_parse_rfc3339(json_string_or(time, ""), &at_ns)) {
        clock_rfc3339(at_ns, seconds);
        world_set_text(event, "firstTimestamp", seconds);
    }
    if (last && clock_parse_rfc3339(json_string_or(last, ""), &at_ns))
        clock_rfc3339(at_ns, seconds);
    if (time)
        world_set_text(event, "lastTimestamp", seconds);
    int64_t count = json_int64(json_path(event, "series", "count", NULL), 1);
    if (!json_get(event, "count"))
        world_set_int(event, "count", count);
}

struct json *view_object(const struct view *view, const struct kind *kind, const char *version, struct json *object) {
    if (view->core_event)
        to_core(object);
    if (!view->table)
        return object;
    struct json *table = table_of_object(kind, version, object);
    json_free(object);
    return table;
}

struct json *view_list(const struct view *view, const struct kind *kind, const char *version, struct json *list) {
    if (view->core_event) {
        world_set_text(list, "apiVersion", "v1");
        for (struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
            to_core(item);
    }
    if (!view->table)
        return list;
    struct json *table = table_of_list(kind, version, list);
    json_free(list);
    return table;
}
