// SPDX-License-Identifier: Apache-2.0
#include "core/serve/api/watchers.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/serve/http/connections.h"

#include <stdlib.h>
#include <time.h>

#define STACK ((size_t)256 * 1024)
#define BATCH_MAX ((size_t)16 * 1024 * 1024)
#define QUIET_ROUNDS 15 // after so many without an event, a comment shows that the connection works

struct watch_reader {
    struct stream *stream;
    struct grant *grant;
    struct api_watch watch;
    unsigned quiet;
};

struct watchers {
    const struct api_source *api;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct watch_reader *readers[CONNECTIONS_WATCH];
    size_t count;
    bool running, started, stopping;
    pthread_t thread;
};

struct error *watchers_new(const struct api_source *api, struct watchers **out) {
    struct watchers *watchers = calloc(1, sizeof *watchers);
    if (!watchers)
        return error_no_memory();
    clock_condition_init(&watchers->changed);
    pthread_mutex_init(&watchers->lock, NULL);
    watchers->api = api;
    *out = watchers;
    return NULL;
}

static void reader_free(struct watch_reader *reader) {
    stream_end(reader->stream);
    grant_free(reader->grant);
    free(reader);
}

static void push_end(const struct watch_reader *reader) {
    AUTO_BUFFER(status, BATCH_MAX);
    AUTO_BUFFER(event, BATCH_MAX);
    api_failure(&status, 403, NULL, grant_reason(reader->grant));
    buffer_text(&event, "event: end\ndata: ");
    buffer_append(&event, status.data, status.len);
    buffer_text(&event, "\n");
    if (!status.failed && !event.failed)
        (void)stream_push(reader->stream, &event);
}

// What changed, to one reader. One who is slow gets what changed since once the last batch was read. False: the reader
// is gone.
static bool serve_reader(const struct watchers *watchers, struct watch_reader *reader) {
    AUTO_BUFFER(batch, BATCH_MAX);
    if (!stream_is_read(reader->stream))
        return false;
    if (!stream_is_drained(reader->stream))
        return true;
    if (grant_is_lost(reader->grant)) {
        push_end(reader);
        return false;
    }
    struct error *error = api_watch_batch(watchers->api, &reader->watch, &batch);
    if (error) {
        log_fields(LOG_DEBUG, "no events for a reader of the API", {"error", error_text(error)});
        error_free(error);
        return true; // the next time
    }
    reader->quiet = batch.len > 0 ? 0 : reader->quiet + 1;
    if (reader->quiet >= QUIET_ROUNDS) {
        reader->quiet = 0;
        buffer_text(&batch, ": nothing changed\n\n");
    }
    return !batch.failed && (batch.len == 0 || stream_push(reader->stream, &batch));
}

// A copy, since the list may grow while they are served.
static size_t list_readers(const struct watchers *watchers, struct watch_reader **out) {
    for (size_t i = 0; i < watchers->count; i++)
        out[i] = watchers->readers[i];
    return watchers->count;
}

// Under the lock.
static void drop(struct watchers *watchers, struct watch_reader *reader) {
    for (size_t i = 0; i < watchers->count; i++)
        if (watchers->readers[i] == reader)
            watchers->readers[i] = watchers->readers[--watchers->count];
    reader_free(reader);
}

// Until the next round, or until somebody is new. Under the lock.
static void pause_round(struct watchers *watchers) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    (void)pthread_cond_timedwait(&watchers->changed, &watchers->lock, &until);
}

static void *run(void *arg) {
    struct watchers *watchers = arg;
    struct watch_reader *readers[CONNECTIONS_WATCH];
    pthread_mutex_lock(&watchers->lock);
    while (watchers->count > 0 && !watchers->stopping) {
        size_t count = list_readers(watchers, readers);
        for (size_t i = 0; i < count && !watchers->stopping; i++) {
            pthread_mutex_unlock(&watchers->lock);
            bool stays = serve_reader(watchers, readers[i]);
            pthread_mutex_lock(&watchers->lock);
            if (!stays)
                drop(watchers, readers[i]);
        }
        if (!watchers->stopping && watchers->count > 0)
            pause_round(watchers);
    }
    watchers->running = false;
    pthread_mutex_unlock(&watchers->lock);
    return NULL;
}

// Under the lock.
static bool has_thread(struct watchers *watchers) {
    if (watchers->running)
        return true;
    if (watchers->started)
        pthread_join(watchers->thread, NULL); // it has given back the lock for the last time
    watchers->started = watchers->running = thread_start("watch", STACK, run, watchers, &watchers->thread) == 0;
    return watchers->running;
}

bool watchers_add(struct watchers *watchers, struct stream *stream, struct grant *grant, uint64_t sequence) {
    struct watch_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return false;
    *reader = (struct watch_reader){.stream = stream, .grant = grant, .watch = {.sequence = sequence}};
    pthread_mutex_lock(&watchers->lock);
    bool ok = !watchers->stopping && watchers->count < CONNECTIONS_WATCH;
    if (ok) {
        watchers->readers[watchers->count++] = reader;
        ok = has_thread(watchers);
        watchers->count -= !ok;
    }
    pthread_cond_signal(&watchers->changed);
    pthread_mutex_unlock(&watchers->lock);
    if (!ok)
        free(reader);
    return ok;
}

void watchers_free(struct watchers *watchers) {
    if (!watchers)
        return;
    pthread_mutex_lock(&watchers->lock);
    watchers->stopping = true;
    pthread_cond_signal(&watchers->changed);
    bool started = watchers->started;
    pthread_mutex_unlock(&watchers->lock);
    if (started)
        pthread_join(watchers->thread, NULL);
    for (size_t i = 0; i < watchers->count; i++)
        reader_free(watchers->readers[i]);
    pthread_cond_destroy(&watchers->changed);
    pthread_mutex_destroy(&watchers->lock);
    free(watchers);
}
