// SPDX-License-Identifier: Apache-2.0
// The process of an isolated adapter: the program `wharf-adapter` with one adapter in it, at the other end of a
// channel. A thread of the host owns it: starts it, again with growing delays after it has ended, ends it when a call
// takes too long, and takes answers that came too late for their call. A call runs on the caller's thread, one at a
// time.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"

#include <sys/types.h>

#define PROCESS_CPU_NS (100 * CLOCK_MS)          // of one call, unless configured
#define PROCESS_MEMORY ((size_t)256 << 20)       // the same, on top of what the program needs
#define PROCESS_ANSWER ((size_t)8 << 20)         // the same, of one call
#define PROCESS_WALL_NS (1 * CLOCK_SECOND)       // of one call
#define PROCESS_STARVES_NS (10 * CLOCK_SECOND)   // the same while the process waits for a core, and for nothing else
#define PROCESS_LOAD_NS (10 * CLOCK_SECOND)      // until the adapter is loaded
#define PROCESS_LOAD_CPU_NS (1 * CLOCK_SECOND)   // the same, of processor time
#define PROCESS_WAIT_NS (5 * CLOCK_MS)           // how long a call of the engine waits for its answer
#define PROCESS_DELAY_MAX_NS (60 * CLOCK_SECOND) // between two starts

enum adapter_run {
    ADAPTER_RUNS,   // calls are answered
    ADAPTER_STARTS, // loads the adapter
    ADAPTER_WAITS   // for its next start
};

struct adapter_state {
    bool isolated;
    enum adapter_run state;
    uint64_t starts, ends;       // an end that the host did not wish for
    pid_t pid;                   // 0: none
    size_t memory;               // resident bytes; 0: unknown
    char last[CALL_TROUBLE_MAX]; // the reason of the last end; "": none
    int64_t next_start_ns;       // with ADAPTER_WAITS: CLOCK_BOOTTIME
};

// The state of the process of an adapter. False, with zeros, for an adapter within the host. From any thread.
bool adapter_process_state(const struct adapter *adapter, struct adapter_state *out);

// What the engine does not know yet, since the last call. False: nothing. For one thread.
struct adapter_news {
    bool ready;                    // calls may be answered that were not
    char failed[CALL_TROUBLE_MAX]; // it ended while it loaded the adapter again, for this reason; "": it did not
};
bool adapter_process_news(const struct adapter *adapter, struct adapter_news *out);

// Called, from a thread of its own, whenever a process can answer again that could not: its answer came after the call
// had stopped to wait, or it has started. For the engine's thread: inbox_poke. NULL: nobody. One for all adapters.
void adapter_process_on_ready(void (*ready)(void *ctx), void *ctx);

struct process_options {
    const char *name;    // of the adapter, for the thread and the log
    const char *program; // path of wharf-adapter; NULL: the installed one
    int file;            // with the adapter's checked content; duplicated
    struct adapter_limits limits;
    bool patient;      // calls wait up to PROCESS_WALL_NS
    const void *start; // the frame that begins the program's work, see hello.h
    size_t start_len;
};

struct adapter_process;

// Starts the process, and waits until it has said what it has loaded: *hello, which lives as long as the process. Later
// starts must say the same.
struct error *process_new(const struct process_options *options, struct adapter_process **out, const void **hello,
                          size_t *hello_len);
void process_free(struct adapter_process *process); // ends it; NULL is allowed

// One call, for the code behind a function of a kind. CALL_FINE: `answer` is valid until process_end. Else `text` has
// the reason (CALL_TROUBLE_MAX), and there is no process_end; with CALL_WAITS the next call may be answered after
// `wait_ms`.
struct call_question;
struct wire;
enum call_trouble process_begin(struct adapter_process *process, const struct call_question *question,
                                struct wire *answer, char *text, uint32_t *wait_ms);
// `garbage`: what was wrong with the answer, which ends the process; NULL: nothing.
void process_end(struct adapter_process *process, const char *garbage);
