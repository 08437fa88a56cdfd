// SPDX-License-Identifier: Apache-2.0
// The paths and the errors of the API.
#include "core/serve/api/api_internal.h"

#include "core/base/text.h"
#include "core/serve/api/short_names.h"

#include <string.h>

#define ROOT "/api/v1/"

static struct error *take_snapshot(void *ctx, struct host_snapshot *out) {
    return host_snapshot(ctx, out);
}

static struct error *query_engine(void *ctx, query_run run, void *arg) {
    return host_query(ctx, run, arg);
}

static struct error *read_management(void *ctx, const char *path, struct response *answer) {
    return host_read(ctx, ENGINE_MANAGEMENT, path, answer);
}

static const struct adapters *take_adapters(void *ctx) {
    return host_adapters(ctx);
}

const struct adapters *api_adapters_of(const struct api_source *source) {
    return source->adapters(source->ctx);
}

void api_source_init(struct api_source *source, struct host *host, const struct config *config) {
    *source = (struct api_source){.snapshot = take_snapshot,
                                  .free_snapshot = host_snapshot_free,
                                  .query = query_engine,
                                  .read = read_management,
                                  .ctx = host,
                                  .config = config,
                                  .adapters = take_adapters,
                                  .short_names = short_names_new()};
}

void api_source_clear(struct api_source *source) {
    short_names_free(source->short_names);
    source->short_names = NULL;
}

static const char *usual_reason(unsigned code) {
    static const struct {
        unsigned code;
        const char *reason;
    } reasons[] = {
        {400, "BadRequest"},         {401, "Unauthorized"}, {403, "Forbidden"},       {404, "NotFound"},
        {405, "MethodNotAllowed"},   {410, "Expired"},      {429, "TooManyRequests"}, {500, "InternalError"},
        {503, "ServiceUnavailable"}, {504, "Timeout"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return "InternalError";
}

void api_failure(struct buffer *body, unsigned code, const char *reason, const char *message) {
    struct writer out = {.out = body};
    buffer_reset(body);
    writer_object(&out, NULL);
    writer_string(&out, "kind", "Status");
    writer_string(&out, "apiVersion", "v1");
    writer_object(&out, "metadata");
    writer_end(&out, '}');
    writer_string(&out, "status", "Failure");
    writer_string(&out, "message", message);
    writer_string(&out, "reason", reason ? reason : usual_reason(code));
    writer_uint(&out, "code", code);
    writer_end(&out, '}');
    buffer_char(body, '\n');
}

unsigned api_code(const struct error *error) {
    static const unsigned codes[] = {
        [ERROR_INTERNAL] = 500,  [ERROR_NO_MEMORY] = 500, [ERROR_INVALID] = 400, [ERROR_NOT_FOUND] = 404,
        [ERROR_REFUSED] = 403,   [ERROR_IO] = 502,        [ERROR_LIMIT] = 504,   [ERROR_UNSUPPORTED] = 400,
        [ERROR_TOO_LARGE] = 502, [ERROR_STOPPED] = 503,   [ERROR_USAGE] = 400,
    };
    return codes[error->code];
}

const char *api_parameter(const struct api_call *call, const char *name) {
    for (size_t i = 0; i < call->request->n_parameters; i++)
        if (strcmp(call->request->parameters[i].name, name) == 0)
            return call->request->parameters[i].value;
    return NULL;
}

static struct error *put_status(struct api_call *call) {
    return api_put_status(call->source, &call->out);
}

static struct error *put_workers(struct api_call *call) {
    return api_put_workers(call->source, &call->out);
}

static const struct {
    const char *path; // below ROOT; a path that ends with "/" has more parts
    struct error *(*put)(struct api_call *call);
} paths[] = {
    {"status", put_status},       {"workers", put_workers},    {"adapters", api_adapters},
    {"workloads", api_workloads}, {"workloads/", api_explain}, {"rights", api_rights},
};

bool api_get(const struct api_source *source, const struct api_request *request, struct buffer *body, unsigned *code) {
    if (!text_has_prefix(request->path, ROOT))
        return false;
    const char *path = request->path + strlen(ROOT);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        size_t len = strlen(paths[i].path);
        bool more = paths[i].path[len - 1] == '/';
        if (strncmp(path, paths[i].path, len) != 0 || (!more && path[len] != '\0'))
            continue;
        struct api_call call = {.source = source, .request = request, .rest = path + len, .out = {.out = body}};
        writer_object(&call.out, NULL);
        struct error *error = paths[i].put(&call);
        writer_end(&call.out, '}');
        buffer_char(body, '\n');
        if (!error && body->failed)
            error = error_new(ERROR_INTERNAL, "the answer does not fit, or memory ran out; ask with limit=500");
        *code = call.expired ? 410 : error ? api_code(error) : 200;
        if (error)
            api_failure(body, *code, NULL, error_text(error));
        error_free(error);
        return true;
    }
    return false;
}
