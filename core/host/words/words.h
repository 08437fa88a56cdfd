// SPDX-License-Identifier: Apache-2.0
// Keeps the last words of failed workloads: reads the end of failed containers in workers, when the engine asks, and
// stores it in one ConfigMap for each namespace of the management cluster (words_text.h). Threads of its own, with
// connections of their own: a burst of failures delays nothing else, and what does not fit into the queue is left out.
#pragma once

#include "core/engine/engine.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#define WORDS_QUEUE ((size_t)10000) // failed workloads that wait for the read
#define WORDS_READERS 3             // threads, and
#define WORDS_READERS_OF_WORKER 2   // of these, at most for one worker

// From any thread, but `post` must not wait.
struct words_source {
    struct error *(*endpoint)(void *ctx, const char *cluster, struct endpoint **out); // see host_endpoint
    const wharf_kind *(*kind)(void *ctx, size_t kind);
    void (*post)(void *ctx, struct engine_event *event); // EVENT_WORDS
    // Whether the workload of an entry certainly exists no more.
    bool (*is_gone)(void *ctx, const char *resource, const char *namespace_, const char *name, const char *uid);
    void *ctx;
};

enum words_result {
    WORDS_KEPT,
    WORDS_EMPTY,   // no failed container was there any more
    WORDS_DROPPED, // the queue was full
    WORDS_FAILED,  // could not be read or kept
    WORDS_RESULTS
};
struct words_counts {
    uint64_t results[WORDS_RESULTS];
    uint64_t waiting; // now
};

struct word_keeper;
struct error *last_words_new(const struct words_source *source, struct word_keeper **out);
// Stops the threads; what is not read yet is left to the next process. Once or more often.
void last_words_stop(struct word_keeper *words);
// Not while another thread uses it. NULL is fine.
void last_words_free(struct word_keeper *words);

// On the engine's thread. `origin` is that of the host, copied.
void last_words_configure(struct word_keeper *words, enum last_words level, const char *origin);
void last_words_take(struct word_keeper *words, struct words_wish *wish); // free()

struct words_counts last_words_count(struct word_keeper *words); // from any thread
