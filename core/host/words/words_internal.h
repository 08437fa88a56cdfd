// SPDX-License-Identifier: Apache-2.0
// Shared by words.c (queues and threads), words_read.c (in workers) and words_keep.c (in the management cluster).
#pragma once

#include "core/base/clock.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/words/words.h"
#include "core/host/words/words_text.h"

#include <pthread.h>

#define WORDS_PATIENCE_NS (10 * CLOCK_SECOND) // for the pods of a mirror
#define WORDS_REFUSED_NS (10 * CLOCK_MINUTE)  // after a missing right
#define WORDS_BATCH ((size_t)64)              // changes of one namespace at a time

// A connection of one thread, which stays open for the next use.
struct words_link { // zero-initialised
    struct blocking_client client;
    char cluster[64]; // "": not open
};

struct words_read { // for words_read.c
    const struct words_wish *wish;
    const wharf_kind *kind;
    enum last_words level;
    struct words_link *link;
    const atomic_bool *stop;
    bool refused;      // output: the worker does not let the host read pods, or logs,
    char problem[256]; // and why not
};

// Opens the connection to a cluster, or uses the open one with the present credentials.
struct error *words_link_use(const struct words_source *source, struct words_link *link, const char *cluster,
                             const atomic_bool *stop);
void words_link_close(struct words_link *link);

// Reads the end of the mirror's failed containers from the linked worker. `pods` has the texts.
struct error *words_read(struct words_read *read, struct pods *pods, struct words *out);

// One change of a ConfigMap, with what follows from it.
struct words_task {
    struct words_task *next;
    struct words_wish *wish; // owned
    char *key, *value;       // owned; forgotten: the uid, and NULL
    char *text;              // for the Event, owned; or NULL
    unsigned tries;          // that failed, of the read or the write
    int64_t due_ns;          // no read before
};

// Changes the ConfigMap of the namespace. ERROR_REFUSED: a missing right.
struct error *words_keep(struct words_link *link, const char *namespace_, const struct words_change *changes,
                         size_t count);
// Reads it; *out NULL: there is none.
struct error *words_get(struct words_link *link, const char *namespace_, struct json **out);
// Drops the entries of workloads that are gone, in all namespaces.
struct error *words_sweep(const struct words_source *source, struct words_link *link, const char *origin);
