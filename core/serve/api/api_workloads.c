// SPDX-License-Identifier: Apache-2.0
// Workloads as JSON: all, the changed ones, or one; and the stream of changes as server-sent events.
#include "core/serve/api/api_internal.h"

#include <inttypes.h>
#include <strings.h>

#define WORKLOADS_SLICE ((size_t)500) // visited in one turn of the engine
#define GONE_MAX ((size_t)1 << 20)
#define DATA_MAX ((size_t)8 << 20)
#define BATCH_MAX ((size_t)5000) // workloads; the rest comes with the next batch

struct listing { // a query and the progress
    const struct api_source *source;
    struct writer *out;
    // Filters; NULL: any.
    const struct kind *kind;
    const char *namespace_, *name, *cluster, *phase;
    bool changes;   // only workloads that changed, or went, after `after`
    size_t limit;   // of items; 0: none
    uint64_t after; // the last sequence visited
    uint64_t start; // the last one when the listing began; 0: not yet
    // Results.
    bool more;          // there may be more after `after`
    bool expired;       // `changes`: not all changes are known any more
    size_t count;       // items written
    struct buffer gone; // items of `gone`, with a maximum
    uint64_t *seen;     // hashes of the written ones, so that a workload that changes meanwhile is written once
};

static void put_waiting(const struct workload_view *view, struct writer *out) {
    if (view->waiting == WAITING_NOT) {
        writer_null(out, "waiting");
        return;
    }
    writer_object(out, "waiting");
    api_put(out, "reason=%s message=%s", waiting_name(view->waiting), waiting_text(view->waiting));
    if (view->waiting_detail)
        writer_string(out, "detail", view->waiting_detail);
    api_put(out, "cluster=%s since=%jd until=%jd", view->waits_for, view->waiting_since_ns, view->waiting_until_ns);
    writer_end(out, '}');
}

void api_put_workload(const struct api_source *source, const struct workload_view *view, struct writer *out) {
    api_put_kind(&api_adapters_of(source)->kinds[view->kind]->abi, out);
    api_put(out,
            "namespace=%s name=%s uid=%s cluster=%s attempt=%u phase=%s suspended=%d deleting=%d placedAt=%jd "
            "changedAt=%jd",
            view->namespace_, view->name, view->uid, view->cluster, view->attempt, api_phase_name(view->phase),
            view->suspended, view->being_deleted, view->placed_ns, view->changed_ns);
    put_waiting(view, out);
}

static bool is_wanted(const struct listing *listing, const struct workload_view *view) {
    return (!listing->kind || api_adapters_of(listing->source)->kinds[view->kind] == listing->kind) &&
           (!listing->namespace_ || strcmp(listing->namespace_, view->namespace_) == 0) &&
           (!listing->name || strcmp(listing->name, view->name) == 0) &&
           (!listing->cluster || text_equal(listing->cluster, view->cluster ? view->cluster : "")) &&
           (!listing->phase || strcasecmp(listing->phase, api_phase_name(view->phase)) == 0);
}

// One that changed after the listing began may have been written already.
static bool is_repeated(const struct listing *listing, const struct workload_view *view, uint64_t hash) {
    for (size_t i = 0; view->sequence > listing->start && i < listing->count; i++)
        if (listing->seen[i] == hash)
            return true;
    return false;
}

static bool list_workload(void *ctx, const struct workload_view *view) {
    struct listing *listing = ctx;
    uint64_t hash = text_hash(text_hash(TEXT_HASH + view->kind, view->namespace_), view->name);
    if (!is_wanted(listing, view) || is_repeated(listing, view, hash))
        return true;
    uint64_t *seen = array_next(&listing->seen, listing->count, sizeof *seen);
    if (!seen) {
        listing->out->out->failed = true;
        return false;
    }
    *seen = hash;
    listing->count++;
    writer_object(listing->out, NULL);
    api_put_workload(listing->source, view, listing->out);
    writer_end(listing->out, '}');
    return listing->limit == 0 || listing->count < listing->limit;
}

static void see_gone(void *ctx, size_t kind, const char *namespace_, const char *name) {
    struct listing *listing = ctx;
    const struct kind *k = api_adapters_of(listing->source)->kinds[kind];
    if ((listing->kind && listing->kind != k) || (listing->namespace_ && strcmp(listing->namespace_, namespace_) != 0))
        return;
    struct writer out = {.out = &listing->gone, .comma = listing->gone.len > 0};
    api_put_object(&out, NULL, "kind=%s group=%s namespace=%s name=%s", k->abi.kind, k->abi.group, namespace_, name);
}

// On the engine's thread.
static void run_slice(void *arg, struct engine *engine, struct moment now) {
    struct listing *listing = arg;
    if (listing->start == 0) {
        listing->start = inspect_sequence(engine);
        listing->expired = listing->changes && !inspect_knows_since(engine, listing->after);
        if (listing->changes && !listing->expired)
            inspect_gone(engine, listing->after, see_gone, listing);
    }
    listing->more =
        !listing->expired && inspect_changes(engine, now, &listing->after, WORKLOADS_SLICE, list_workload, listing);
}

// Appends items to the open array of `out`.
static struct error *run_listing(struct listing *listing) {
    buffer_init(&listing->gone, GONE_MAX);
    do
        TRY(listing->source->query(listing->source->ctx, run_slice, listing));
    while (listing->more && !listing->out->out->failed && (listing->limit == 0 || listing->count < listing->limit));
    return listing->gone.failed ? error_no_memory() : NULL;
}

