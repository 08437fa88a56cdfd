// SPDX-License-Identifier: Apache-2.0
// What systemd is told.
#include "core/cmd/run/run.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

// The service manager's end, and a service.
struct stand {
    int fd;
    char path[64];
    char got[1024]; // the last message
    _Atomic bool running;
    _Atomic int64_t stalled_ns;
};

static bool is_running(void *ctx, struct buffer *waits_for) {
    struct stand *stand = ctx;
    buffer_text(waits_for, "management: connection refused");
    return atomic_load(&stand->running);
}

static int64_t stalled_ns(void *ctx) {
    struct stand *stand = ctx;
    return atomic_load(&stand->stalled_ns);
}

static struct notify_source source_of(struct stand *stand) {
    return (struct notify_source){.running = is_running, .stalled_ns = stalled_ns, .ctx = stand};
}

// `name` begins with '/', or with '@' for the abstract namespace.
static void listen_at(struct stand *stand, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(stand->path, sizeof stand->path, "%s-%d", name, (int)getpid());
    snprintf(address.sun_path, sizeof address.sun_path, "%s", stand->path);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(stand->path));
    if (*name == '@')
        address.sun_path[0] = '\0';
    stand->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(stand->fd >= 0);
    assert_int_equal(bind(stand->fd, (const struct sockaddr *)&address, len), 0);
    setenv("NOTIFY_SOCKET", stand->path, 1);
}

static void leave(struct stand *stand) {
    close(stand->fd);
    if (*stand->path == '/')
        unlink(stand->path);
}

// The next message; "" if none comes in time.
static const char *next(struct stand *stand, int wait_ms) {
    struct pollfd wait = {.fd = stand->fd, .events = POLLIN};
    ssize_t len = poll(&wait, 1, wait_ms) == 1 ? recv(stand->fd, stand->got, sizeof stand->got - 1, 0) : 0;
    assert_true(len >= 0);
    stand->got[len] = '\0';
    return stand->got;
}

static struct notify *open_it(void) {
    struct notify *notify = NULL;
    assert_null(notify_open(&notify));
    assert_non_null(notify);
    return notify;
}

static void it_is_ready_once_the_engine_runs(void **state) {
    (void)state;
    static const char *const names[] = {"/tmp/wharf-notify-test", "@wharf-notify-test"};
    for (size_t i = 0; i < 2; i++) {
        struct stand stand = {.fd = -1};
        listen_at(&stand, names[i]);
        struct notify *notify = open_it();
        struct notify_source source = source_of(&stand);
        assert_null(notify_start(notify, &source));
        assert_string_equal(next(&stand, 5000), "STATUS=management: connection refused");
        assert_string_equal(next(&stand, 600), ""); // the same reason is told once
        atomic_store(&stand.running, true);
        assert_string_equal(next(&stand, 5000), "READY=1\nSTATUS=running");
        notify_send(notify, "STOPPING=1");
        assert_string_equal(next(&stand, 5000), "STOPPING=1");
        notify_close(notify);
        leave(&stand);
    }
}

static void keep_alives_stop_while_the_engine_makes_no_progress(void **state) {
    (void)state;
    struct stand stand = {.fd = -1, .running = true};
    listen_at(&stand, "@wharf-notify-watchdog");
    setenv("WATCHDOG_USEC", "800000", 1);
    struct notify *notify = open_it();
    struct notify_source source = source_of(&stand);
    assert_null(notify_start(notify, &source));
    assert_string_equal(next(&stand, 5000), "READY=1\nSTATUS=running");
    for (int i = 0; i < 3; i++)
        assert_string_equal(next(&stand, 5000), "WATCHDOG=1");
    atomic_store(&stand.stalled_ns, 300 * CLOCK_MS);
    (void)next(&stand, 250); // one may have been on its way
    assert_string_equal(next(&stand, 800), "");
    atomic_store(&stand.stalled_ns, 0);
    assert_string_equal(next(&stand, 5000), "WATCHDOG=1");
    notify_close(notify);
    leave(&stand);
}

static void a_watchdog_of_another_process_is_none(void **state) {
    (void)state;
    struct stand stand = {.fd = -1, .running = true};
    listen_at(&stand, "@wharf-notify-other");
    setenv("WATCHDOG_USEC", "200000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    struct notify *notify = open_it();
    struct notify_source source = source_of(&stand);
    assert_null(notify_start(notify, &source));
    assert_string_equal(next(&stand, 5000), "READY=1\nSTATUS=running");
    assert_string_equal(next(&stand, 500), "");
    notify_close(notify);
    leave(&stand);
}

static void a_reload_is_framed(void **state) {
    (void)state;
    struct stand stand = {.fd = -1};
    listen_at(&stand, "@wharf-notify-reload");
    struct notify *notify = open_it();
    notify_reloading(notify); // before it is ready: READY would not be true
    notify_reloaded(notify, "running");
    assert_string_equal(next(&stand, 200), "");
    atomic_store(&stand.running, true);
    struct notify_source source = source_of(&stand);
    assert_null(notify_start(notify, &source));
    assert_string_equal(next(&stand, 5000), "READY=1\nSTATUS=running");
    while (*next(&stand, 100)) // it may have been told just before
        ;
    notify_reloading(notify);
    assert_memory_equal(next(&stand, 5000), "RELOADING=1\nMONOTONIC_USEC=", 27);
    assert_true(strtoll(stand.got + 27, NULL, 10) > 0);
    notify_reloaded(notify, "running; the configuration was not reloaded");
    assert_string_equal(next(&stand, 5000), "READY=1\nSTATUS=running; the configuration was not reloaded");
    notify_close(notify);
    leave(&stand);
}

static void children_do_not_speak_for_the_service(void **state) {
    (void)state;
    struct stand stand = {.fd = -1};
    listen_at(&stand, "@wharf-notify-environment");
    setenv("WATCHDOG_USEC", "800000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    struct notify *notify = open_it();
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    notify_close(notify);
    leave(&stand);
}

static void without_a_socket_nothing_is_done(void **state) {
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    struct notify *notify = NULL;
    assert_null(notify_open(&notify));
    assert_null(notify);
    struct notify_source source = {.ctx = NULL};
    assert_null(notify_start(notify, &source));
    notify_send(notify, "READY=1");
    notify_reloading(notify);
    notify_reloaded(notify, "running");
    notify_close(notify);
}

static void an_address_that_is_none_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"relative", "/", "@", "vsock:2:1234"};
    char long_path[200];
    memset(long_path, '/', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
        setenv("NOTIFY_SOCKET", i < sizeof wrong / sizeof wrong[0] ? wrong[i] : long_path, 1);
        struct notify *notify = NULL;
        struct error *error = notify_open(&notify);
        assert_non_null(error);
        assert_non_null(strstr(error_text(error), "NOTIFY_SOCKET"));
        assert_null(notify);
        error_free(error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_ready_once_the_engine_runs),
        cmocka_unit_test(keep_alives_stop_while_the_engine_makes_no_progress),
        cmocka_unit_test(a_watchdog_of_another_process_is_none),
        cmocka_unit_test(a_reload_is_framed),
        cmocka_unit_test(children_do_not_speak_for_the_service),
        cmocka_unit_test(without_a_socket_nothing_is_done),
        cmocka_unit_test(an_address_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
