// SPDX-License-Identifier: Apache-2.0
// The watch, and the streaming list that continues as a watch (sendInitialEvents). The stream has frames {"type": ...,
// "object": ...}, split from chunks, without copying complete ones.
#include "core/kube/object/span.h"
#include "core/kube/watch/reflector_internal.h"

#define TIMEOUT_MIN_S 300
#define TIMEOUT_SPAN_S 301
#define TIMEOUT_GRACE_NS (30 * CLOCK_SECOND)
#define STALL_NS (3 * CLOCK_MINUTE) // three bookmarks
#define SHORT_NS CLOCK_SECOND
#define SHORT_STREAMS_MAX 3
#define RESTLESS_NS (30 * CLOCK_SECOND) // streams that end sooner, one after the other,
#define APART_NS (40 * CLOCK_SECOND)    // are opened this far apart
#define RESTLESS_FREE 3
#define INITIAL_SILENCE_NS (60 * CLOCK_SECOND)
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

// Events are read until one of them ends the stream, and `ending` says why.
static bool on_invalid(struct reflector *reflector, const char *why) {
    return reflector_conclude(reflector, REASON_GARBAGE, "the server sent an invalid event: %s", why);
}

static bool on_bookmark(struct reflector *reflector, const struct json *object) {
    const char *version = object_version(object);
    if (version[0] == '\0')
        return on_invalid(reflector, "a bookmark without resourceVersion");
    if (!reflector->watch.initial)
        return reflector_set_version(reflector, version);
    if (!text_equal(object_annotation(object, INITIAL_EVENTS_END), "true"))
        return reflector_conclude(reflector, REASON_GARBAGE, "the server ignores sendInitialEvents");
    if (!reflector_check_version(reflector, version))
        return reflector_conclude(reflector, REASON_TOO_LARGE_VERSION, "the list is older than the last known version");
    if (!reflector_set_version(reflector, version))
        return false;
    reflector_end_list(reflector);
    return true;
}

static struct error *parse_frame(const struct reflector *reflector, const char *bytes, size_t len, struct json **out) {
    const struct budget *budget = budget_or_default(reflector->options.budget);
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
    return reflector_conclude(reflector, REASON_GARBAGE, "the streaming list does not end");
}

// Most frames contain an object: only that is parsed, after stripping. False: a different or malformed frame, which
// must be parsed completely.
static bool on_object_frame(struct reflector *reflector, const char *bytes, size_t len, bool *ok) {
    struct span type, object;
    if (!span_member(bytes, len, "type", &type) || !span_member(bytes, len, "object", &object))
        return false;
    bool gone = is_type(bytes, &type, "DELETED"), initial = reflector->watch.initial;
    if (!gone && !is_type(bytes, &type, "ADDED") && !is_type(bytes, &type, "MODIFIED"))
        return false;
    struct object *made = NULL;
    struct error *error =
        object_parse_bounded(bytes + object.value, object.end - object.value, &reflector->limits, &made);
    if (error && error->code == ERROR_INVALID && json_broken(reflector, bytes, len)) {
        error_free(error);
        return false;
    }
    if (initial)
        reflector_begin_list(reflector);
    // Initial events come in the order of keys: their versions do not show the progress of the stream.
    *ok = reflector_deliver(reflector, error, made, gone, !initial) && count_initial(reflector);
    return true;
}

static bool on_frame(struct reflector *reflector, const char *bytes, size_t len) {
    bool ok = false;
    if (!on_object_frame(reflector, bytes, len, &ok)) {
        AUTO_JSON frame = NULL;
        __attribute__((cleanup(error_cleanup))) struct error *error = parse_frame(reflector, bytes, len, &frame);
        if (error && error->code == ERROR_NO_MEMORY)
            return reflector_conclude_no_memory(reflector);
        if (error)
            return on_invalid(reflector, error_text(error));
        const char *type = json_string_or(json_get(frame, "type"), "");
        if (strcmp(type, "ERROR") == 0) {
            response_clear(&reflector->ending);
            response_read_status(&reflector->ending, json_get(frame, "object"), 0, VERB_RAW_GET);
            return false;
        }
        if (reflector->watch.initial)
            reflector_begin_list(reflector);
        bool known = strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0 || strcmp(type, "DELETED") == 0;
        ok = strcmp(type, "BOOKMARK") == 0 ? on_bookmark(reflector, json_get(frame, "object"))
                                           : on_invalid(reflector, known ? "it has no object" : "its type is unknown");
    }
    reflector->watch.frames += ok;
    return ok;
}

