// SPDX-License-Identifier: Apache-2.0
// The exact difference of two documents: the order of members and the digits of numbers too. Its size follows the
// changes, and so does the time that it takes to apply; finding it takes one pass over both.
#pragma once

#include "core/adapter/process/channel.h"
#include "core/json/json.h"

// `from` may be NULL: then `to` goes whole. True: both are the same.
bool delta_write(struct buffer *out, const struct json *from, const struct json *to);

// Applies a difference to *value (NULL: none yet). What it replaces or drops goes to `drop`, with its key; NULL:
// json_free. `root_stays`: a difference that needs another root, not only another content, is garbage. False: garbage,
// or out of memory; *value is then any document, or NULL.
struct delta_memory {
    bool (*drop)(void *ctx, struct json *value); // takes the value; false: out of memory
    void *ctx;
};
bool delta_apply(struct wire *wire, struct json **value, bool root_stays, const struct delta_memory *memory);
