// SPDX-License-Identifier: Apache-2.0
// The paths, the errors and the members of the API.
#include "core/serve/api/api_internal.h"

#define ROOT "/api/v1/"
#define NAME_MAX_BYTES 64

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

// One member; the argument is of the type that `format` (without %) names.
// NOLINTBEGIN(bugprone-branch-clone): the arguments differ in type
static void put_member(struct writer *out, const char *name, const char *format, va_list *args) {
    if (*format == 's')
        writer_string(out, name, va_arg(*args, const char *));
    else if (*format == 'd')
        writer_bool(out, name, va_arg(*args, int));
    else if (*format == 'u')
        writer_uint(out, name, va_arg(*args, unsigned));
    else if (*format == 'z')
        writer_uint(out, name, va_arg(*args, size_t));
    else if (format[1] == 'u')
        writer_uint(out, name, va_arg(*args, uintmax_t));
    else
        writer_time(out, name, va_arg(*args, intmax_t));
}
// NOLINTEND(bugprone-branch-clone)

static void put_members(struct writer *out, const char *template, va_list *args) {
    for (const char *at = template; *at; at += strspn(at, " ")) {
        char name[NAME_MAX_BYTES] = "";
        size_t len = size_least(strcspn(at, "="), sizeof name - 1);
        memcpy(name, at, len);
        put_member(out, name, at + len + strlen("=%"), args);
        at += strcspn(at, " ");
    }
}

void api_put(struct writer *out, const char *template, ...) {
    va_list args;
    va_start(args, template);
    put_members(out, template, &args);
    va_end(args);
}

void api_put_object(struct writer *out, const char *key, const char *template, ...) {
    va_list args;
    va_start(args, template);
    writer_object(out, key);
    put_members(out, template, &args);
    writer_end(out, '}');
    va_end(args);
}

void api_put_items(struct writer *out, const char *key, const struct buffer *items) {
    writer_array(out, key);
    buffer_append(out->out, items->data, items->len);
    writer_end(out, ']');
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

void api_failure(struct buffer *body, unsigned code, const char *message) {
    struct writer out = {.out = body};
    buffer_reset(body);
    writer_object(&out, NULL);
    api_put(&out, "kind=%s apiVersion=%s", "Status", "v1");
    writer_object(&out, "metadata");
    writer_end(&out, '}');
    api_put(&out, "status=%s message=%s reason=%s code=%u", "Failure", message, usual_reason(code), code);
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

struct error *api_put_snapshot(const struct api_source *source, api_show *show, struct writer *out) {
    struct host_snapshot snapshot;
    TRY(source->snapshot(source->ctx, &snapshot));
    show(source, &snapshot, out);
    source->free_snapshot(&snapshot);
    return NULL;
}

static const struct {
    const char *path; // below ROOT; a path that ends with "/" has more parts
    api_show *show;   // NULL: `put` answers
    struct error *(*put)(struct api_call *call);
} paths[] = {
    {"status", api_show_status, NULL},  {"workers", api_show_workers, NULL}, {"adapters", api_show_adapters, NULL},
    {"workloads", NULL, api_workloads}, {"workloads/", NULL, api_explain},   {"rights", NULL, api_rights},
    {"accounts", NULL, api_accounts},   {"last-words/", NULL, api_words},
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
        AUTO_ERROR error = paths[i].show ? api_put_snapshot(source, paths[i].show, &call.out) : paths[i].put(&call);
        writer_end(&call.out, '}');
        buffer_char(body, '\n');
        if (!error && body->failed)
            error = error_new(ERROR_INTERNAL, "the answer does not fit, or memory ran out; ask with limit=500");
        *code = call.expired ? 410 : error ? api_code(error) : 200;
        if (error)
            api_failure(body, *code, error_text(error));
        return true;
    }
    return false;
}
