// SPDX-License-Identifier: Apache-2.0
// The stream of changes as server-sent events.
#include "core/serve/api/api_workloads.h"

#include "core/base/text.h"

#include <inttypes.h>

#define DATA_MAX ((size_t)8 << 20)
#define BATCH_MAX ((size_t)5000) // workloads; the rest comes with the next batch

// One event; the id lets a reader resume.
static void put_event(struct buffer *out, uint64_t sequence, const char *event, const struct buffer *data) {
    buffer_printf(out, "id: %" PRIu64 "\nevent: %s\ndata: ", sequence, event);
    buffer_append(out, data->data, data->len);
    buffer_text(out, "\n\n");
}

// An event that is sent when the data differs from the last event.
static struct error *put_changed(const struct api_source *source, const struct api_watch *watch, const char *event,
                                 struct error *(*put)(const struct api_source *source, struct writer *out),
                                 uint64_t *last, struct buffer *out) {
    AUTO_BUFFER(data, DATA_MAX);
    struct writer writer = {.out = &data};
    writer_object(&writer, NULL);
    TRY(put(source, &writer));
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
    struct listing listing = {
        .source = source, .out = &writer, .changes = true, .after = watch->sequence, .limit = BATCH_MAX};
    writer_object(&writer, NULL);
    writer_array(&writer, "items");
    struct error *error = listing_run(&listing);
    bool full = listing.expired;
    if (!error && full) {
        listing_clear(&listing);
        listing = (struct listing){.source = source, .out = &writer, .limit = BATCH_MAX};
        error = listing_run(&listing);
    }
    writer_end(&writer, ']');
    // The listing may have passed over later changes; workloads that did not fit come with the next batch.
    if (listing.more && listing.after < listing.start)
        listing.start = listing.after;
    writer_bool(&writer, "full", full);
    listing_put_end(&listing, &writer);
    writer_end(&writer, '}');
    if (!error && data.failed)
        error = error_no_memory();
    if (!error) {
        watch->sequence = listing.start;
        if (full || listing.count > 0 || listing.gone.len > 0)
            put_event(out, watch->sequence, "workloads", &data);
    }
    listing_clear(&listing);
    return error;
}

struct error *api_watch_batch(const struct api_source *source, struct api_watch *watch, struct buffer *out) {
    TRY(put_workloads(source, watch, out));
    TRY(put_changed(source, watch, "workers", api_put_workers, &watch->workers, out));
    TRY(put_changed(source, watch, "status", api_put_status, &watch->status, out));
    return out->failed ? error_no_memory() : NULL;
}
