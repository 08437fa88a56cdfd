// SPDX-License-Identifier: Apache-2.0
// What the host says to the process of an adapter first, and the answer: the module and its kinds, or the reason why
// not. The kinds go field by field by the table of kind_fields.h.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/process/call.h"

#define HELLO_VERSION 1 // of all frames

struct start_frame {     // texts within the frame
    const char *version; // of the host
    const char *name;    // adapter_wanted.name
    const char *managed_by, *controller_name;
    struct json *settings; // with lines; owned by the reader
    struct adapter_limits limits;
};

void start_write(struct buffer *out, const struct start_frame *start);
bool start_read(struct wire *wire, struct start_frame *out);

// Everything that the host uses of the ABI's structs, in the host's own layout.
struct hello {
    struct call_log logs[CALL_LOGS]; // of `start`
    size_t n_logs, lost_logs;
    const char *version; // of the program
    // A refusal: an error with its line.
    bool refused;
    uint32_t code;
    const char *message;
    size_t line;
    bool settings; // see struct loading
    // The module, with all its texts and kinds. Functions are their presence: any pointer, or NULL.
    wharf_module module;
    const wharf_kind **kinds; // ends with NULL
    bool of_settings;         // `start` made the kinds of settings, and they are unchecked
    bool scores;              // read: whether the module has `score`
    // Sentences about what the sandbox lacks.
    const char **missing; // ends with NULL
};

void hello_write(struct buffer *out, const struct hello *hello);
// The rest after the log lines, which is the same at each start.
struct wire hello_constant(const struct buffer *frame);

// Everything in `out` but the kinds' structs and lists is within the frame. `memory` (hello_memory_free) owns these.
// NULL on garbage, with its place in `problem`; or when out of memory.
struct hello_memory;
bool hello_read(struct wire *wire, struct hello *out, struct hello_memory **memory);
void hello_memory_free(struct hello_memory *memory);

// One kind, for the tests of the table.
void hello_write_kind(struct buffer *out, const wharf_kind *kind);