// A frame that began in an earlier chunk.
static bool on_split_frame(struct reflector *reflector, const char *bytes, size_t len) {
    struct buffer *tail = &reflector->watch.tail;
    if (!reflector_keep_tail(reflector, bytes, len) || !on_frame(reflector, tail->data, tail->len))
        return false;
    if (tail->cap > TAIL_KEPT)
        reflector_drop_tail(reflector);
    else
        buffer_reset(tail);
    return true;
}

static bool on_chunk(struct reflector *reflector, const char *bytes, size_t len) {
    struct watch *watch = &reflector->watch;
    while (len > 0) {
        bool bad = false;
        watch->scanner.scanned = 0; // in this chunk; bytes scanned before are in the tail
        size_t end = frame_next(&watch->scanner, bytes, len, &bad);
        if (bad)
            return on_invalid(reflector, "not a JSON object");
        if (end == 0)
            return watch->scanner.value.depth == 0 || reflector_keep_tail(reflector, bytes, len);
        if (!(watch->tail.len > 0 ? on_split_frame : on_frame)(reflector, bytes, end))
            return false;
        bytes += end;
        len -= end;
    }
    return true;
}

bool stream_opened(void *ctx) {
    struct reflector *reflector = ctx;
    reflector->watch.open = reflector->watch.heard = true;
    request_log_opened(&reflector->log, reflector->options.cluster);
    probe_heard(reflector->options.probe);
    return true;
}

bool stream_data(void *ctx, const char *bytes, size_t len) {
    struct reflector *reflector = ctx;
    struct watch *watch = &reflector->watch;
    watch->open = watch->heard = true;
    probe_heard(reflector->options.probe);
    watch->decided = watch->decided || !on_chunk(reflector, bytes, len);
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
        reflector_conclude(reflector, REASON_OK, "%s", result->problem ? result->problem : "the stream ended");
        return;
    }
    reflector_read(reflector, result);
    if (reflector->ending.reason == REASON_OK)
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned something other than a stream for a watch");
}

