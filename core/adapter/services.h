// SPDX-License-Identifier: Apache-2.0
// The host's side of the adapter ABI: the table of services (struct wharf_host), and calls into an adapter with the
// memory that lives until one returns. Calls may run concurrently on different threads, each with its own values. A
// wharf_value is a struct json.
#pragma once

#include "core/base/clock.h"
#include "core/json/json.h"

#include <wharf/adapter.h>

// The reason why a call of an existing function has no result. The result is then WHARF_RETRY.
enum call_trouble {
    CALL_FINE,
    CALL_WAITS, // the adapter's process starts, or is busy with an earlier call
    CALL_ASIDE, // not called: the caller has set the objects aside
    // From here on with a text.
    CALL_BROKEN, // the adapter's process ended during the call
    CALL_LIMIT,  // the same, at a limit
    CALL_INVALID // the answer broke a rule of the ABI
};

#define CALL_TROUBLE_MAX 160

enum adapter_function {
    FUNCTION_PHASE,
    FUNCTION_ACCEPT,
    FUNCTION_MIRROR,
    FUNCTION_UPDATE,
    FUNCTION_STATUS,
    FUNCTION_POD_SETS,
    FUNCTION_DEPENDENCIES,
    FUNCTION_PROGRESS,
    FUNCTION_CHILD_PROGRESS,
    FUNCTION_SCORE, // of a module, not of a kind
    ADAPTER_FUNCTIONS
};

struct adapter;

// The function `score` of an adapter.
struct scorer {
    wharf_result (*score)(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                          const wharf_value *workers, wharf_value *scores); // NULL: the adapter rates no workers
    const char *name;                                                       // of the adapter
    const struct adapter *owner;                                            // of which this is a member; NULL in tests
    bool every_kind; // asked for all kinds, and not only for those of the owner
};

// One call into an adapter: begin, call, end. The end frees all values that the adapter created, replaced or removed,
// and the texts of the answer.
struct adapter_call {
    wharf_call call;
    wharf_answer answer;
    const wharf_kind *kind; // the kind with the functions; complete, unlike call.kind, which may be an older struct
    char now[CLOCK_RFC3339_MAX];
    const char *adapter;         // name, for log lines; or NULL
    const char *object;          // "namespace/name", for log lines; or NULL
    const struct scorer *scorer; // of adapter_score, or NULL
    const struct json *workload; // of the call, or NULL; the conditions already have times
    const struct json *mirror;   // of the last function, or NULL
    wharf_result failure;        // of the first service that failed; WHARF_OK: none
    const char *failed;          // with WHARF_REFUSED: the message
    int64_t (*ticks)(void);      // NULL: calls are not measured
    struct call_time *times;
    bool part_given;                     // for change: its depth in the whole value is unknown
    enum adapter_function function;      // the last one
    enum call_trouble trouble;           // of the last function
    char trouble_text[CALL_TROUBLE_MAX]; // "signal 11 (Segmentation fault)"
    bool aside;
    void (*troubled)(struct adapter_call *call, void *ctx);
    void *troubled_ctx;
    struct json **values;
    size_t n_values, cap_values;
    char **texts;
    size_t n_texts, cap_texts;
};

// One invocation of a function of an adapter; members that the function has no argument for are NULL.
struct adapter_invocation {
    enum adapter_function function;
    const wharf_call *call;
    const wharf_value *workload, *mirror; // `workload` is the object of FUNCTION_PHASE
    wharf_value *changed;                 // the value that the function may change
    wharf_phase *phase;
};

const char *adapter_function_name(enum adapter_function function);        // "pod_sets"
bool adapter_has(const wharf_kind *kind, enum adapter_function function); // not for FUNCTION_SCORE
// Calls the function, which must exist, without the rules of the ABI.
wharf_result adapter_invoke(const wharf_kind *kind, const struct adapter_invocation *invocation);

struct call_time { // spent in a function of an adapter
    uint64_t count;
    int64_t sum_ns;
};

// The current second as text, cached between calls.
struct call_clock {
    int64_t second;
    char text[CLOCK_RFC3339_MAX];
    int64_t (*ticks)(void); // measures calls; NULL: no measurement
};

