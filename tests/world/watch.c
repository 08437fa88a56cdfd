// SPDX-License-Identifier: Apache-2.0
// Watches read the history of their resource at their own pace: a write only wakes them.
#include "tests/world/watch.h"
#include "core/base/clock.h"
#include "tests/world/list.h"
#include "tests/world/selector.h"
#include "tests/world/server.h"
#include "tests/world/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOOKMARK CLOCK_MINUTE
#define PENDING_MAX ((size_t)4 << 30)

struct world_watch {
    struct world_cluster *cluster;
    struct kind *kind; // NULL once it went away
    char *version;
    struct view view;
    struct selector selector;
    uint64_t cursor;        // next event of the history
    uint64_t after;         // only events of later versions are sent
    struct blob **snapshot; // initial events
    size_t snapshot_at, snapshot_count;
    uint64_t snapshot_version;
    bool bookmarks, initial_end; // initial_end: the annotated bookmark is still to be sent
    bool ended, asleep;
    int64_t bookmark_ns, deadline_ns; // next
    struct buffer pending;            // frames that are ready
    void (*notify)(void *ctx);
    void *ctx;
    struct timer timer;
    struct world_watch *sibling;
};

static void wake(struct world_watch *watch) {
    if (!watch->asleep)
        return;
    watch->asleep = false;
    if (watch->notify)
        watch->notify(watch->ctx);
}

void world_watches_notify(struct kind *kind) {
    for (struct world_watch *watch = kind->watches; watch; watch = watch->sibling)
        wake(watch);
}

struct world_watch *world_watch_sibling(const struct world_watch *watch) {
    return watch->sibling;
}

static void set_timer(struct world_watch *watch) {
    int64_t at = watch->deadline_ns;
    if (watch->bookmarks && watch->bookmark_ns < at)
        at = watch->bookmark_ns;
    if (!heap_set(&watch->cluster->watch_times, &watch->timer, at))
        world_oom();
}

void world_watches_step(struct world_cluster *cluster) {
    struct heap *heap = &cluster->watch_times;
    for (struct timer *timer; (timer = heap_first(heap)) && timer->at_ns <= cluster->now_ns;) {
        struct world_watch *watch = (struct world_watch *)((char *)timer - offsetof(struct world_watch, timer));
        heap_remove(heap, timer);
        wake(watch);
    }
}

static void open_frame(struct buffer *out, const char *type) {
    buffer_text(out, "{\"type\":\"");
    buffer_text(out, type);
    buffer_text(out, "\",\"object\":");
}

static void print_view(const struct world_watch *watch, const struct blob *blob, struct buffer *out) {
    AUTO_BUFFER(text, PENDING_MAX);
    struct json *value = NULL;
    world_blob_print(blob, watch->kind, watch->version, &text);
    error_free(json_parse(text.data, text.len, &value));
    if (!value)
        world_oom();
    value = view_object(&watch->view, watch->kind, watch->version, value);
    if (!json_print(value, out))
        world_oom();
    json_free(value);
}

static void print_frame(struct world_watch *watch, const char *type, const struct blob *blob, struct buffer *out) {
    open_frame(out, type);
    if (view_changes(&watch->view))
        print_view(watch, blob, out);
    else
        world_blob_print(blob, watch->kind, watch->version, out);
    buffer_text(out, "}\n");
}

static void print_bookmark(struct world_watch *watch, uint64_t version, bool initial_end, struct buffer *out) {
    const struct kind *kind = watch->kind;
    bool whole = watch->view.form != VIEW_METADATA;
    open_frame(out, "BOOKMARK");
    buffer_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
                  whole ? kind->kind : "PartialObjectMetadata", whole ? kind->group : "meta.k8s.io",
                  *kind->group || !whole ? "/" : "", whole ? watch->version : "v1", version);
    if (kind->builtin)
        buffer_text(out, ",\"creationTimestamp\":null");
    if (initial_end)
        buffer_text(out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    buffer_text(out, kind->builtin && whole ? "},\"spec\":{},\"status\":{}}}\n" : "}}}\n");
}

