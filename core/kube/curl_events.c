// SPDX-License-Identifier: Apache-2.0
// Waiting for libcurl's sockets, with curl_multi_poll (curl_internal.h). docs/architecture.md says why not with epoll.
#include "core/base/clock.h"
#include "core/kube/curl_internal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NO_MEMORY_NS (10 * CLOCK_MS)
#define RETIRED_NS (50 * CLOCK_MS) // the retired multi handle is not waited for; it drains soon

bool events_open(struct curl_transport *transport) {
    transport->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return transport->wake_fd >= 0;
}

void events_close(struct curl_transport *transport) {
    if (transport->wake_fd >= 0)
        close(transport->wake_fd);
}

static int milliseconds(int64_t wait_ns) {
    if (wait_ns <= 0)
        return 0;
    if (wait_ns >= INT64_C(3600) * CLOCK_SECOND)
        return 3600 * 1000;
    return (int)((wait_ns + CLOCK_MS - 1) / CLOCK_MS);
}

void events_run(struct pool *pool) {
    int running;
    if (pool && curl_multi_perform(pool->multi, &running) != CURLM_OK)
        pool->failed = true;
}

void events_wait(struct curl_transport *transport, int64_t wait_ns) {
    struct curl_waitfd wake = {.fd = transport->wake_fd, .events = CURL_WAIT_POLLIN};
    if (transport->retired && wait_ns > RETIRED_NS)
        wait_ns = RETIRED_NS;
    CURLM *multi = transport->pool ? transport->pool->multi : NULL;
    if (!multi || curl_multi_poll(multi, &wake, 1, milliseconds(wait_ns), NULL) != CURLM_OK) {
        // No sockets yet, or out of memory.
        struct pollfd one = {.fd = transport->wake_fd, .events = POLLIN};
        (void)poll(&one, 1, milliseconds(multi && wait_ns > NO_MEMORY_NS ? NO_MEMORY_NS : wait_ns));
        wake.revents = one.revents;
    }
    transport->now_ns = clock_now().mono_ns;
    uint64_t wakeups;
    if (wake.revents && read(transport->wake_fd, &wakeups, sizeof wakeups) < 0)
        wake.revents = 0; // already read
    events_run(transport->pool);
    events_run(transport->retired);
}
