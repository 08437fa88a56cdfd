// SPDX-License-Identifier: Apache-2.0
// The parts of struct adapter_process. Internal to core/adapter/process.
#pragma once

#include "core/adapter/process/memo.h"
#include "core/adapter/process/process.h"

#include <pthread.h>
#include <stdatomic.h>

#define PROCESS_FD_MIN 10                     // descriptors that do not get in the way of the process's own
#define PROCESS_LATE_MAX 32                   // answers that wait for a second call
#define PROCESS_LATE_NS (10 * CLOCK_SECOND)   // how long
#define PROCESS_LATE_BYTES ((size_t)16 << 20) // and how much

// -- the program in its process --

struct process_child { // pid 0: none
    pid_t pid;
    int channel, watch; // `watch`: readable once the process has ended; -1: the kernel has no such descriptor
};

struct error *child_program(const char *given, int *out); // opens wharf-adapter, to be started as often as needed
struct error *child_start(int program, int file, struct process_child *out);
void child_kill(const struct process_child *child);
// Ends the process, waits for its end, and writes the reason: "signal 11 (Segmentation fault)". `grace`: it is ending
// by itself, and the reason is its own. A process with much memory takes a while.
void child_end(struct process_child *child, bool grace, char reason[CALL_TROUBLE_MAX]);

// -- answers that came too late --

struct late {
    struct late *next;
    int64_t at_ns;
    uint32_t kind, function;
    struct buffer question, answer; // `question` whole, without the time
    enum call_trouble trouble;      // the process ended during the call, and
    char broken[CALL_TROUBLE_MAX];  // why; CALL_FINE: it answered
};

struct lates {
    struct late *first; // the newest
    size_t count;
};

// The second call with the same question takes the answer; NULL: there is none.
struct late *late_find(struct lates *lates, const struct call_question *question, int64_t now_ns);
void late_keep(struct lates *lates, struct late *late); // takes it; the oldest ones go
void late_free(struct late *late);
void lates_clear(struct lates *lates);

// -- the process --

enum process_state {
    PROCESS_DOWN,     // until next_start_ns
    PROCESS_STARTING, // until its HELLO
    PROCESS_IDLE,
    PROCESS_CALLING, // the caller waits, with the lock
    PROCESS_LATE,    // nobody waits; the thread takes the answer
    PROCESS_ENDS,    // the thread waits for the end
    PROCESS_STOPS    // for good
};

struct adapter_process {
    char *name;
    struct adapter_limits limits;
    bool patient;
    int program, file;
    struct buffer start, hello; // frames
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; // of the state
    int wake;               // eventfd: the thread looks at the state
    enum process_state state;
    struct process_child child;
    struct places places;
    struct buffer in, out;
    size_t sent; // of `out`; with PROCESS_LATE, the thread sends the rest
    struct memo memo;
    struct lates lates;
    struct late *pending;  // with PROCESS_LATE and PROCESS_ENDS: its question, or NULL
    bool known;            // between process_begin and process_end: an answer of the memo is in use
    struct late *taken;    // between process_begin and process_end: a late answer in use
    int64_t since_ns;      // clock_ticks() of the state
    int64_t cpu_ns;        // with PROCESS_LATE: of the child when the call was given up
    int64_t up_ns;         // clock_ticks() of the last HELLO
    int64_t next_start_ns; // clock_ticks()
    uint64_t starts, ends;
    unsigned failures;         // ends in a row, without a long quiet time
    enum call_trouble trouble; // of the call during the last end, if there was one
    char last[CALL_TROUBLE_MAX];
    bool grace; // with PROCESS_ENDS: see child_end
    bool said;  // there was a first HELLO
    struct adapter_news news;
    atomic_bool has_news; // without the lock
};

// With the lock. The process has ended or must end; `reason` "" is that of the child itself. The thread waits for the
// end: the engine does not. The repetition of a pending call then gets the reason.
void process_fail(struct adapter_process *process, enum call_trouble trouble, bool grace, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void process_set_state(struct adapter_process *process, enum process_state state);
// CALL_FINE: the frame is an answer. Else also the reason, which may be the process's own words.
enum call_trouble process_judge(const struct buffer *frame, char reason[CALL_TROUBLE_MAX]);
// Whether the call under way has used up a limit; writes which.
bool process_over_limit(const struct adapter_process *process, int64_t now_ns, char reason[CALL_TROUBLE_MAX]);
void process_wake(struct adapter_process *process);

// The owner's thread.
void *process_thread(void *owned);
