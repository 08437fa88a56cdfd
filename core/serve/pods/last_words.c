// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/logs/KIND/NAMESPACE/NAME?previousAttempt=true: the kept end of the logs of the last failed attempt.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/history/inspect.h"
#include "core/host/words/words_text.h"
#include "core/serve/http/server.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define NOTE_MAX_BYTES 1024

struct kept_reader {
    struct buffer text;
    size_t sent;
};

static ssize_t read_kept(void *ctx, char *out, size_t max) {
    struct kept_reader *reader = ctx;
    size_t len = size_least(max, reader->text.len - reader->sent);
    if (len == 0)
        return -1;
    memcpy(out, reader->text.data + reader->sent, len);
    reader->sent += len;
    return (ssize_t)len;
}

static void free_kept(void *ctx) {
    struct kept_reader *reader = ctx;
    buffer_free(&reader->text);
    free(reader);
}

// The last lines: all for tail < 0.
static const char *last_lines(const char *log, int64_t tail) {
    const char *at = log + strlen(log);
    for (int64_t lines = 0; tail >= 0 && at > log; at--)
        if (at[-1] == '\n' && *at != '\0' && ++lines >= tail)
            return at;
    return tail == 0 ? log + strlen(log) : log;
}

static void put_log(const struct json *container, bool prefixed, int64_t tail, struct buffer *out) {
    const char *pod = json_string_or(json_get(container, "pod"), "");
    const char *name = json_string_or(json_get(container, "container"), "");
    const char *at = last_lines(json_string_or(json_get(container, "log"), ""), tail);
    while (*at) {
        size_t len = strcspn(at, "\n");
        AUTO_TEXT line = prefixed ? text_format("[%s/%s] %.*s", pod, name, (int)len, at) : strndup(at, len);
        out->failed |= !line || !text_show(out, line); // whoever may change the ConfigMap may have written this
        buffer_char(out, '\n');
        at += len + (at[len] == '\n');
    }
}

static bool is_asked(const struct web_call *call, const struct json *container) {
    const char *pod = web_text(call, "pod"), *name = web_text(call, "container");
    return (!pod || strcmp(pod, json_string_or(json_get(container, "pod"), "")) == 0) &&
           (!name || strcmp(name, json_string_or(json_get(container, "container"), "")) == 0);
}

static struct error *answer(struct web_call *call, const struct json *entry, int64_t tail) {
    const struct json *containers = json_get(entry, "containers");
    bool prefixed = web_flag(call, "allPods") || json_size(containers) > 1;
    size_t found = 0;
    AUTO_BUFFER(note, NOTE_MAX_BYTES);
    buffer_printf(&note, "kept of attempt %lld in %s: ", (long long)json_int64(json_get(entry, "attempt"), 0),
                  json_string_or(json_get(entry, "cluster"), ""));
    words_show(entry, &note);
    struct kept_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return error_no_memory();
    buffer_init(&reader->text, TEXT_MAX_BYTES);
    for (const struct json *container = json_first(containers); container; container = json_next(container)) {
        bool asked = is_asked(call, container);
        found += asked;
        if (asked)
            put_log(container, prefixed, tail, &reader->text);
    }
    if (found == 0 || reader->text.failed) {
        free_kept(reader);
        return found > 0 ? error_no_memory()
                         : error_new(ERROR_NOT_FOUND, "nothing is kept of this pod or container; %s",
                                     note.data ? note.data : "");
    }
    web_stream(call, WEB_TEXT, note.data, &(struct web_reader){read_kept, free_kept, reader});
    return NULL;
}

// The newest attempt before the one with the present mirror; without such a one, the newest.
static const struct json *choose(const struct json *items, uint32_t present) {
    for (const struct json *item = json_first(items); item; item = json_next(item))
        if (present == 0 || json_int64(json_get(item, "attempt"), 0) < present)
            return item;
    return json_first(items);
}

struct absence {
    const struct kind *kind;
    const char *namespace_, *name, *why;
};

static void explain_absence(void *arg, struct engine *engine, struct moment now) {
    struct absence *absence = arg;
    (void)now;
    absence->why = inspect_no_words(engine, absence->kind, absence->namespace_, absence->name);
}

static struct error *report_absence(const struct api_source *source, const struct kind *kind, const char *namespace_,
                                    const char *name) {
    struct absence absence = {kind, namespace_, name, ""};
    TRY(source->query(source->ctx, explain_absence, &absence));
    return error_new(ERROR_NOT_FOUND, "nothing is kept of %s %s/%s: %s", kind->abi.kind, namespace_, name, absence.why);
}

struct error *serve_kept_logs(struct web_call *call, int64_t tail) {
    static const char *const others[] = {"follow", "sinceSeconds", "timestamps"};
    const struct api_source *source = call->server->source.api;
    const struct kind *kind = NULL;
    struct api_mirror mirror;
    AUTO_JSON items = NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (web_text(call, others[i]) && strcmp(web_text(call, others[i]), "false") != 0)
            return error_new(ERROR_INVALID, "previousAttempt cannot be used with %s", others[i]);
    TRY(api_find_kind(source, call->segments[0], &kind));
    TRY(api_last_words(source, kind, call->segments[1], call->segments[2], "", &items));
    AUTO_ERROR none = api_find_mirror(source, kind, call->segments[1], call->segments[2], &mirror);
    const struct json *entry = choose(items, none ? 0 : mirror.attempt);
    if (!entry)
        return report_absence(source, kind, call->segments[1], call->segments[2]);
    return answer(call, entry, tail);
}
