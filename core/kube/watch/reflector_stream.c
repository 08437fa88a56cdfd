// SPDX-License-Identifier: Apache-2.0
// The stream of a watch: frames {"type": ..., "object": ...}, split from chunks, without copying complete ones.
#include "core/kube/object/span.h"
#include "core/kube/watch/reflector_internal.h"

#include <string.h>

#define TAIL_KEPT ((size_t)64 << 10)
#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

size_t frame_next(struct frame_scanner *scanner, const char *bytes, size_t len, bool *bad) {
    size_t at = scanner->scanned;
    *bad = false;
    if (scanner->value.depth == 0) {
        at = scan_space(bytes, at, len);
        *bad = at < len && bytes[at] != '{' && bytes[at] != '[';
    }
    if (!*bad && scan_value(&scanner->value, bytes, &at, len)) {
        *scanner = (struct frame_scanner){0};
        return at;
    }
    scanner->scanned = at;
    return 0;
}

// Ends the stream: `ending` takes precedence over the result of `done`.
static bool stop(struct reflector *reflector) {
    reflector->watch.decided = true;
    return false;
}

static bool stop_no_memory(struct reflector *reflector) {
    reflector_conclude_no_memory(reflector);
    return stop(reflector);
}

static bool stop_undecodable(struct reflector *reflector, const char *why) {
    AUTO_TEXT message = text_format("the server sent an invalid event: %s", why);
    reflector_conclude(reflector, REASON_GARBAGE, message);
    return stop(reflector);
}

static void begin_initial(struct reflector *reflector) {
    if (reflector->watch.initial && !reflector->list.begun) {
        reflector->list.begun = true;
        reflector->handler.listing(reflector->handler.ctx, reflector->versions[reflector->discovery.index]);
    }
}

static void end_initial(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    list_reset(&reflector->list);
    watch->initial = false;
    watch->unset_version = false;
    watch->after_list = true;
    watch->early_ends = 0;
    reflector->discovery.fresh = false;
    reflector->discovery.was_there = true;
    reflector->phase = PHASE_WATCH;
    reflector->handler.listed(reflector->handler.ctx, reflector->versions[reflector->discovery.index]);
}

static bool on_bookmark(struct reflector *reflector, const struct json *object) {
    const char *version = object_version(object);
    if (version[0] == '\0')
        return stop_undecodable(reflector, "a bookmark without resourceVersion");
    if (!reflector->watch.initial)
        return reflector_set_version(reflector, version) || stop(reflector);
    const char *end = object_annotation(object, INITIAL_EVENTS_END);
    if (!end || strcmp(end, "true") != 0) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server ignores sendInitialEvents");
        return stop(reflector);
    }
    if (!reflector_check_version(reflector, version)) {
        reflector_conclude(reflector, REASON_TOO_LARGE_VERSION, "the list is older than the last known version");
        return stop(reflector);
    }
    if (!reflector_set_version(reflector, version))
        return stop(reflector);
    end_initial(reflector);
    return true;
}

static bool on_error(struct reflector *reflector, const struct json *status) {
    response_clear(&reflector->ending);
    response_read_status(&reflector->ending, status, 0, VERB_RAW_GET);
    return stop(reflector);
}

static bool on_event(struct reflector *reflector, const char *type, const struct json *frame) {
    if (strcmp(type, "BOOKMARK") == 0)
        return on_bookmark(reflector, json_get(frame, "object"));
    bool known = strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0 || strcmp(type, "DELETED") == 0;
    return stop_undecodable(reflector, known ? "it has no object" : "its type is unknown");
}

static struct error *parse_frame(const struct reflector *reflector, const char *bytes, size_t len, struct json **out) {
    const struct budget *budget = budget_or_default(reflector->budget);
    const struct json_limits limits = {.max_nodes = 2 * budget->max_object_nodes, .stop = budget->stop};
    return json_parse_limited(bytes, len, &limits, out);
}

// True if the frame itself is invalid JSON, rather than the object in it invalid.
static bool json_broken(const struct reflector *reflector, const char *bytes, size_t len) {
    AUTO_JSON frame = NULL;
    struct error *error = parse_frame(reflector, bytes, len, &frame);
    error_free(error);
    return error;
}

static bool is_type(const char *bytes, const struct span *type, const char *text) {
    size_t len = strlen(text);
    return type->end - type->value == len + 2 && memcmp(bytes + type->value + 1, text, len) == 0;
}