struct call_context {
    const wharf_kind *kind;
    const wharf_kind *given; // the adapter's own struct (struct kind.given); NULL: `kind`
    const char *adapter;     // name, for log lines; or NULL
    struct moment now;
    const char *cluster; // or NULL
    uint32_t attempt;
    const char *version;
    const char *object; // "namespace/name"
    wharf_mirror_state mirror_state;
    bool aside; // make each function fail with CALL_ASIDE, without a call
    // Called after each function with a trouble, on the thread of the call; NULL: none.
    void (*troubled)(struct adapter_call *call, void *ctx);
    void *troubled_ctx;
    struct call_clock *clock; // NULL: none
    struct call_time *times;  // [ADAPTER_FUNCTIONS], measured with clock->ticks; may be NULL
};

const wharf_host *services_table(void);

// The table that services_table returns from now on, for a tool that records the reads of an adapter; NULL: the host's.
void services_replace(const wharf_host *table);

// Around `start` of an adapter: from services_loading(name) on, services accept a NULL call on this thread, for values
// that live as long as the process; after services_loading(NULL), and on other threads, services reject a NULL call, so
// that an incorrect adapter cannot leak. Before the first services_loading, a NULL call is fine.
void services_loading(const char *adapter);

// The error of the first service that failed since services_loading(name); NULL if none did.
struct error *services_loading_failed(void);

// Takes a value and keeps the memory until the process ends (settings of an adapter). False and freed when out of
// memory.
bool services_keep(struct json *value);

void adapter_call_begin(struct adapter_call *call, const struct call_context *context);
void adapter_call_end(struct adapter_call *call);
#define AUTO_CALL __attribute__((cleanup(adapter_call_end))) struct adapter_call

// For the code behind a function of a kind that is not in this process: the call of `call` has no result.
void call_set_trouble(const wharf_call *call, enum call_trouble trouble, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The results of the functions of `kind`, with the rules of the ABI applied (defaults for functions that are NULL,
// unknown values, sizes; an unknown result is WHARF_RETRY; a service that failed determines the result and the answer).
// The caller has begun `call` and may use one call for several functions; each clears answer and failure first.
// adapter_phase fills `out` in any case: WHARF_ACTIVE if not WHARF_OK.
wharf_result adapter_phase(struct adapter_call *call, const struct json *object, wharf_phase *out);
wharf_result adapter_accept(struct adapter_call *call, const struct json *workload);
wharf_result adapter_mirror(struct adapter_call *call, const struct json *workload, struct json *mirror);
wharf_result adapter_update(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                            struct json *desired);
wharf_result adapter_status(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                            struct json *object);
// `sets` is an array with the pods of the kind's data; called by core/adapter/pods.h.
wharf_result adapter_pod_sets(struct adapter_call *call, const struct json *workload, struct json *sets);
// `list` is an array with the references of the kind's data; called by core/adapter/references.h.
wharf_result adapter_dependencies(struct adapter_call *call, const struct json *workload, struct json *list);
// `object` is empty; called by core/engine/continuity/.
wharf_result adapter_progress(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                              struct json *object);
wharf_result adapter_child_progress(struct adapter_call *call, const struct json *former, const struct json *child,
                                    struct json *object);
// Of the scorer's adapter, in a call that was begun for the workload's kind and is only for this: the adapter gets its
// own kinds only, and a trouble sets nothing aside. `scores` is an empty object. WHARF_REFUSED also if the function put
// anything but integers from 0 to SCORE_MAX for names of `workers` into it.
#define SCORE_MAX 100
wharf_result adapter_score(struct adapter_call *call, const struct scorer *scorer, const struct json *workload,
                           const struct json *pod_sets, const struct json *workers, struct json *scores);

// Whether a text can be the reason of an Event: a CamelCase word of at most 128 bytes.
bool adapter_is_reason(const char *text);

// The answer of the last function in the form of an Event: the reason if adapter_is_reason,
// else `fallback`; the message if it is UTF-8, truncated to 1,024 bytes (Event.note), else `fallback`. Both live until
// the end of the call or as long as `fallback`.
const char *adapter_answer_reason(const struct adapter_call *call, const char *fallback);
const char *adapter_answer_message(struct adapter_call *call, const char *fallback);
