// SPDX-License-Identifier: Apache-2.0
// A kind on the wire, by the table of kind_fields.h. Internal to core/adapter/process.
#pragma once

#include "core/adapter/process/hello.h"

struct hello_memory *hello_memory_new(void); // NULL when out of memory
// Zeroed; NULL, and `wire` failed, when out of memory.
void *hello_memory_take(struct hello_memory *memory, struct wire *wire, size_t count, size_t size);

void hello_write_texts(struct buffer *out, const char *const *list);
const char **hello_read_texts(struct wire *wire, struct hello_memory *memory);
void hello_read_kind(struct wire *wire, struct hello_memory *memory, wharf_kind *out);
