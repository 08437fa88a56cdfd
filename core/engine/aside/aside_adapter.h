// SPDX-License-Identifier: Apache-2.0
// For the files of this folder: the state of an adapter, and of a workload without a result.
#pragma once

#include "core/engine/aside/aside.h"
#include "core/engine/engine_internal.h"

// Of a workload, from the first call without a result.
struct aside {
    struct entry *entry;
    struct aside_adapter *in; // with the list of this adapter; NULL: none
    struct aside *next, *previous;
    uint64_t workload, mirror; // the objects of the broken call, see aside_version; 0: the call had none
    int64_t retry_ns;          // no call about these objects before
    struct throttle broken;    // of all objects: no call before at_ns
    uint32_t failures;         // in a row
    bool waits;                // the last call had no result
    bool set;                  // set aside: the last result is missing because a call broke
    bool told;                 // with an Event
    char *text;                // of the last broken call, owned; or NULL
};

#define ASIDE_FAILURES 3 // so many workloads within a minute, and the adapter's kinds pause

enum aside_state {
    ASIDE_OPEN,
    ASIDE_BUSY,   // no calls before until_ns
    ASIDE_PAUSED, // the same
    ASIDE_TRIAL   // calls for one entry
};

// Of an adapter, from the first call without a result.
struct aside_adapter {
    struct aside_adapter *next;
    const struct kind *kind;    // one of the adapter's
    struct aside *first, *last; // workloads that wait
    struct throttle orphans;    // failures for mirrors without a workload: no calls for such before at_ns
    enum aside_state state;
    int64_t until_ns;          // BUSY, PAUSED, and TRIAL before the trial
    const struct entry *trial; // TRIAL: NULL: not chosen
    bool ran;                  // the trial
    uint32_t waits;            // calls that found the process busy, in a row
    uint32_t batch;            // of waiting workloads that the next turn tries
    uint32_t pauses;           // in a row
    struct {
        uint64_t uid; // hash
        int64_t at_ns;
    } failed[ASIDE_FAILURES];    // the last different workloads
    char text[CALL_TROUBLE_MAX]; // of the last failure
    bool failed_to_load;
};

#define ASIDE_MARK_TEXTS 4
struct aside_mark { // see aside_mark(); the texts are in the same block
    const char *kind, *object, *uid, *text;
};

// NULL: without `make`, no call of the adapter was without a result; with `make`, out of memory.
struct aside_adapter *aside_adapter_of(struct engine *engine, const struct kind *kind, bool make);
const char *aside_adapter_name(const struct aside_adapter *adapter);
bool aside_adapter_is_closed(const struct engine *engine, const struct aside_adapter *adapter,
                             const struct entry *entry);
// The workload waits for the adapter: `next` is before all others.
void aside_adapter_add(struct aside_adapter *adapter, struct aside *aside, bool next);
void aside_adapter_remove(struct aside *aside);
void aside_adapter_busy(const struct engine *engine, struct aside_adapter *adapter, int64_t retry_ns);
// The adapter failed for the workload (0: for a mirror without one).
void aside_adapter_failed(struct engine *engine, struct aside_adapter *adapter, uint64_t uid, const char *text);
void aside_adapter_began(const struct engine *engine, const struct entry *entry); // to reconcile the entry
void aside_adapters_retry(struct engine *engine);                                 // pauses end
void aside_adapters_count(struct engine *engine);                                 // in the statistics
void aside_adapters_tick(struct engine *engine);
void aside_adapters_step_ends(struct engine *engine);
int64_t aside_adapters_due_ns(struct engine *engine);
void aside_adapters_forget(const struct engine *engine, const struct entry *entry);
