// SPDX-License-Identifier: Apache-2.0
// The watch, and the streaming list that continues as a watch (sendInitialEvents). The stream itself is read in
// reflector_stream.c.
#include "core/kube/watch/reflector_internal.h"

#define TIMEOUT_MIN_S 300
#define TIMEOUT_SPAN_S 301
#define TIMEOUT_GRACE_NS (30 * CLOCK_SECOND)
#define ERROR_BODY_MAX ((size_t)1 << 20)
#define STALL_BOOKMARKS 3
#define SHORT_NS CLOCK_SECOND
#define SHORT_STREAMS_MAX 3
#define RESTLESS_NS (30 * CLOCK_SECOND) // streams that end sooner, one after the other,
#define APART_NS (40 * CLOCK_SECOND)    // are opened this far apart
#define RESTLESS_FREE 3
#define INITIAL_SILENCE_NS (60 * CLOCK_SECOND)

static struct error *watch_path(const struct reflector *reflector, uint64_t timeout_s, struct buffer *path) {
    TRY(reflector_path(reflector, true, path));
    bool initial = reflector->phase == PHASE_WATCH_LIST;
    buffer_printf(path, "watch=true&allowWatchBookmarks=true&timeoutSeconds=%u", (unsigned)timeout_s);
    if (initial)
        buffer_text(path, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    if (!initial || (!reflector->watch.unset_version && reflector->version[0] != '\0')) {
        buffer_text(path, "&resourceVersion=");
        text_percent_encode(path, reflector->version);
    }
    return path->failed ? error_no_memory() : NULL;
}

static void reset(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    reflector_drop_tail(reflector);
    watch->scanner = (struct frame_scanner){0};
    watch->open = watch->decided = watch->heard = watch->clean = false;
    watch->initial = reflector->phase == PHASE_WATCH_LIST;
    watch->frames = 0;
    watch->opened_ns = CLOCK_NEVER;
    watch->heard_ns = reflector->now_ns;
}

void watch_start(struct reflector *reflector) {
    AUTO_BUFFER(path, 1);
    uint64_t timeout_s = TIMEOUT_MIN_S + random_below(&reflector->random, TIMEOUT_SPAN_S);
    __attribute__((cleanup(error_cleanup))) struct error *error = watch_path(reflector, timeout_s, &path);
    if (error) {
        reflector_conclude(reflector, REASON_BAD_REQUEST, error_text(error));
        reflector_wait(reflector, reflector->phase, "watch");
        return;
    }
    reset(reflector);
    reflector->proven = false; // for the next watch, unless this one ends cleanly
    reflector->watch.ends_ns = reflector->now_ns + ((int64_t)timeout_s - 1) * CLOCK_SECOND;
    struct http_request request = {.method = HTTP_GET,
                                   .path = path.data,
                                   .accept = reflector_accept(reflector, false),
                                   .stream = true,
                                   .max_body = ERROR_BODY_MAX,
                                   .timeout_ns = (int64_t)timeout_s * CLOCK_SECOND + TIMEOUT_GRACE_NS,
                                   .stall_ns = STALL_BOOKMARKS * reflector->bookmark_ns};
    struct http_handler handler = {.opened = stream_opened, .data = stream_data, .done = stream_done, .ctx = reflector};
    reflector_submit(reflector, &request, &handler);
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
    log_fields(LOG_INFO, "the server does not support streaming lists; listing in pages",
               {"cluster", reflector->cluster}, {"kind", reflector->what}, {"error", why});
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
    reflector->transport->ops->cancel(reflector->transport, reflector->exchange);
    reflector->exchange = 0;
    fall_back(reflector, "no data for a minute before the end of the list");
    return CLOCK_NEVER;
}

int64_t watch_check(struct reflector *reflector) {
    if (reflector->phase != PHASE_WATCH && reflector->phase != PHASE_WATCH_LIST)
        return CLOCK_NEVER;
    int64_t open_ns = check_open(reflector);
    int64_t initial_ns = check_initial(reflector);
    return open_ns < initial_ns ? open_ns : initial_ns;
}

static void relist_later(struct reflector *reflector) {
    reflector_wait(reflector, reflector_new_list(reflector), "watch");
}

// Handles 410 in both forms, HTTP status and ERROR event.
static void relist_now(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    log_fields(LOG_INFO, "listing again", {"cluster", reflector->cluster}, {"kind", reflector->what},
               {"error", reflector->ending.message});
    watch->unset_version = watch->expired;
    if (watch->expired) {
        relist_later(reflector);
    } else {
        watch->expired = true;
        reflector_go(reflector, reflector_new_list(reflector));
    }
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
static void stream_over(struct reflector *reflector, bool lived, bool is_short) {
    struct watch *watch = &reflector->watch;
    watch->short_streams = is_short ? watch->short_streams + 1 : 0;
    if (!lived) {
        AUTO_TEXT message = text_format("the watch ended immediately without an event (%s)", reflector->ending.message);
        reflector_conclude(reflector, REASON_OK, message);
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

static void watch_over(struct reflector *reflector) {
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
    switch (reflector->ending.reason) {
    case REASON_OK:
        stream_over(reflector, lived, is_short);
        break;
    case REASON_EXPIRED:
        relist_now(reflector);
        break;
    case REASON_TOO_LARGE_VERSION:
        reflector_list_consistently(reflector);
        break;
    default:
        if (says_wait(reflector))
            reflector_wait(reflector, PHASE_WATCH, "watch");
        else
            relist_later(reflector);
    }
}

// A streaming list ended early.
static void initial_over(struct reflector *reflector) {
    struct watch *watch = &reflector->watch;
    enum reason reason = reflector->ending.reason;
    if (reason == REASON_OK && watch->early_ends++ == 0) {
        list_reset(&reflector->list);
        reflector_go(reflector, PHASE_WATCH_LIST);
    } else if (reason == REASON_TOO_LARGE_VERSION) {
        reflector_list_consistently(reflector);
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

void watch_ended(struct reflector *reflector) {
    reflector_drop_tail(reflector); // an incomplete frame is never applied
    if (reflector->phase == PHASE_WATCH_LIST)
        initial_over(reflector);
    else
        watch_over(reflector);
}
