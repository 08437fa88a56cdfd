// SPDX-License-Identifier: Apache-2.0
// The stream of changes as server-sent events.
#include "core/serve/api_internal.h"

#include "core/base/text.h"

#include <inttypes.h>

#define DATA_MAX ((size_t)16 << 20)

// One event; its id lets a reader resume.
static void put_event(struct buffer *out, uint64_t sequence, const char *event, const struct buffer *data) {
    buffer_printf(out, "id: %" PRIu64 "\nevent: %s\ndata: ", sequence, event);
    buffer_append(out, data->data, data->len);
    buffer_text(out, "\n\n");
}

// An event whose data is sent when it differs from the last one.
static struct error *put_changed(const struct api_source *source, const struct api_watch *watch, const char *event,
                                 struct error *(*put)(const struct api_source *source, struct writer *out),
                                 uint64_t *last, struct buffer *out) {
    AUTO_BUFFER(data, DATA_MAX);
    struct writer writer = {.out = &data};
    writer_object(&writer, NULL);
    struct error *error = put(source, &writer);
    if (error)
        return error;
    writer_end(&writer, '}');
    if (data.failed)
        return error_no_memory();
    uint64_t hash = text_hash(TEXT_HASH, data.data);
    if (hash != *last)
        put_event(out, watch->sequence, event, &data);
    *last = hash;
    return NULL;
}

struct error *api_watch_batch(const struct api_source *source, struct api_watch *watch, struct buffer *out) {
    struct error *error = put_changed(source, watch, "status", api_put_status, &watch->status, out);
    if (!error && out->failed)
        error = error_no_memory();
    return error;
}
