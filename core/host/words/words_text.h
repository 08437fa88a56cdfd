// SPDX-License-Identifier: Apache-2.0
// The last words of one attempt as text: what a ConfigMap has of them, and changes of a ConfigMap. No I/O.
#pragma once

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/host/check/rights.h"
#include "core/host/pods/pods.h"
#include "core/json/json.h"

#define WORDS_MAP RIGHTS_LAST_WORDS           // the ConfigMap in the namespace of the workloads
#define WORDS_CONTAINERS ((size_t)3)          // of one attempt
#define WORDS_LOG ((size_t)8 << 10)           // bytes of a log, the last ones
#define WORDS_MESSAGE ((size_t)4 << 10)       // bytes of a termination message
#define WORDS_MAP_BYTES ((size_t)512 << 10)   // of all entries of a ConfigMap
#define WORDS_ENTRY_BYTES ((size_t)128 << 10) // of one entry, which the other limits keep much smaller
#define WORDS_ATTEMPTS ((size_t)3)            // of one workload, the newest
#define WORDS_SHORT ((size_t)512)             // bytes of the text for an Event

struct words_container {
    const char *pod, *name; // of the pods; name "": of the pod itself, which was evicted, say
    const char *reason, *message;
    const char *ended; // RFC 3339, "" if unknown
    int64_t exit_code; // of a container
    struct buffer log; // the end, see words_log_put
    bool cut;          // the log was longer
};

struct words { // of one attempt
    const char *resource, *name, *uid, *origin, *worker;
    uint32_t attempt;
    int64_t at_ns; // wall clock
    size_t failed; // containers that failed, also those that are left out
    struct words_container list[WORDS_CONTAINERS];
    size_t count;
};

// The failed containers: the first one to end, which others may have followed, and the last ones. Texts stay those of
// the pods.
void words_choose(struct words *words, const struct pods *pods);
void words_clear(struct words *words); // the logs

// Appends to the end of a log, and drops what is too much of the beginning.
bool words_log_put(struct words_container *container, const char *bytes, size_t len);
// Makes the bytes of a log safe for any display: control characters are escaped as by text_show, except line feeds;
// other bytes than UTF-8 become U+FFFD. At most WORDS_LOG bytes, the last ones, from the begin of a line if one is
// near.
bool words_log_end(struct words_container *container);

// The key "<uid>.<attempt>" and the value of the entry.
bool words_write(const struct words *words, struct buffer *key, struct buffer *value);
// "pod a-0, container main: Error, exit code 3: the last line; 2 more failed", on one line.
bool words_shorten(const struct words *words, struct buffer *out);

// The entries of a workload in a ConfigMap, the newest attempt first; `map` NULL: none. Owned by the caller.
struct error *words_find(const struct json *map, const char *uid, struct json **out); // an array

// The same text from such an entry.
bool words_show(const struct json *entry, struct buffer *out);

// Changes -----------------------------------------------------------------------------------------------------------

struct words_change { // an entry to add, or with `value` NULL the uid of a workload whose entries go
    const char *key, *value;
};

enum words_write { WORDS_NOTHING, WORDS_PATCH, WORDS_DELETE };

// How the ConfigMap `map` has to change: a merge patch for it, or a deletion of the empty one. Drops the oldest entries
// of all beyond the limits. `exact`: with the resourceVersion as precondition; a patch without it touches no entry of
// others that `map` does not have, but the limits may be exceeded until the next one. A deletion always has it.
struct error *words_merge(const struct json *map, const struct words_change *changes, size_t count, bool exact,
                          struct buffer *body, enum words_write *out);
