// SPDX-License-Identifier: Apache-2.0
#include "core/serve/api/api_workloads.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GONE_MAX ((size_t)1 << 20)

static void put_waiting(const struct workload_view *view, struct writer *out) {
    if (view->waiting == WAITING_NOT) {
        writer_null(out, "waiting");
        return;
    }
    writer_object(out, "waiting");
    writer_string(out, "reason", waiting_name(view->waiting));
    writer_string(out, "message", waiting_text(view->waiting));
    if (view->waiting_detail)
        writer_string(out, "detail", view->waiting_detail);
    writer_string(out, "cluster", view->waits_for);
    writer_time(out, "since", view->waiting_since_ns);
    writer_time(out, "until", view->waiting_until_ns);
    writer_end(out, '}');
}

void api_put_workload(const struct api_source *source, const struct workload_view *view, struct writer *out) {
    api_put_kind(&api_adapters_of(source)->kinds[view->kind]->abi, out);
    writer_string(out, "namespace", view->namespace_);
    writer_string(out, "name", view->name);
    writer_string(out, "uid", view->uid);
    writer_string(out, "cluster", view->cluster);
    writer_uint(out, "attempt", view->attempt);
    writer_string(out, "phase", api_phase_name(view->phase));
    writer_bool(out, "suspended", view->suspended);
    writer_bool(out, "deleting", view->being_deleted);
    writer_time(out, "placedAt", view->placed_ns);
    writer_time(out, "changedAt", view->changed_ns);
    put_waiting(view, out);
}

static bool is_wanted(const struct listing *listing, const struct workload_view *view) {
    return (!listing->kind || api_adapters_of(listing->source)->kinds[view->kind] == listing->kind) &&
           (!listing->namespace_ || strcmp(listing->namespace_, view->namespace_) == 0) &&
           (!listing->name || strcmp(listing->name, view->name) == 0) &&
           (!listing->cluster || text_equal(listing->cluster, view->cluster ? view->cluster : "")) &&
           (!listing->phase || strcasecmp(listing->phase, api_phase_name(view->phase)) == 0);
}

static uint64_t hash_of(const struct workload_view *view) {
    return text_hash(text_hash(TEXT_HASH + view->kind, view->namespace_), view->name);
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
    uint64_t hash = hash_of(view);
    if (!is_wanted(listing, view) || is_repeated(listing, view, hash))
        return true;
    if (!array_reserve(&listing->seen, &listing->cap_seen, listing->count + 1, sizeof *listing->seen)) {
        listing->out_of_memory = true;
        return false;
    }
    listing->seen[listing->count++] = hash;
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
    writer_object(&out, NULL);
    writer_string(&out, "kind", k->abi.kind);
    writer_string(&out, "group", k->abi.group);
    writer_string(&out, "namespace", namespace_);
    writer_string(&out, "name", name);
    writer_end(&out, '}');
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

struct error *listing_run(struct listing *listing) {
    buffer_init(&listing->gone, GONE_MAX);
    struct error *error = NULL;
    do
        error = listing->source->query(listing->source->ctx, run_slice, listing);
    while (!error && listing->more && !listing->out_of_memory && !listing->out->out->failed &&
           (listing->limit == 0 || listing->count < listing->limit));
    if (!error && (listing->out_of_memory || listing->gone.failed))
        error = error_no_memory();
    return error;
}

void listing_clear(struct listing *listing) {
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
    struct error *error = kind ? api_find_kind(call->source, kind, &listing->kind) : NULL;
    if (!error && limit)
        error = read_number("limit", limit, 100000, &number);
    listing->limit = (size_t)number;
    if (!error && since) {
        error = read_number("since", since, INT64_MAX, &listing->after);
        listing->changes = true;
    }
    if (!error && more && *more && (since || !read_continue(more, listing)))
        error = error_new(ERROR_INVALID, since ? "continue and since cannot be given together"
                                               : "continue: expected the value of the answer before");
    return error;
}

void listing_put_end(const struct listing *listing, struct writer *out) {
    writer_array(out, "gone");
    if (listing->gone.len > 0)
        buffer_append(out->out, listing->gone.data, listing->gone.len);
    writer_end(out, ']');
    writer_uint(out, "sequence", listing->start);
}

struct error *api_workloads(struct api_call *call) {
    struct listing listing = {.source = call->source, .out = &call->out};
    struct error *error = read_parameters(call, &listing);
    writer_array(&call->out, "items");
    if (!error)
        error = listing_run(&listing);
    writer_end(&call->out, ']');
    call->expired = !error && listing.expired;
    if (call->expired)
        error = error_new(ERROR_INVALID,
                          "not all changes since then are known any more: list without since, and go on from there");
    listing_put_end(&listing, &call->out);
    char more[48] = "";
    if (listing.more)
        snprintf(more, sizeof more, "%" PRIu64 ".%" PRIu64, listing.start, listing.after);
    writer_string(&call->out, "continue", more);
    listing_clear(&listing);
    return error;
}
