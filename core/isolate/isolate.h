// SPDX-License-Identifier: Apache-2.0
// The work of wharf-adapter: load.c up to the answer to START, serve.c the calls.
#pragma once

#include "core/adapter/load/adapter_module.h"
#include "core/adapter/process/call.h"

struct isolate {
    int channel;
    struct buffer in, out;
    struct adapter_limits limits;
    struct adapter adapter; // its kinds
    struct json *settings;
    struct json *places[CALL_PLACES];
    struct isolate_logs { // of the present call
        struct call_log list[CALL_LOGS];
        size_t count, lost, bytes;
    } logs;
};

// Reads START, loads the adapter and answers. False: it was refused, or the host is gone.
bool isolate_load(struct isolate *isolate);
// Answers one call. False: the host is gone.
bool isolate_serve(struct isolate *isolate);
void isolate_free(struct isolate *isolate);

// The services for the adapter: log lines go to `logs`, and reads are noted (watch.c).
void isolate_replace_services(struct isolate_logs *logs);
void isolate_clear_logs(struct isolate_logs *logs);

// Notes what services read of these documents (NULL: none) for a function of a kind.
void isolate_watch(uint32_t kind, uint32_t function, const struct json *const roots[CALL_WATCHED]);
// What was read for the first time by this function of the kind.
void isolate_tell_reads(struct call_answer *answer);
void isolate_watch_reads(wharf_host *table);

// Says why the process ends, and ends it. `as`: FRAME_LAST_WORDS or FRAME_LIMIT.
_Noreturn void isolate_die(struct isolate *isolate, enum frame_type as, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