struct error *watch_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request) {
    struct watch *watch = &reflector->watch;
    unsigned timeout_s = TIMEOUT_MIN_S + (unsigned)random_below(&reflector->random, TIMEOUT_SPAN_S);
    bool initial = reflector->phase == PHASE_WATCH_LIST;
    TRY(reflector_path(reflector, true, path));
    buffer_printf(path, "watch=true&allowWatchBookmarks=true&timeoutSeconds=%u", timeout_s);
    if (initial)
        buffer_text(path, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    if (!initial || (!watch->unset_version && reflector->version[0] != '\0')) {
        buffer_text(path, "&resourceVersion=");
        text_percent_encode(path, reflector->version);
    }
    request->accept = reflector_accept(reflector, false);
    request->stream = true;
    request->max_body = REFLECTOR_ERROR_BODY_MAX;
    request->timeout_ns = timeout_s * CLOCK_SECOND + TIMEOUT_GRACE_NS;
    request->stall_ns = STALL_NS;
    watch->scanner = (struct frame_scanner){0};
    watch->open = watch->decided = watch->heard = watch->clean = false;
    watch->initial = initial;
    watch->frames = 0;
    watch->opened_ns = CLOCK_NEVER;
    watch->heard_ns = reflector->now_ns;
    watch->ends_ns = reflector->now_ns + (timeout_s - 1) * CLOCK_SECOND;
    reflector->proven = false; // for the next watch, unless this one ends cleanly
    return NULL;
}

// An error event for a version that is too old comes at once. So a stream that resumes from an earlier version counts
// as watching once another event arrives first, or nothing for a second.
static int64_t check_open(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    if (reflector->state == REFLECTOR_CONNECTED || !watch->open || watch->initial || watch->decided)
        return CLOCK_NEVER;
    if (watch->opened_ns == CLOCK_NEVER)
        watch->opened_ns = reflector->now_ns;
    if (watch->after_list || watch->frames > 0 || reflector->now_ns - watch->opened_ns >= SHORT_NS) {
        reflector_set_state(reflector, REFLECTOR_CONNECTED, NULL);
        return CLOCK_NEVER;
    }
    return watch->opened_ns + SHORT_NS;
}

static void fall_back(struct reflector *reflector, const char *why) {
    reflector_log(reflector, LOG_INFO, "the server does not support streaming lists; listing in pages", why);
    list_reset(&reflector->list);
    reflector_go(reflector, PHASE_LIST);
}

// Servers and proxies that do not know sendInitialEvents never send the bookmark that ends the list.
static int64_t check_initial(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    if (!watch->initial || watch->decided)
        return CLOCK_NEVER;
    if (watch->heard) {
        watch->heard = false;
        watch->heard_ns = reflector->now_ns;
    }
    if (reflector->now_ns - watch->heard_ns < INITIAL_SILENCE_NS)
        return watch->heard_ns + INITIAL_SILENCE_NS;
    reflector_abandon(reflector);
    fall_back(reflector, "no data for a minute before the end of the list");
    return CLOCK_NEVER;
}

int64_t watch_check(struct reflector *reflector) {
    if (reflector->phase != PHASE_WATCH && reflector->phase != PHASE_WATCH_LIST)
        return CLOCK_NEVER;
    int64_t open_ns = check_open(reflector);
    return clock_earlier(open_ns, check_initial(reflector));
}

static void relist_later(struct reflector *reflector) {
    reflector_wait(reflector, reflector_new_list(reflector), "watch");
}

// Handles 410 in both forms, HTTP status and ERROR event.
static void relist_now(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    reflector_log(reflector, LOG_INFO, "listing again", reflector->ending.message);
    watch->unset_version = watch->expired;
    watch->expired = true;
    if (watch->unset_version)
        relist_later(reflector);
    else
        reflector_go(reflector, reflector_new_list(reflector));
}

// Streams that keep breaking, though not at once, cost three requests each (docs/reflector.md). The next one may wait;
// meanwhile the watch is as good as one that lags.
static void open_again(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    int64_t lived_ns = reflector->now_ns - reflector->sent_ns;
    watch->restless = lived_ns < RESTLESS_NS ? watch->restless + 1 : 0;
    reflector_go(reflector, PHASE_WATCH);
    if (watch->restless > RESTLESS_FREE)
        reflector->due_ns += APART_NS - lived_ns + (int64_t)random_below(&reflector->random, APART_NS / 10);
}

// An open stream has ended.
static void end_stream(struct reflector *reflector, bool lived, bool is_short) {
    struct watch *watch = &reflector->watch;
    watch->short_streams = is_short ? watch->short_streams + 1 : 0;
    if (!lived) {
        reflector_conclude(reflector, REASON_OK, "the watch ended immediately without an event (%s)",
                           reflector->ending.message);
        relist_later(reflector);
    } else if (watch->short_streams >= SHORT_STREAMS_MAX) {
        reflector_conclude(reflector, REASON_OK, "several watches in a row ended within a second");
        reflector_wait(reflector, PHASE_WATCH, "watch");
    } else {
        open_again(reflector);
    }
}

static bool says_wait(struct reflector *reflector) {
    const struct response *ending = &reflector->ending;
    if (ending->reason == REASON_TOO_MANY || ending->reason == REASON_NOT_SENT ||
        (ending->reason == REASON_UNKNOWN_OUTCOME && ending->code == 0))
        return true;
    return ending->code >= 500 && ending->retry_after_ns >= 0 && !reflector->watch.open &&
           reflector->tries++ < REFLECTOR_MAX_TRIES;
}

void watch_ended(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    bool is_short = reflector->now_ns - reflector->sent_ns < SHORT_NS;
    bool lived = watch->frames > 0 || !is_short;
    if (lived && watch->open) {
        watch->expired = false;
        reflector->tries = 0;
    }
    watch->after_list = false;
    // A server that ends a watch at the requested time, after reporting its progress, has not been restored.
    reflector->proven = watch->clean && watch->frames > 0 && reflector->now_ns >= watch->ends_ns;
    enum reason reason = reflector->ending.reason;
    if (reason == REASON_OK)
        end_stream(reflector, lived, is_short);
    else if (reason == REASON_EXPIRED)
        relist_now(reflector);
    else if (reason == REASON_TOO_LARGE_VERSION)
        reflector_list_consistently(reflector);
    else if (says_wait(reflector))
        reflector_wait(reflector, PHASE_WATCH, "watch");
    else
        relist_later(reflector);
}

// A streaming list ended early.
void initial_list_ended(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    enum reason reason = reflector->ending.reason;
    if (reason == REASON_OK && watch->early_ends++ == 0) {
        list_reset(&reflector->list);
        reflector_go(reflector, PHASE_WATCH_LIST);
    } else if (reason == REASON_TOO_LARGE_VERSION) {
        reflector_list_consistently(reflector);
    } else if ((reason == REASON_NOT_FOUND || reason == REASON_KIND_NOT_FOUND) && !reflector->discovery.fresh) {
        list_missing(reflector);
    } else if (reason == REASON_EXPIRED && !watch->unset_version) {
        watch->unset_version = true;
        list_reset(&reflector->list);
        reflector_go(reflector, PHASE_WATCH_LIST);
    } else if (says_wait(reflector) || reason_is_refusal(reason)) { // pages would be refused too
        reflector_wait(reflector, reflector_new_list(reflector), "list");
    } else {
        fall_back(reflector, reflector->ending.message);
    }
}