// cache_watcher.go convertToWatchEvent: what leaves the selector is DELETED, as it was before.
static void print_event(struct world_watch *watch, const struct event *event, struct buffer *out) {
    bool was = selector_matches(&watch->selector, event->before);
    bool is = event->type != EVENT_DELETED && selector_matches(&watch->selector, event->now);
    if (is) {
        print_frame(watch, was ? "MODIFIED" : "ADDED", event->now, out);
    } else if (was && event->type == EVENT_DELETED) {
        print_frame(watch, "DELETED", event->now, out);
    } else if (was) {
        struct blob *left = world_blob_stamp(event->before, event->version);
        print_frame(watch, "DELETED", left, out);
        world_blob_unref(left);
    }
}

static void plan_bookmark(struct world_watch *watch) {
    const struct world_options *options = &watch->cluster->options;
    int64_t now = watch->cluster->now_ns, last = watch->deadline_ns - 2 * CLOCK_SECOND;
    watch->bookmark_ns = now + (options->bookmark_ns ? options->bookmark_ns : BOOKMARK);
    if (last > now && last < watch->bookmark_ns)
        watch->bookmark_ns = last;
}

// Appends the next frame. False when there is none now.
static bool read_one(struct world_watch *watch, struct buffer *out) {
    int64_t now = watch->cluster->now_ns;
    if (watch->snapshot_at < watch->snapshot_count) {
        print_frame(watch, "ADDED", watch->snapshot[watch->snapshot_at++], out);
        return true;
    }
    if (watch->initial_end) {
        watch->initial_end = false;
        print_bookmark(watch, watch->snapshot_version, true, out);
        return true;
    }
    if (watch->cursor < watch->kind->first) { // too slow: what it missed is gone
        watch->ended = true;
        return false;
    }
    const struct event *event = world_history_at(watch->kind, watch->cursor);
    if (event) {
        watch->cursor++;
        if (event->version > watch->after)
            print_event(watch, event, out);
        return true;
    }
    if (watch->bookmarks && watch->bookmark_ns <= now) {
        plan_bookmark(watch);
        if (watch->cluster->version >= watch->after) { // waits silently for a version in the future
            print_bookmark(watch, watch->cluster->version, false, out);
            return true;
        }
    }
    watch->ended = watch->deadline_ns <= now;
    return false;
}

size_t world_watch_read(struct world_watch *watch, struct buffer *out, size_t want, int64_t now_ns) {
    size_t start = out->len;
    if (watch->cluster && now_ns > watch->cluster->now_ns)
        watch->cluster->now_ns = now_ns;
    if (watch->pending.len) {
        buffer_append(out, watch->pending.data, watch->pending.len);
        buffer_free(&watch->pending);
    }
    while (!watch->ended && out->len - start < want)
        if (!read_one(watch, out))
            break;
    if (out->failed)
        world_oom();
    if (out->len == start && !watch->ended) {
        watch->asleep = true;
        set_timer(watch);
    }
    return out->len - start;
}

void world_watch_accept(struct world_watch *watch, const char *accept) {
    watch->view.form = view_form(accept);
}

void world_watch_core(struct world_watch *watch) {
    watch->view.core_event = true;
}

bool world_watch_ended(const struct world_watch *watch) {
    return watch->ended && watch->pending.len == 0;
}

static void free_snapshot(struct world_watch *watch) {
    for (size_t i = 0; i < watch->snapshot_count; i++)
        world_blob_unref(watch->snapshot[i]);
    free(watch->snapshot);
    watch->snapshot = NULL;
    watch->snapshot_at = watch->snapshot_count = 0;
}

void world_watch_orphan(struct world_watch *watch) {
    heap_remove(&watch->cluster->watch_times, &watch->timer);
    struct world_watch **link = &watch->kind->watches;
    while (*link != watch)
        link = &(*link)->sibling;
    *link = watch->sibling;
    watch->kind = NULL;
    watch->cluster = NULL;
    watch->ended = true;
    wake(watch);
}

void world_watch_drain(struct world_watch *watch) {
    while (!watch->ended && read_one(watch, &watch->pending))
        continue;
    watch->ended = true;
}

void world_watch_close(struct world_watch *watch) {
    watch->notify = NULL;
    if (watch->kind)
        world_watch_orphan(watch);
    free_snapshot(watch);
    selector_free(&watch->selector);
    buffer_free(&watch->pending);
    free(watch->version);
    free(watch);
}

