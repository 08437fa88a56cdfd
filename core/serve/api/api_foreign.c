// SPDX-License-Identifier: Apache-2.0
// The objects that "explain" reads from the management cluster: workloads that are not delegated to this host, and
// Events.
#include "core/serve/api/api_explain.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define EVENTS_SHOWN 20

struct version_question {
    const struct kind *kind;
    char version[64], problem[160];
};

static void find_version(void *arg, struct engine *engine, struct moment now) {
    (void)now;
    struct version_question *question = arg;
    const char *version = inspect_version(engine, question->kind);
    text_copy(question->version, sizeof question->version, version ? version : question->kind->abi.versions[0]);
    text_copy(question->problem, sizeof question->problem, inspect_problem(engine, question->kind));
}

// Why an object with this value is not ours, as a sentence; NULL when out of memory.
static char *why_not(const struct kind *kind, const char *value, const char *problem) {
    const char *field = kind->abi.managed_by;
    if (!value)
        return text_format("%s is not set: the management cluster's own controller runs it", field);
    if (strcmp(value, kind->managed_by) == 0)
        return text_format("%s is %s, but this host does not know it yet: %s", field, value,
                           *problem ? problem : "it may have been created just now");
    if (kind->abi.managed_by_builtin && strcmp(value, kind->abi.managed_by_builtin) == 0)
        return text_format("%s is %s, which names the kind's own controller", field, value);
    if (strcmp(value, MULTIKUEUE) == 0)
        return text_format("%s is %s: MultiKueue owns it", field, value);
    return text_format("%s is %s; this host answers to %s", field, value, kind->managed_by);
}

static void put_foreign(struct explain *explain, const struct json *object, const char *problem) {
    struct writer *out = &explain->out;
    const struct kind *kind = explain->kind;
    const char *value = json_string(pointer_find(object, kind->abi.managed_by));
    AUTO_TEXT why = why_not(kind, value, problem);
    text_copy(explain->uid, sizeof explain->uid, object_uid(object));
    api_put_kind(&kind->abi, out);
    writer_string(out, "namespace", explain->namespace_);
    writer_string(out, "name", explain->name);
    writer_string(out, "uid", explain->uid);
    writer_bool(out, "ours", false);
    writer_string(out, "why", why);
    writer_string(out, "managedBy", value);
    writer_array(out, "attempts");
    writer_end(out, ']');
    writer_null(out, "waitingFor");
    writer_null(out, "alsoRunHere");
    writer_null(out, "until");
    writer_null(out, "mirror");
    if (!value || strcmp(value, kind->managed_by) != 0)
        help_add(explain,
                 "kubectl -n %s get %s %s -o yaml # create it again with %s: %s; for most kinds the field cannot be "
                 "changed later",
                 explain->namespace_, kind->plural_group, explain->name, kind->abi.managed_by, kind->managed_by);
}

static struct error *object_path(const struct explain *explain, const char *version, struct buffer *out) {
    struct resource resource = {
        .group = explain->kind->abi.group, .version = version, .plural = explain->kind->abi.plural};
    return resource_path(&resource, explain->namespace_, explain->name, NULL, out);
}

struct error *explain_foreign(struct explain *explain) {
    const struct api_source *source = explain->source;
    struct version_question question = {.kind = explain->kind};
    struct response answer = {.message = NULL};
    AUTO_BUFFER(path, 4096);
    struct error *error = NULL;
    TRY(source->query(source->ctx, find_version, &question));
    TRY(object_path(explain, question.version, &path));
    TRY(source->read(source->ctx, path.data, &answer));
    if (answer.reason == REASON_OK && answer.value)
        put_foreign(explain, answer.value, question.problem);
    else if (answer.code == 404)
        error = error_new(ERROR_NOT_FOUND, "%s %s/%s does not exist in the management cluster", explain->kind->abi.kind,
                          explain->namespace_, explain->name);
    else
        error =
            error_new(ERROR_STOPPED, "%s %s/%s cannot be read from the management cluster: %s", explain->kind->abi.kind,
                      explain->namespace_, explain->name, answer.message ? answer.message : reason_text(answer.reason));
    response_clear(&answer);
    return error;
}

struct told { // an Event
    const struct json *event;
    int64_t at_ns;
};

static int64_t time_of(const struct json *event) {
    const struct json *times[] = {json_path(event, "series", "lastObservedTime", NULL),
                                  json_get(event, "lastTimestamp"), json_get(event, "eventTime"),
                                  json_path(event, "metadata", "creationTimestamp", NULL)};
    int64_t at_ns = 0;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (json_string(times[i]) && clock_parse_rfc3339(json_string(times[i]), &at_ns))
            return at_ns;
    return 0;
}

static int by_time(const void *a, const void *b) {
    const struct told *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static void put_event(const struct told *told, struct writer *out) {
    int64_t count = json_int64(json_path(told->event, "series", "count", NULL), 0);
    writer_object(out, NULL);
    writer_string(out, "type", json_string(json_get(told->event, "type")));
    writer_string(out, "reason", json_string(json_get(told->event, "reason")));
    writer_string(out, "message", json_string(json_get(told->event, "message")));
    writer_int(out, "count", count > 0 ? count : json_int64(json_get(told->event, "count"), 1));
    writer_time(out, "lastAt", told->at_ns);
    writer_end(out, '}');
}

// The newest ones, in the order of time.
static void put_events(const struct json *list, struct writer *out) {
    const struct json *items = json_get(list, "items");
    size_t count = 0, size = json_size(items);
    struct told *told = calloc(size + 1, sizeof *told);
    for (const struct json *e = json_first(items); told && e && count < size; e = json_next(e))
        told[count++] = (struct told){e, time_of(e)};
    if (told)
        qsort(told, count, sizeof *told, by_time);
    writer_array(out, "events");
    for (size_t i = count > EVENTS_SHOWN ? count - EVENTS_SHOWN : 0; i < count; i++)
        put_event(&told[i], out);
    writer_end(out, ']');
    free(told);
}

void explain_events(const struct explain *explain, struct writer *out) {
    struct response answer = {.message = NULL};
    AUTO_BUFFER(path, 4096);
    buffer_text(&path, "/api/v1/namespaces/");
    text_percent_encode(&path, explain->namespace_);
    buffer_text(&path, "/events?limit=500&fieldSelector=involvedObject.uid%3D");
    text_percent_encode(&path, explain->uid);
    struct error *error =
        path.failed ? error_no_memory() : explain->source->read(explain->source->ctx, path.data, &answer);
    if (!error && answer.reason == REASON_OK && answer.value)
        put_events(answer.value, out);
    else
        writer_null(out, "events");
    error_free(error);
    response_clear(&answer);
}
