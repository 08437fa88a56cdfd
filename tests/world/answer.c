// SPDX-License-Identifier: Apache-2.0
#include "tests/world/answer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)2 << 30)

static const char json_type_text[] = "application/json";

void world_response_clear(struct world_response *response) {
    free(response->body);
    *response = (struct world_response){0};
}

void answer_buffer(struct world_response *response, int status, struct buffer *body) {
    response->status = status;
    response->content_type = json_type_text;
    free(response->body);
    response->body = buffer_take(body, &response->body_len);
    if (!response->body)
        world_oom();
}

void answer_text(struct world_response *response, int status, const char *text) {
    response->status = status;
    response->content_type = "text/plain; charset=utf-8";
    free(response->body);
    response->body = world_strdup(text);
    response->body_len = strlen(text);
}

void answer_json(struct world_response *response, int status, const struct json *value) {
    response->status = status;
    response->content_type = json_type_text;
    free(response->body);
    response->body = json_text(value, &response->body_len);
    if (!response->body)
        world_oom();
}

void answer_blob(const struct op *op, int status, const struct blob *blob) {
    struct buffer out;
    buffer_init(&out, BODY_MAX);
    world_blob_print(blob, op->kind, op->version, &out);
    answer_buffer(op->response, status, &out);
}

void answer_tree(const struct op *op, int status, const struct json *value) {
    struct buffer out;
    buffer_init(&out, BODY_MAX);
    buffer_printf(&out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\",", op->kind->kind, op->kind->group,
                  *op->kind->group ? "/" : "", op->version);
    AUTO_TEXT text = json_text(value, NULL);
    buffer_text(&out, text ? text + 1 : "}");
    answer_buffer(op->response, status, &out);
}

static void set_if(struct json *object, const char *key, const char *text) {
    if (text && *text)
        world_set_text(object, key, text);
}

static struct json *make_details(const struct details *details) {
    struct json *value = json_new_object();
    if (!value)
        world_oom();
    set_if(value, "name", details->name);
    set_if(value, "group", details->group);
    set_if(value, "kind", details->kind);
    set_if(value, "uid", details->uid);
    if (details->causes)
        world_json_set(value, "causes", details->causes);
    if (details->retry_after_s)
        world_set_int(value, "retryAfterSeconds", details->retry_after_s);
    return value;
}

struct json *answer_status(int code, const char *reason, const char *message, const struct details *details) {
    struct json *status = json_new_object();
    if (!status)
        world_oom();
    world_set_text(status, "kind", "Status");
    world_set_text(status, "apiVersion", "v1");
    world_json_set(status, "metadata", json_new_object());
    world_set_text(status, "status", code < 400 ? "Success" : "Failure");
    set_if(status, "message", message);
    set_if(status, "reason", reason);
    if (details)
        world_json_set(status, "details", make_details(details));
    if (code >= 400)
        world_set_int(status, "code", code);
    return status;
}

static __attribute__((format(printf, 5, 0))) void fail(struct world_response *response, int code, const char *reason,
                                                       const struct details *details, const char *format,
                                                       va_list args) {
    struct buffer message;
    buffer_init(&message, 1 << 20);
    buffer_vprintf(&message, format, args);
    AUTO_JSON status = answer_status(code, reason, message.data, details);
    buffer_free(&message);
    answer_json(response, code, status);
    response->retry_after_s = details ? details->retry_after_s : 0;
}

void answer_failure(struct world_response *response, int code, const char *reason, const struct details *details,
                    const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail(response, code, reason, details, format, args);
    va_end(args);
}

void answer_bad_request(struct world_response *response, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail(response, 400, "BadRequest", NULL, format, args);
    va_end(args);
}

void answer_not_served(struct world_response *response) {
    answer_text(response, 404, "404 page not found\n");
}

static struct details of(const struct op *op) {
    return (struct details){.name = op->name, .group = op->kind->group, .kind = op->kind->plural};
}

void answer_not_found(const struct op *op) {
    struct details details = of(op);
    answer_failure(op->response, 404, "NotFound", &details, "%s \"%s\" not found", op->kind->resource, op->name);
}

void answer_exists(const struct op *op) {
    struct details details = of(op);
    answer_failure(op->response, 409, "AlreadyExists", &details, "%s \"%s\" already exists", op->kind->resource,
                   op->name);
}

// The storage names the kind where the rest of the server names the resource.
static __attribute__((format(printf, 4, 0))) void conflict(const struct op *op, const char *kind, const char *resource,
                                                           const char *format, va_list args) {
    struct buffer why;
    buffer_init(&why, 4096);
    buffer_vprintf(&why, format, args);
    struct details details = of(op);
    details.kind = kind;
    answer_failure(op->response, 409, "Conflict", &details, "Operation cannot be fulfilled on %s \"%s\": %s", resource,
                   op->name, why.data ? why.data : "");
    buffer_free(&why);
}

void answer_conflict(const struct op *op, const char *format, ...) {
    va_list args;
    va_start(args, format);
    conflict(op, op->kind->plural, op->kind->resource, format, args);
    va_end(args);
}

void answer_precondition(const struct op *op, const char *format, ...) {
    va_list args;
    AUTO_TEXT kind = text_format("%s%s%s", op->kind->kind, *op->kind->group ? "." : "", op->kind->group);
    if (!kind)
        world_oom();
    va_start(args, format);
    conflict(op, op->kind->kind, kind, format, args);
    va_end(args);
}

void answer_stale(const struct op *op) {
    answer_conflict(op, "the object has been modified; please apply your changes to the latest version and try again");
}

void answer_invalid_as(const struct op *op, const char *kind, const char *group, const char *name,
                       struct field_problems *problems) {
    struct buffer list;
    buffer_init(&list, 1 << 20);
    bool many = json_size(problems->causes) > 1;
    for (const struct json *cause = json_first(problems->causes); cause; cause = json_next(cause))
        buffer_printf(&list, "%s%s: %s", list.len ? ", " : "", json_string_or(json_get(cause, "field"), ""),
                      json_string_or(json_get(cause, "message"), ""));
    struct details details = {.name = name, .group = group, .kind = kind, .causes = problems->causes};
    problems->causes = NULL;
    answer_failure(op->response, 422, "Invalid", &details, "%s%s%s \"%s\" is invalid: %s%s%s", kind, *group ? "." : "",
                   group, name, many ? "[" : "", list.data ? list.data : "", many ? "]" : "");
    buffer_free(&list);
}

void answer_invalid(const struct op *op, struct field_problems *problems) {
    answer_invalid_as(op, op->kind->kind, op->kind->group, op->name, problems);
}

void answer_unknown_resource(struct world_response *response) {
    answer_failure(response, 404, "NotFound", &(struct details){0}, "the server could not find the requested resource");
}

void answer_deleted(const struct op *op, const char *uid) {
    struct details details = of(op);
    details.uid = uid;
    AUTO_JSON status = answer_status(200, NULL, NULL, &details);
    answer_json(op->response, 200, status);
}
