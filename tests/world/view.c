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

static bool has_parameter(const char *clause, size_t len, const char *text) {
    const char *found = memmem(clause, len, text, strlen(text));
    const char *after = found ? found + strlen(text) : clause;
    return found && (after == clause + len || *after == ';' || *after == ' ');
}

// The first clause that is known (apiserver pkg/endpoints/handlers/negotiation).
enum view_form view_form(const char *accept) {
    static const char *const forms[] = {[VIEW_TABLE] = ";as=Table",
                                        [VIEW_METADATA] = ";as=PartialObjectMetadata",
                                        [VIEW_METADATA_LIST] = ";as=PartialObjectMetadataList"};
    for (const char *clause = accept; clause && *clause;) {
        size_t len = strcspn(clause, ",");
        if (!memmem(clause, len, ";as=", 4))
            return VIEW_OBJECT;
        bool v1 = has_parameter(clause, len, ";v=v1") && has_parameter(clause, len, ";g=meta.k8s.io");
        for (int form = VIEW_TABLE; v1 && form <= VIEW_METADATA_LIST; form++)
            if (has_parameter(clause, len, forms[form]))
                return (enum view_form)form;
        clause += len + (clause[len] == ',');
    }
    return VIEW_OBJECT;
}

bool view_fits(enum view_form form, bool list) {
    return form != (list ? VIEW_METADATA : VIEW_METADATA_LIST);
}

bool view_changes(const struct view *view) {
    return view->core_event || view->form != VIEW_OBJECT;
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

static void set_meta_kind(struct json *value, const char *kind) {
    world_set_text(value, "kind", kind);
    world_set_text(value, "apiVersion", "meta.k8s.io/v1");
}

struct json *view_metadata(const struct json *object) {
    struct json *part = json_new_object();
    if (!part)
        world_oom();
    set_meta_kind(part, "PartialObjectMetadata");
    world_json_set(part, "metadata", world_json_copy(json_get(object, "metadata")));
    return part;
}

static struct json *metadata_of_list(const struct json *list) {
    struct json *part = json_new_object(), *items = json_new_array();
    if (!part || !items)
        world_oom();
    set_meta_kind(part, "PartialObjectMetadataList");
    world_json_set(part, "metadata", world_json_copy(json_get(list, "metadata")));
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
        if (!json_append(items, view_metadata(item)))
            world_oom();
    world_json_set(part, "items", items);
    return part;
}

struct json *view_object(const struct view *view, const struct kind *kind, const char *version, struct json *object) {
    if (view->core_event)
        to_core(object);
    if (view->form == VIEW_OBJECT)
        return object;
    struct json *shown = view->form == VIEW_TABLE ? table_of_object(kind, version, object) : view_metadata(object);
    json_free(object);
    return shown;
}

struct json *view_list(const struct view *view, const struct kind *kind, const char *version, struct json *list) {
    if (view->core_event) {
        world_set_text(list, "apiVersion", "v1");
        for (struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
            to_core(item);
    }
    if (view->form == VIEW_OBJECT)
        return list;
    struct json *shown = view->form == VIEW_TABLE ? table_of_list(kind, version, list) : metadata_of_list(list);
    json_free(list);
    return shown;
}
