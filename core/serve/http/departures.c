// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/departures.h"

#include "core/base/thread.h"
#include "core/serve/http/connections.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK ((size_t)128 * 1024)

struct watched_client {
    int fd;
    struct stream *stream;
};

struct departures {
    pthread_mutex_t lock;
    struct watched_client clients[CONNECTIONS_STREAMS];
    size_t count;
    bool running, stopping, closed;
    pthread_t thread; // to be joined once it was started
    bool started;
    int wake_fd;
};

struct error *departures_new(struct departures **out) {
    struct departures *departures = calloc(1, sizeof *departures);
    if (!departures)
        return error_no_memory();
    departures->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (departures->wake_fd < 0) {
        free(departures);
        return error_new(ERROR_IO, "cannot watch for clients that go away: %s", strerror(errno));
    }
    pthread_mutex_init(&departures->lock, NULL);
    *out = departures;
    return NULL;
}

static size_t list_clients(const struct departures *departures, struct pollfd *polled, struct stream **streams) {
    polled[0] = (struct pollfd){.fd = departures->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < departures->count; i++) {
        polled[i + 1] = (struct pollfd){.fd = departures->clients[i].fd, .events = POLLRDHUP};
        streams[i] = departures->clients[i].stream;
    }
    return departures->count;
}

static void drop_at(struct departures *departures, size_t index) {
    departures->clients[index] = departures->clients[--departures->count];
}

// A stream that was removed meanwhile is not found: what poll said may be about another connection.
static void abandon(struct departures *departures, const struct stream *stream) {
    for (size_t i = 0; i < departures->count; i++)
        if (departures->clients[i].stream == stream) {
            stream_abandon(departures->clients[i].stream);
            drop_at(departures, i);
            return;
        }
}

static void *watch(void *arg) {
    struct departures *departures = arg;
    struct pollfd polled[CONNECTIONS_STREAMS + 1];
    struct stream *streams[CONNECTIONS_STREAMS];
    eventfd_t wakeups;
    pthread_mutex_lock(&departures->lock);
    while (departures->count > 0 && !departures->stopping) {
        size_t count = list_clients(departures, polled, streams);
        pthread_mutex_unlock(&departures->lock);
        int ready = poll(polled, (nfds_t)(count + 1), -1);
        (void)eventfd_read(departures->wake_fd, &wakeups);
        pthread_mutex_lock(&departures->lock);
        for (size_t i = 0; i < count && ready > 0; i++)
            if (polled[i + 1].revents & (POLLRDHUP | POLLHUP | POLLERR))
                abandon(departures, streams[i]);
    }
    departures->running = false;
    pthread_mutex_unlock(&departures->lock);
    return NULL;
}

// Under the lock.
static bool has_thread(struct departures *departures) {
    if (departures->running)
        return true;
    if (departures->started)
        pthread_join(departures->thread, NULL); // it has given back the lock for the last time
    departures->started = departures->running =
        thread_start("clients", STACK, watch, departures, &departures->thread) == 0;
    return departures->running;
}

bool departures_add(struct departures *departures, int fd, struct stream *stream) {
    pthread_mutex_lock(&departures->lock);
    bool ok = !departures->closed && departures->count < CONNECTIONS_STREAMS;
    if (ok) {
        departures->clients[departures->count++] = (struct watched_client){fd, stream};
        ok = has_thread(departures);
        departures->count -= !ok;
    }
    (void)eventfd_write(departures->wake_fd, 1);
    pthread_mutex_unlock(&departures->lock);
    return ok;
}

void departures_remove(struct departures *departures, const struct stream *stream) {
    pthread_mutex_lock(&departures->lock);
    for (size_t i = 0; i < departures->count; i++)
        if (departures->clients[i].stream == stream) {
            drop_at(departures, i);
            break;
        }
    (void)eventfd_write(departures->wake_fd, 1);
    pthread_mutex_unlock(&departures->lock);
}

void departures_abandon_all(struct departures *departures) {
    pthread_mutex_lock(&departures->lock);
    departures->closed = true;
    for (size_t i = 0; i < departures->count; i++)
        stream_abandon(departures->clients[i].stream);
    pthread_mutex_unlock(&departures->lock);
}

void departures_free(struct departures *departures) {
    if (!departures)
        return;
    pthread_mutex_lock(&departures->lock);
    departures->stopping = true;
    (void)eventfd_write(departures->wake_fd, 1);
    bool started = departures->started;
    pthread_mutex_unlock(&departures->lock);
    if (started)
        pthread_join(departures->thread, NULL);
    close(departures->wake_fd);
    pthread_mutex_destroy(&departures->lock);
    free(departures);
}