void world_end_watches(struct world_cluster *cluster) {
    for (struct kind *kind = cluster->kinds; kind; kind = kind->next_kind)
        for (struct world_watch *watch = kind->watches; watch; watch = watch->sibling) {
            watch->ended = true;
            wake(watch);
        }
}

static void take_snapshot(struct world_watch *watch) {
    struct kind *kind = watch->kind;
    size_t capacity = kind->by_key.count;
    watch->snapshot = world_alloc(capacity * sizeof *watch->snapshot);
    watch->snapshot_version = watch->cluster->version;
    for (const struct stored *object = kind->head.next[0]; object; object = object->next[0])
        if (selector_matches(&watch->selector, object->blob))
            watch->snapshot[watch->snapshot_count++] = world_blob_ref(object->blob);
}

// The ERROR event that stands for an answer with an error code.
static void print_error(struct world_watch *watch, struct world_response *status) {
    open_frame(&watch->pending, "ERROR");
    buffer_append(&watch->pending, status->body, status->body_len);
    buffer_text(&watch->pending, "}\n");
    watch->ended = true;
    world_response_clear(status);
}

static bool as_http(struct world_cluster *cluster) {
    if (cluster->options.expired != WORLD_EXPIRED_BOTH)
        return cluster->options.expired == WORLD_EXPIRED_HTTP;
    cluster->expired_turn = !cluster->expired_turn;
    return cluster->expired_turn;
}

// Places the cursor. False: refused with an HTTP error.
static bool begin(struct world_watch *watch, const struct op *op, const struct route *route) {
    uint64_t version;
    bool given, initial = route_flag(route, "sendInitialEvents");
    if (!world_read_version(op, route_query(route, "resourceVersion"), &version, &given))
        return false;
    watch->initial_end = initial && watch->bookmarks;
    watch->cursor = watch->kind->last;
    watch->after = version;
    if (initial && version > op->cluster->version) {
        answer_too_large_version(op->response, version, op->cluster->version);
        print_error(watch, op->response);
        return true;
    }
    if (initial || version == 0) {
        take_snapshot(watch);
        return true;
    }
    if (version < watch->kind->compacted) {
        answer_expired(op->response, version, watch->kind->compacted, NULL);
        if (as_http(op->cluster))
            return false;
        print_error(watch, op->response);
        return true;
    }
    // Waits silently for a version in the future (cacher.go Watch).
    watch->cursor = world_history_after(watch->kind, version);
    return true;
}

static void set_deadline(struct world_watch *watch, const struct route *route) {
    const char *seconds = route_query(route, "timeoutSeconds");
    int64_t number;
    if (!seconds || !text_to_int64(seconds, &number) || number == 0 || number > 1000000)
        number = 1800 + (int64_t)random_below(&watch->cluster->random, 1800);
    watch->deadline_ns = watch->cluster->now_ns + number * CLOCK_SECOND;
    plan_bookmark(watch);
    set_timer(watch);
}

struct world_watch *world_watch_open(const struct op *op, const struct route *route, void (*notify)(void *ctx),
                                     void *ctx) {
    char message[256] = "";
    op->cluster->counts.watches++;
    if (!world_check_list_options(op, route, true))
        return NULL;
    struct world_watch *watch = world_alloc(sizeof *watch);
    *watch = (struct world_watch){.cluster = op->cluster, .kind = op->kind, .notify = notify, .ctx = ctx};
    timer_init(&watch->timer);
    buffer_init(&watch->pending, PENDING_MAX);
    watch->version = world_strdup(op->version);
    watch->bookmarks = route_flag(route, "allowWatchBookmarks");
    watch->sibling = op->kind->watches;
    op->kind->watches = watch;
    bool readable = selector_read(&watch->selector, op->kind, op->namespace_, route_query(route, "labelSelector"),
                                  route_query(route, "fieldSelector"), message);
    if (!readable)
        answer_bad_request(op->response, "%s", message);
    if (!readable || !begin(watch, op, route)) {
        world_watch_close(watch);
        return NULL;
    }
    set_deadline(watch, route);
    return watch;
}