static void clear_listing(struct listing *listing) {
    buffer_free(&listing->gone);
    free(listing->seen);
    listing->seen = NULL;
}

// "START.AFTER", as written below.
static bool read_continue(const char *text, struct listing *listing) {
    char *end = NULL;
    if (*text < '0' || *text > '9')
        return false;
    listing->start = strtoull(text, &end, 10);
    if (*end != '.' || end[1] < '0' || end[1] > '9')
        return false;
    listing->after = strtoull(end + 1, &end, 10);
    return *end == '\0' && listing->start > 0;
}

static struct error *read_number(const char *name, const char *text, uint64_t max, uint64_t *out) {
    int64_t number = 0;
    if (!text_to_int64(text, &number) || number < 0 || (uint64_t)number > max)
        return error_new(ERROR_INVALID, "%s: found \"%.40s\", expected a number of 0 to %" PRIu64, name, text, max);
    *out = (uint64_t)number;
    return NULL;
}

static struct error *read_parameters(const struct api_call *call, struct listing *listing) {
    const char *kind = api_parameter(call, "kind"), *limit = api_parameter(call, "limit");
    const char *since = api_parameter(call, "since"), *more = api_parameter(call, "continue");
    uint64_t number = 0;
    listing->namespace_ = api_parameter(call, "namespace");
    listing->name = api_parameter(call, "name");
    listing->cluster = api_parameter(call, "cluster");
    listing->phase = api_parameter(call, "phase");
    if (kind)
        TRY(api_find_kind(call->source, kind, &listing->kind));
    if (limit)
        TRY(read_number("limit", limit, 100000, &number));
    listing->limit = (size_t)number;
    listing->changes = since;
    if (since)
        TRY(read_number("since", since, INT64_MAX, &listing->after));
    if (more && *more && (since || !read_continue(more, listing)))
        return error_new(ERROR_INVALID, since ? "continue and since cannot be given together"
                                              : "continue: expected the value of the answer before");
    return NULL;
}

static void put_end(const struct listing *listing) {
    api_put_items(listing->out, "gone", &listing->gone);
    writer_uint(listing->out, "sequence", listing->start);
}

struct error *api_workloads(struct api_call *call) {
    __attribute__((cleanup(clear_listing))) struct listing listing = {.source = call->source, .out = &call->out};
    TRY(read_parameters(call, &listing));
    writer_array(&call->out, "items");
    TRY(run_listing(&listing));
    writer_end(&call->out, ']');
    call->expired = listing.expired;
    if (call->expired)
        return error_new(ERROR_INVALID,
                         "not all changes since then are known any more: list without since, and go on from there");
    put_end(&listing);
    char more[48] = "";
    if (listing.more)
        snprintf(more, sizeof more, "%" PRIu64 ".%" PRIu64, listing.start, listing.after);
    writer_string(&call->out, "continue", more);
    return NULL;
}

// One event; the id lets a reader resume.
static void put_event(struct buffer *out, uint64_t sequence, const char *event, const struct buffer *data) {
    buffer_printf(out, "id: %" PRIu64 "\nevent: %s\ndata: ", sequence, event);
    buffer_append(out, data->data, data->len);
    buffer_text(out, "\n\n");
}

// An event that is sent when the data differs from the last event.
static struct error *put_changed(const struct api_source *source, const struct api_watch *watch, const char *event,
                                 api_show *show, uint64_t *last, struct buffer *out) {
    AUTO_BUFFER(data, DATA_MAX);
    struct writer writer = {.out = &data};
    writer_object(&writer, NULL);
    TRY(api_put_snapshot(source, show, &writer));
    writer_end(&writer, '}');
    if (data.failed)
        return error_no_memory();
    uint64_t hash = text_hash(TEXT_HASH, data.data);
    if (hash != *last)
        put_event(out, watch->sequence, event, &data);
    *last = hash;
    return NULL;
}

// The workloads that changed, and those that are gone; all of them, marked as full, for a reader that has none yet or
// missed something.
static struct error *put_workloads(const struct api_source *source, struct api_watch *watch, struct buffer *out) {
    AUTO_BUFFER(data, DATA_MAX);
    struct writer writer = {.out = &data};
    __attribute__((cleanup(clear_listing))) struct listing listing = {
        .source = source, .out = &writer, .changes = true, .after = watch->sequence, .limit = BATCH_MAX};
    writer_object(&writer, NULL);
    writer_array(&writer, "items");
    TRY(run_listing(&listing));
    bool full = listing.expired;
    if (full) {
        clear_listing(&listing);
        listing = (struct listing){.source = source, .out = &writer, .limit = BATCH_MAX};
        TRY(run_listing(&listing));
    }
    writer_end(&writer, ']');
    // The listing may have passed over later changes; workloads that did not fit come with the next batch.
    if (listing.more && listing.after < listing.start)
        listing.start = listing.after;
    writer_bool(&writer, "full", full);
    put_end(&listing);
    writer_end(&writer, '}');
    if (data.failed)
        return error_no_memory();
    watch->sequence = listing.start;
    if (full || listing.count > 0 || listing.gone.len > 0)
        put_event(out, watch->sequence, "workloads", &data);
    return NULL;
}

struct error *api_watch_batch(const struct api_source *source, struct api_watch *watch, struct buffer *out) {
    TRY(put_workloads(source, watch, out));
    TRY(put_changed(source, watch, "workers", api_show_workers, &watch->workers, out));
    TRY(put_changed(source, watch, "status", api_show_status, &watch->status, out));
    return out->failed ? error_no_memory() : NULL;
}
