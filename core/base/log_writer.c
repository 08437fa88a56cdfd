// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_writer.h"

#include "core/base/clock.h"
#include "core/base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HALF_BYTES ((size_t)128 * 1024) // one is filled while the other is written
#define LOOK_NS (2 * CLOCK_MS)

enum state { DIRECT, WRITING, DEAF };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    pthread_t thread;
    const struct log_output *output;
    char halves[2][HALF_BYTES];
    size_t filling, len; // which half is filled, and how far
    uint64_t unreported; // lines lost since the last report
    bool stop;
    // Also read without the mutex, in signal handlers after a crash.
    atomic_int state;
    atomic_bool idle; // nothing is queued or being written
    atomic_uint_fast64_t lost;
} writer = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .idle = true};

static void append(const char *text, size_t len) {
    memcpy(writer.halves[writer.filling] + writer.len, text, len);
    writer.len += len;
}

// Lost lines are reported after the lines taken now and before later ones.
static const char *take(size_t *len) {
    const char *full = writer.halves[writer.filling];
    *len = writer.len;
    writer.filling = 1 - writer.filling;
    writer.len = 0;
    if (writer.unreported > 0) {
        writer.len = writer.output->lost_line(writer.unreported, writer.halves[writer.filling]);
        writer.unreported = 0;
    }
    return full;
}

// Line by line, so that each one is one write(2).
static void write_lines(const char *text, size_t len) {
    for (const char *end = text + len; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line = newline ? (size_t)(newline - text) + 1 : (size_t)(end - text);
        writer.output->write(text, line);
        text += line;
    }
}

static void *writer_main(void *arg) {
    (void)arg;
    pthread_mutex_lock(&writer.mutex);
    for (;;) {
        if (writer.len > 0) {
            size_t len;
            const char *text = take(&len);
            pthread_mutex_unlock(&writer.mutex);
            write_lines(text, len);
            pthread_mutex_lock(&writer.mutex);
            continue;
        }
        atomic_store(&writer.idle, true);
        if (writer.stop)
            break;
        pthread_cond_wait(&writer.filled, &writer.mutex);
    }
    pthread_mutex_unlock(&writer.mutex);
    return NULL;
}

bool log_writer_start(const struct log_output *output) {
    if (atomic_load(&writer.state) != DIRECT)
        return false;
    writer.output = output;
    writer.stop = false;
    bool started = thread_start("log", 0, writer_main, NULL, &writer.thread) == 0;
    if (started)
        atomic_store(&writer.state, WRITING);
    return started;
}

static void count_lost(void) {
    writer.unreported++;
    atomic_fetch_add(&writer.lost, 1);
}

bool log_writer_put(const char *line, size_t len) {
    if (atomic_load(&writer.state) == DIRECT)
        return false;
    pthread_mutex_lock(&writer.mutex);
    int state = atomic_load(&writer.state);
    if (state == WRITING && writer.unreported == 0 && len <= HALF_BYTES - writer.len) {
        append(line, len);
        if (atomic_exchange(&writer.idle, false))
            pthread_cond_signal(&writer.filled);
    } else if (state != DIRECT) {
        count_lost();
    }
    pthread_mutex_unlock(&writer.mutex);
    return state != DIRECT;
}

// Polls instead of waiting on a condition variable, because signal handlers call it too.
bool log_writer_flush(int64_t within_ns) {
    for (int64_t waited_ns = 0; atomic_load(&writer.state) == WRITING; waited_ns += LOOK_NS) {
        if (atomic_load(&writer.idle))
            return true;
        if (waited_ns >= within_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return atomic_load(&writer.state) == DIRECT;
}

bool log_writer_stop(int64_t within_ns) {
    bool written = log_writer_flush(within_ns);
    pthread_mutex_lock(&writer.mutex);
    bool running = atomic_load(&writer.state) == WRITING;
    written = written && atomic_load(&writer.idle);
    if (running)
        atomic_store(&writer.state, written ? DIRECT : DEAF);
    writer.stop = true;
    pthread_cond_signal(&writer.filled);
    pthread_mutex_unlock(&writer.mutex);
    if (running && written)
        pthread_join(writer.thread, NULL);
    else if (running)
        pthread_detach(writer.thread);
    return written;
}

uint64_t log_writer_lost(void) {
    return atomic_load(&writer.lost);
}
