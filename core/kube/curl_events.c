// SPDX-License-Identifier: Apache-2.0
// libcurl's sockets on epoll (curl_internal.h).
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/kube/curl_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64

bool events_open(struct curl_transport *transport) {
    transport->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    transport->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = transport->wake_fd};
    return transport->wake_fd >= 0 && transport->epoll_fd >= 0 &&
           epoll_ctl(transport->epoll_fd, EPOLL_CTL_ADD, transport->wake_fd, &event) == 0;
}

void events_close(struct curl_transport *transport) {
    if (transport->epoll_fd >= 0)
        close(transport->epoll_fd);
    if (transport->wake_fd >= 0)
        close(transport->wake_fd);
    free(transport->watched);
}

// NULL when out of memory.
static struct watched *watched_at(struct curl_transport *transport, curl_socket_t fd) {
    size_t index = (size_t)fd;
    if (!array_reserve(&transport->watched, &transport->n_watched, index + 1, sizeof *transport->watched))
        return NULL;
    return &transport->watched[index];
}

static bool tell_epoll(const struct curl_transport *transport, struct watched *watched, curl_socket_t fd,
                       unsigned char what) {
    if (watched->registered == what)
        return true;
    struct epoll_event event = {.data.fd = fd};
    event.events =
        ((what & CURL_POLL_IN) ? (unsigned)EPOLLIN : 0U) | ((what & CURL_POLL_OUT) ? (unsigned)EPOLLOUT : 0U);
    int operation = what == CURL_POLL_NONE                  ? EPOLL_CTL_DEL
                    : watched->registered == CURL_POLL_NONE ? EPOLL_CTL_ADD
                                                            : EPOLL_CTL_MOD;
    watched->registered = what;
    return epoll_ctl(transport->epoll_fd, operation, fd, &event) == 0 || operation == EPOLL_CTL_DEL;
}

int events_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *pool_of_multi, void *unused) {
    (void)easy, (void)unused;
    struct pool *pool = pool_of_multi;
    struct curl_transport *transport = pool->transport;
    struct watched *watched = watched_at(transport, fd);
    if (!watched)
        return -1;
    watched->pool = pool;
    watched->wanted = what == CURL_POLL_REMOVE ? CURL_POLL_NONE : (unsigned char)what;
    if (watched->wanted == CURL_POLL_NONE && watched->kept)
        return 0;
    return tell_epoll(transport, watched, fd, watched->wanted) ? 0 : -1;
}

void events_socket_made(struct curl_transport *transport, curl_socket_t fd) {
    if ((size_t)fd < transport->n_watched)
        transport->watched[fd] = (struct watched){0};
}

void events_socket_kept(struct curl_transport *transport, curl_socket_t fd) {
    if (fd >= 0 && (size_t)fd < transport->n_watched)
        transport->watched[fd].kept = true;
}

int events_socket_close(void *transport_of_socket, curl_socket_t fd) {
    struct curl_transport *transport = transport_of_socket;
    if ((size_t)fd < transport->n_watched)
        transport->watched[fd] = (struct watched){0};
    return close(fd);
}

static void run_socket(struct curl_transport *transport, const struct epoll_event *event) {
    curl_socket_t fd = event->data.fd;
    struct watched *watched = (size_t)fd < transport->n_watched ? &transport->watched[fd] : NULL;
    if (!watched || watched->registered == CURL_POLL_NONE)
        return; // closed while this batch of events was worked through
    if (watched->wanted == CURL_POLL_NONE) {
        // An idle connection that the server closed: libcurl finds out when it looks for one to use again.
        (void)tell_epoll(transport, watched, fd, CURL_POLL_NONE);
        return;
    }
    bool trouble = (event->events & (EPOLLERR | EPOLLHUP)) != 0;
    int ready = 0;
    if ((event->events & EPOLLIN) || (trouble && (watched->wanted & CURL_POLL_IN)))
        ready |= CURL_CSELECT_IN;
    if ((event->events & EPOLLOUT) || (trouble && (watched->wanted & CURL_POLL_OUT)))
        ready |= CURL_CSELECT_OUT;
    struct pool *pool = watched->pool;
    int running;
    if (curl_multi_socket_action(pool->multi, fd, ready, &running) != CURLM_OK)
        pool->failed = true;
}

static int milliseconds(int64_t wait_ns) {
    if (wait_ns <= 0)
        return 0;
    if (wait_ns >= INT64_C(3600) * CLOCK_SECOND)
        return 3600 * 1000;
    return (int)((wait_ns + CLOCK_MS - 1) / CLOCK_MS);
}

void events_wait(struct curl_transport *transport, int64_t wait_ns) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(transport->epoll_fd, events, EVENTS_AT_ONCE, milliseconds(wait_ns));
    transport->now_ns = clock_now().mono_ns;
    for (int i = 0; i < count; i++) {
        uint64_t wakeups;
        if (events[i].data.fd != transport->wake_fd)
            run_socket(transport, &events[i]);
        else if (read(transport->wake_fd, &wakeups, sizeof wakeups) < 0)
            continue; // was read before
    }
}
