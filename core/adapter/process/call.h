// SPDX-License-Identifier: Apache-2.0
// The frames of a call. A document that was parsed once goes once: the host names a place for it in the process, and
// later calls send the number of the place. The value that a function may change goes as its difference from a document
// of the call, and comes back as what the function changed.
#pragma once

#include "core/adapter/process/channel.h"
#include "core/adapter/process/delta.h"
#include "core/adapter/services.h"

#define CALL_DOCUMENTS 3                    // of one call
#define CALL_PLACES 256                     // for documents, in a process
#define CALL_PLACES_BYTES ((size_t)8 << 20) // of their texts
#define CALL_NO_KIND UINT32_MAX             // of FUNCTION_SCORE, for a kind of another adapter
#define CALL_LOGS 32                        // log lines of one call; more are counted

// What the functions of a kind have read so far of a document: the pointers that they asked for.
#define CALL_WATCHED 2 // the documents that count; the third is read as a whole
#define CALL_POINTERS 32
#define CALL_POINTER_MAX 128
struct call_reads {
    bool all; // also other values, the list of members, or too many pointers
    size_t count;
    const char *pointers[CALL_POINTERS];
};

// What the process keeps, as the host knows it.
struct places {
    struct place {
        uint64_t serial; // 0: empty
        uint64_t used;
        size_t bytes;
    } list[CALL_PLACES];
    uint64_t clock;
    size_t bytes;
};

struct call_question {
    uint32_t kind; // index, or CALL_NO_KIND; of FUNCTION_... in `function`
    uint32_t function;
    const wharf_call *call;
    const struct json *documents[CALL_DOCUMENTS]; // the arguments that the function only reads, in their order; or NULL
    const struct json *changed;                   // the one that it may change; or NULL
    const struct json *base;                      // one of the documents that `changed` resembles; or NULL
    const wharf_phase *phase;                     // of FUNCTION_PHASE, by the data of the kind; or NULL
};

// `places` NULL: whole, and without the time: two calls with the same bytes have the same answer.
void call_write(struct buffer *out, const struct call_question *question, struct places *places);

// The question in the process, whose `documents` are those in its places, or `own`.
struct call_received {
    uint32_t kind, function;
    struct call_context context; // texts within the frame
    const struct json *documents[CALL_DOCUMENTS];
    struct json *own[CALL_DOCUMENTS];
    struct json *changed; // owned
};
bool call_read(struct wire *wire, struct json *places[CALL_PLACES], struct call_received *out);
void call_received_free(struct call_received *received);

// Log lines, of a call or of `start`.
struct call_log {
    uint32_t level;
    const char *message;
};
void call_write_logs(struct buffer *out, const struct call_log *logs, size_t count, size_t lost);
bool call_read_logs(struct wire *wire, struct call_log logs[CALL_LOGS], size_t *count, size_t *lost);

// The answer.

struct call_answer {
    wharf_result result;
    const char *reason, *message;
    uint32_t retry_after_ms;
    wharf_phase phase; // zero but for FUNCTION_PHASE
    uint32_t kind, function;
    struct call_reads reads[CALL_WATCHED]; // only those that no earlier answer of the process told
    struct call_log logs[CALL_LOGS];
    size_t n_logs, lost_logs;
    struct wire delta; // of `changed`; read with delta_apply
};
// Writes all but the difference, which the caller appends if the call has a `changed`.
void call_write_answer(struct buffer *out, const struct call_answer *answer);
bool call_read_answer(struct wire *wire, struct call_answer *out); // texts within the frame
