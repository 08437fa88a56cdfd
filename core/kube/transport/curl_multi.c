// SPDX-License-Identifier: Apache-2.0
// The multi handle: waiting for libcurl's sockets, and running only the exchanges with a ready socket or a due timeout
// (curl_internal.h). docs/architecture.md says why not with curl_multi_perform.
#include "core/kube/transport/curl_internal.h"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_MEMORY_NS (10 * CLOCK_MS)
// libcurl does not wait for connections kept for reuse. Closing them is the first sign of a server's end, since open
// streams may go on for a minute.
#define IDLE_EVENTS POLLRDHUP
// More than the requests in flight and the streams of all kinds: with fewer, libcurl closes those that become idle, and
// each further request has a handshake.
#define MAX_CONNECTIONS 512L
#define SET_MULTI(option, value) (curl_multi_setopt(transport->multi, option, value) == CURLM_OK)

static struct pollfd *find_socket(struct curl_transport *transport, curl_socket_t fd) {
    for (size_t i = 0; i < transport->n_sockets; i++)
        if (transport->sockets[i].fd == fd)
            return &transport->sockets[i];
    return NULL;
}

static struct pollfd *add_socket(struct curl_transport *transport, curl_socket_t fd) {
    size_t count = transport->n_sockets;
    if (!array_reserve(&transport->sockets, &transport->cap_sockets, count + 1, sizeof *transport->sockets))
        return NULL;
    transport->sockets[transport->n_sockets++] = (struct pollfd){.fd = fd};
    return &transport->sockets[count];
}

void multi_forget(struct curl_transport *transport, int fd) {
    struct pollfd *socket = find_socket(transport, fd);
    if (socket)
        *socket = transport->sockets[--transport->n_sockets];
}

// Not one of the resolver's, which libcurl closes without a word.
static bool is_connection(curl_socket_t fd) {
    int protocol = 0;
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &(socklen_t){sizeof protocol}) == 0 &&
           protocol == IPPROTO_TCP;
}

// libcurl's CURLMOPT_SOCKETFUNCTION.
static int on_interest(CURL *easy, curl_socket_t fd, int what, void *context, void *unused) {
    (void)easy, (void)unused;
    struct curl_transport *transport = context;
    struct pollfd *socket = find_socket(transport, fd);
    if (what == CURL_POLL_REMOVE) {
        if (socket && is_connection(fd))
            socket->events = IDLE_EVENTS;
        else
            multi_forget(transport, fd);
        return 0;
    }
    if (!socket && !(socket = add_socket(transport, fd))) {
        transport->failed = true; // no poll of the socket is possible
        return 0;
    }
    socket->events = (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));
    return 0;
}

bool multi_open(struct curl_transport *transport) {
    if (transport->multi)
        return true;
    transport->multi = curl_multi_init();
    return transport->multi && SET_MULTI(CURLMOPT_SOCKETFUNCTION, on_interest) &&
           SET_MULTI(CURLMOPT_SOCKETDATA, transport) && SET_MULTI(CURLMOPT_PIPELINING, CURLPIPE_NOTHING) &&
           SET_MULTI(CURLMOPT_MAXCONNECTS, MAX_CONNECTIONS);
}

void multi_close(struct curl_transport *transport) {
    curl_multi_cleanup(TAKE(transport->multi));
    transport->n_sockets = 0;
    transport->failed = false;
}

static long next_timeout(struct curl_transport *transport) {
    long timeout_ms = -1;
    if (transport->multi && curl_multi_timeout(transport->multi, &timeout_ms) != CURLM_OK)
        transport->failed = true;
    return timeout_ms;
}

static void run(struct curl_transport *transport, curl_socket_t fd, int ready) {
    int running;
    if (curl_multi_socket_action(transport->multi, fd, ready, &running) != CURLM_OK)
        transport->failed = true;
}

void multi_run_due(struct curl_transport *transport) {
    if (next_timeout(transport) == 0)
        run(transport, CURL_SOCKET_TIMEOUT, 0);
}

static int milliseconds(int64_t wait_ns) {
    int64_t bounded_ns = clock_earlier(clock_later(wait_ns, 0), 3600 * CLOCK_SECOND);
    return (int)((bounded_ns + CLOCK_MS - 1) / CLOCK_MS);
}

static int earlier(int timeout_ms, long other_ms) {
    return other_ms >= 0 && other_ms < timeout_ms ? (int)other_ms : timeout_ms;
}

// As in libcurl's own poll: a read returns the cause of an error.
static int ready_of(const struct pollfd *socket) {
    return (socket->revents & (POLLIN | POLLERR | POLLHUP) ? CURL_CSELECT_IN : 0) |
           (socket->revents & POLLOUT ? CURL_CSELECT_OUT : 0) | (socket->revents & POLLNVAL ? CURL_CSELECT_ERR : 0);
}

// `polled` are copies of the transport's: each call may change the transport's own.
static void run_ready(struct curl_transport *transport, const struct pollfd *polled, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool was_idle = polled[i].events == IDLE_EVENTS;
        if (polled[i].revents && !was_idle)
            run(transport, polled[i].fd, ready_of(&polled[i]));
        const struct pollfd *idle = polled[i].revents && was_idle ? find_socket(transport, polled[i].fd) : NULL;
        if (idle && idle->events == IDLE_EVENTS) {
            multi_forget(transport, polled[i].fd); // libcurl would notice at the next use
            transport->closed = true;
        }
    }
}

// True: another thread woke this one. When out of memory, sockets have to wait.
static bool wait_for_all(struct curl_transport *transport, int timeout_ms) {
    struct pollfd wake = {.fd = transport->wake_fd, .events = POLLIN}, *polled = &wake;
    size_t count = transport->n_sockets;
    if (array_reserve(&transport->polled, &transport->cap_polled, 1 + count, sizeof *transport->polled)) {
        polled = transport->polled;
        polled[0] = wake;
        for (size_t i = 0; i < count; i++)
            polled[1 + i] = transport->sockets[i];
    } else {
        count = 0;
        timeout_ms = earlier(timeout_ms, NO_MEMORY_NS / CLOCK_MS);
    }
    bool ready = poll(polled, (nfds_t)(1 + count), timeout_ms) > 0;
    transport->now_ns = clock_now().mono_ns;
    if (ready)
        run_ready(transport, polled + 1, count);
    return ready && polled[0].revents;
}

void multi_wait(struct curl_transport *transport, int64_t wait_ns) {
    int timeout_ms = earlier(milliseconds(wait_ns), next_timeout(transport));
    uint64_t wakeups;
    if (wait_for_all(transport, timeout_ms) && read(transport->wake_fd, &wakeups, sizeof wakeups) < 0)
        wakeups = 0; // already read
}
