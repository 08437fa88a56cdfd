// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/run/run.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ASK_NS (250 * CLOCK_MS) // between two checks whether the engine runs
#define STATUS_MAX 512
#define PINGS 4 // a watchdog's interval has room for as many keep-alives
#define USEC 1000

struct notify {
    int fd, over_fd;
    struct sockaddr_un address;
    socklen_t address_len;
    int64_t watchdog_ns; // 0: none is wanted
    struct notify_source source;
    pthread_t thread;
    bool started;
    _Atomic bool ready;           // READY=1 was sent
    char sent_status[STATUS_MAX]; // the last STATUS; used by the thread only
};

void notify_send(struct notify *notify, const char *assignments) {
    if (notify)
        (void)sendto(notify->fd, assignments, strlen(assignments), MSG_NOSIGNAL | MSG_DONTWAIT,
                     (const struct sockaddr *)&notify->address, notify->address_len);
}

void notify_reloading(struct notify *notify) {
    if (!notify || !atomic_load(&notify->ready))
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); // as the protocol requires, unlike clock_now()
    AUTO_TEXT text = text_format("RELOADING=1\nMONOTONIC_USEC=%lld",
                                 (long long)now.tv_sec * 1000000 + (long long)now.tv_nsec / USEC);
    notify_send(notify, text ? text : "RELOADING=1");
}

void notify_reloaded(struct notify *notify, const char *status) {
    if (!notify || !atomic_load(&notify->ready))
        return;
    AUTO_TEXT text = text_format("READY=1\nSTATUS=%s", status);
    notify_send(notify, text ? text : "READY=1");
}

static void send_status(struct notify *notify, const char *reason) {
    if (strcmp(reason, notify->sent_status) == 0)
        return;
    snprintf(notify->sent_status, sizeof notify->sent_status, "%s", reason);
    AUTO_TEXT text = text_format("STATUS=%s", notify->sent_status);
    if (text)
        notify_send(notify, text);
}

// True: the host runs.
static bool check_start(struct notify *notify) {
    AUTO_BUFFER(reason, (size_t)16 * STATUS_MAX);
    if (notify->source.running(notify->source.ctx, &reason)) {
        atomic_store(&notify->ready, true);
        notify_send(notify, "READY=1\nSTATUS=running");
        return true;
    }
    if (reason.len > 0)
        send_status(notify, reason.data);
    return false;
}

// False: the host has stopped.
static bool wait_for(struct notify *notify, int64_t ns) {
    struct pollfd wait = {.fd = notify->over_fd, .events = POLLIN};
    int got = poll(&wait, 1, ns == CLOCK_NEVER ? -1 : (int)(ns / CLOCK_MS) + 1);
    return got <= 0; // an interrupted wait is only a short one
}

// The service manager kills a service that is silent for watchdog_ns. Here a stall of a quarter of that is silence, so
// one that ends in time does no harm.
static void *notify_main(void *arg) {
    struct notify *notify = arg;
    int64_t interval_ns = notify->watchdog_ns / PINGS;
    while (!check_start(notify))
        if (!wait_for(notify, ASK_NS))
            return NULL;
    while (wait_for(notify, interval_ns > 0 ? interval_ns : CLOCK_NEVER))
        if (interval_ns > 0 && notify->source.stalled_ns(notify->source.ctx) < interval_ns)
            notify_send(notify, "WATCHDOG=1");
    return NULL;
}

// sd_watchdog_enabled(3): WATCHDOG_PID, if set, names the process that is meant.
static int64_t read_watchdog(void) {
    const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    char *end = NULL;
    if (!text || (pid && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    errno = 0;
    long long usec = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && usec > 0 && usec < CLOCK_NEVER / USEC ? usec * USEC : 0;
}

// A path, or with '@' a name in the abstract namespace.
static struct error *read_address(struct notify *notify, const char *path) {
    size_t len = strlen(path);
    if ((*path != '/' && *path != '@') || len < 2 || len >= sizeof notify->address.sun_path)
        return error_new(ERROR_INVALID,
                         "NOTIFY_SOCKET is \"%s\": expected an absolute path or @name of at most %zu bytes", path,
                         sizeof notify->address.sun_path - 1);
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, path, len);
    notify->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*path == '/'));
    if (*path == '@')
        notify->address.sun_path[0] = '\0';
    return NULL;
}

struct error *notify_open(struct notify **out) {
    *out = NULL;
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || *path == '\0')
        return NULL;
    struct notify *notify = calloc(1, sizeof *notify);
    if (!notify)
        return error_no_memory();
    notify->watchdog_ns = read_watchdog();
    struct error *error = read_address(notify, path);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    notify->over_fd = eventfd(0, EFD_CLOEXEC);
    if (!error && (notify->fd < 0 || notify->over_fd < 0))
        error = error_new(ERROR_IO, "cannot open a socket for NOTIFY_SOCKET: %s", strerror(errno));
    if (error)
        notify_close(notify);
    else
        *out = notify;
    return error;
}

struct error *notify_start(struct notify *notify, const struct notify_source *source) {
    if (!notify)
        return NULL;
    notify->source = *source;
    if (thread_start("notify", 0, notify_main, notify, &notify->thread) != 0)
        return error_new(ERROR_IO, "cannot start the thread for NOTIFY_SOCKET");
    notify->started = true;
    return NULL;
}

void notify_close(struct notify *notify) {
    if (!notify)
        return;
    if (notify->started) {
        (void)eventfd_write(notify->over_fd, 1);
        pthread_join(notify->thread, NULL);
    }
    if (notify->fd >= 0)
        close(notify->fd);
    if (notify->over_fd >= 0)
        close(notify->over_fd);
    free(notify);
}
