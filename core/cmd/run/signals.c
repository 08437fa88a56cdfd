// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/run/run.h"

#include "core/adapter/services/net.h"
#include "core/base/log.h"
#include "core/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_LINES_NS (500 * CLOCK_MS) // for flushing the log at a forced exit
#define CRASH_LINES_NS CLOCK_SECOND
#define CRASH_END_S 5               // for a handler that meets a lock that the crash left behind
#define STOP_LOOK_NS CLOCK_SECOND   // while a stop was requested
#define STUCK_NS (2 * CLOCK_SECOND) // a call seen for so long keeps the process from stopping

struct signals {
    int fd;
    int over[2]; // a pipe; the thread ends when the second end is closed
    ino_t inode; // of the pipe: another one means that somebody closed the descriptors, and others got the numbers
    pthread_t thread;
    int64_t asked_ns; // of the first request to stop, 0: none; used by the thread only
    pthread_mutex_t mutex;
    void (*stop)(void *ctx), (*reload)(void *ctx); // under `mutex`, like the following
    void *ctx;
    bool asked;
};

static const struct {
    int number;
    const char *name;
} watched[] = {
    {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
#define WATCHED (sizeof watched / sizeof watched[0])

static const char *name_of(uint32_t number) {
    for (size_t i = 0; i < WATCHED; i++)
        if ((uint32_t)watched[i].number == number)
            return watched[i].name;
    return "?";
}

static _Noreturn void end_now(void) {
    net_end_stuck(clock_ticks(), STUCK_NS);
    (void)log_stop(LAST_LINES_NS);
    _exit(EXIT_FAILURE);
}

static void request_stop(struct signals *signals, uint32_t number) {
    if (signals->asked_ns)
        end_now();
    signals->asked_ns = clock_now().mono_ns;
    log_fields(LOG_INFO, "stopping", {"signal", name_of(number)});
    AUTO_LOCK(&signals->mutex);
    signals->asked = true;
    if (signals->stop)
        signals->stop(signals->ctx);
}

// False: SIGHUP has no handler.
static bool request_reload(struct signals *signals) {
    AUTO_LOCK(&signals->mutex);
    if (signals->reload)
        signals->reload(signals->ctx);
    return signals->reload;
}

static void handle_signal(struct signals *signals) {
    struct signalfd_siginfo info;
    if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
        request_stop(signals, info.ssi_signo);
    else if (info.ssi_signo != SIGHUP || !request_reload(signals))
        log_fields(LOG_WARN, "signal ignored", {"signal", name_of(info.ssi_signo)});
}

// Milliseconds to wait for a signal; 0: the time for a graceful stop is over.
static int time_left(const struct signals *signals) {
    if (!signals->asked_ns)
        return (int)(NET_LOOK_NS / CLOCK_MS);
    int64_t left_ns = signals->asked_ns + SIGNALS_STOP_NS - clock_now().mono_ns;
    left_ns = left_ns < STOP_LOOK_NS ? left_ns : STOP_LOOK_NS;
    return left_ns > 0 ? (int)(left_ns / CLOCK_MS) + 1 : 0;
}

// A call of an adapter that does not return stops all kinds; a new process leaves its objects aside.
static void look_at_calls(void) {
    if (!net_look(clock_ticks()))
        return;
    log_plain(LOG_ERROR, "a call of an adapter does not return: exiting");
    end_now();
}

static void check_descriptors(const struct signals *signals) {
    struct stat info;
    if (fstat(signals->over[0], &info) == 0 && info.st_ino == signals->inode)
        return;
    log_plain(LOG_ERROR, "code that does not own the descriptors of this process closed them: exiting");
    end_now();
}

static void *signals_main(void *arg) {
    struct signals *signals = arg;
    struct pollfd wait[] = {{.fd = signals->fd, .events = POLLIN}, {.fd = signals->over[0], .events = 0}};
    for (;;) {
        int left_ms = time_left(signals);
        if (left_ms == 0) {
            log_plain(LOG_ERROR, "not stopped in time: exiting with work unfinished");
            end_now();
        }
        int ready = poll(wait, 2, left_ms);
        look_at_calls();
        check_descriptors(signals);
        if (ready <= 0)
            continue;
        if (wait[1].revents)
            return NULL;
        handle_signal(signals);
    }
}

// -- crashes --

static const struct {
    int number;
    const char *reason;
} faults[] = {{SIGSEGV, "signal 11 (Segmentation fault)"},
              {SIGBUS, "signal 7 (Bus error)"},
              {SIGFPE, "signal 8 (Floating point exception)"},
              {SIGILL, "signal 4 (Illegal instruction)"},
              {SIGABRT, "signal 6 (Aborted)"}};
#define FAULTS (sizeof faults / sizeof faults[0])

static const char *reason_of(int number) {
    for (size_t i = 0; i < FAULTS; i++)
        if (faults[i].number == number)
            return faults[i].reason;
    return "?";
}

// The last log lines may show the cause. On the thread that crashed, or that net_end_stuck chose.
static void on_crash(int number) {
    const char *verdict = number == SIGABRT ? net_verdict() : NULL;
    (void)alarm(CRASH_END_S);
    if (!net_report(verdict ? verdict : reason_of(number)))
        (void)log_flush(CRASH_LINES_NS);
    if (verdict)
        _exit(EXIT_FAILURE);
    (void)raise(number); // the default action follows the return
}

// Only where no other handler (of a sanitizer) is installed.
static void watch_crashes(void) {
    for (size_t i = 0; i < FAULTS; i++) {
        struct sigaction now, ours = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
        if (sigaction(faults[i].number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            (void)sigaction(faults[i].number, &ours, NULL);
    }
}

static struct error *open_signals(struct signals *signals) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < WATCHED; i++)
        sigaddset(&set, watched[i].number);
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC);
    struct stat info;
    if (signals->fd < 0 || pipe2(signals->over, O_CLOEXEC) != 0 || fstat(signals->over[0], &info) != 0)
        return error_new(ERROR_IO, "cannot watch signals: %s", strerror(errno));
    signals->inode = info.st_ino;
    sigaddset(&set, SIGPIPE); // a closed peer is reported as EPIPE
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return error_new(ERROR_INTERNAL, "cannot block signals");
    if (thread_start("signals", 0, signals_main, signals, &signals->thread) != 0)
        return error_new(ERROR_IO, "cannot start the signal thread");
    watch_crashes();
    net_start(); // on the thread that runs the engine
    return NULL;
}

static void free_signals(struct signals *signals) {
    const int fds[] = {signals->fd, signals->over[0], signals->over[1]};
    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    pthread_mutex_destroy(&signals->mutex);
    free(signals);
}

struct error *signals_start(struct signals **out) {
    struct signals *signals = calloc(1, sizeof *signals);
    if (!signals)
        return error_no_memory();
    signals->fd = signals->over[0] = signals->over[1] = -1;
    pthread_mutex_init(&signals->mutex, NULL);
    struct error *error = open_signals(signals);
    if (error)
        free_signals(signals);
    else
        *out = signals;
    return error;
}

void signals_handle(struct signals *signals, void (*stop)(void *ctx), void (*reload)(void *ctx), void *ctx) {
    AUTO_LOCK(&signals->mutex);
    signals->stop = stop;
    signals->reload = reload;
    signals->ctx = ctx;
    if (signals->asked && stop)
        stop(ctx);
}

void signals_end(struct signals *signals) {
    if (!signals)
        return;
    close(signals->over[1]);
    signals->over[1] = -1;
    pthread_join(signals->thread, NULL);
    free_signals(signals);
}