// An endless streaming list falls back to pages, which report it.
static bool count_initial(struct reflector *reflector) {
    if (!reflector->watch.initial || reflector->list.items++ < LIST_MAX_ITEMS)
        return true;
    reflector_conclude(reflector, REASON_GARBAGE, "the streaming list does not end");
    return false;
}

// Most frames contain an object: only that is parsed, after stripping. False: a different or malformed frame, which
// must be parsed completely.
static bool on_object_frame(struct reflector *reflector, const char *bytes, size_t len, bool *ok) {
    struct span type, object;
    if (!span_member(bytes, len, "type", &type) || !span_member(bytes, len, "object", &object))
        return false;
    bool gone = is_type(bytes, &type, "DELETED");
    if (!gone && !is_type(bytes, &type, "ADDED") && !is_type(bytes, &type, "MODIFIED"))
        return false;
    struct object *made = NULL;
    struct error *error =
        object_parse_bounded(bytes + object.value, object.end - object.value, reflector->discovery.api_version,
                             reflector->discovery.kind, &reflector->limits, &made);
    if (error && error->code == ERROR_INVALID && json_broken(reflector, bytes, len)) {
        error_free(error);
        return false;
    }
    begin_initial(reflector);
    // Initial events come in the order of keys: their versions do not show the progress of the stream.
    *ok = reflector_deliver(reflector, error, made, gone, !reflector->watch.initial) && count_initial(reflector);
    *ok = *ok || stop(reflector);
    reflector->watch.frames += *ok;
    return true;
}

static bool on_frame(struct reflector *reflector, const char *bytes, size_t len) {
    bool ok = false;
    if (on_object_frame(reflector, bytes, len, &ok))
        return ok;
    AUTO_JSON frame = NULL;
    __attribute__((cleanup(error_cleanup))) struct error *error = parse_frame(reflector, bytes, len, &frame);
    if (error && error->code == ERROR_NO_MEMORY)
        return stop_no_memory(reflector);
    if (error)
        return stop_undecodable(reflector, error_text(error));
    const char *type = json_string_or(json_get(frame, "type"), "");
    if (strcmp(type, "ERROR") == 0)
        return on_error(reflector, json_get(frame, "object"));
    begin_initial(reflector);
    if (!on_event(reflector, type, frame))
        return false;
    reflector->watch.frames++;
    return true;
}

// A frame that began in an earlier chunk.
static bool on_split_frame(struct reflector *reflector, const char *bytes, size_t len) {
    struct buffer *tail = &reflector->watch.tail;
    if (!reflector_keep_tail(reflector, bytes, len))
        return stop(reflector);
    if (!on_frame(reflector, tail->data, tail->len))
        return false;
    if (tail->cap > TAIL_KEPT)
        reflector_drop_tail(reflector);
    else
        buffer_reset(tail);
    return true;
}

bool stream_opened(void *ctx) {
    struct reflector *reflector = ctx;
    reflector->watch.open = true;
    reflector->watch.heard = true;
    request_log_opened(&reflector->log, reflector->cluster);
    probe_heard(reflector->probe);
    return true;
}

bool stream_data(void *ctx, const char *bytes, size_t len) {
    struct reflector *reflector = ctx;
    struct watch *watch = &reflector->watch;
    watch->open = watch->heard = true;
    probe_heard(reflector->probe);
    while (len > 0 && !watch->decided) {
        bool bad = false;
        watch->scanner.scanned = 0; // in this chunk; bytes scanned before are in the tail
        size_t end = frame_next(&watch->scanner, bytes, len, &bad);
        if (bad)
            return stop_undecodable(reflector, "not a JSON object");
        if (end == 0)
            return watch->scanner.value.depth == 0 || reflector_keep_tail(reflector, bytes, len) || stop(reflector);
        if (!(watch->tail.len > 0 ? on_split_frame : on_frame)(reflector, bytes, end))
            return false;
        bytes += end;
        len -= end;
    }
    return !watch->decided;
}

void stream_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    struct watch *watch = &reflector->watch;
    reflector_note_end(reflector, result);
    if (watch->decided)
        return;
    watch->clean = result->outcome == HTTP_ANSWERED;
    if (result->outcome != HTTP_REFUSED && (watch->open || result->status == 200)) {
        watch->open = true;
        reflector_conclude(reflector, REASON_OK, result->problem ? result->problem : "the stream ended");
        return;
    }
    reflector_read(reflector, result);
    if (reflector->ending.reason == REASON_OK)
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned something other than a stream for a watch");
}
