// SPDX-License-Identifier: Apache-2.0
// Properties of a process that adapters must not change: threads, file descriptors, signal handlers, standard output.
// The kit compares the properties after each call, and reports a change with the function.
#include "core/conform/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SIGNAL 1
#define N_SIGNALS 32
#define LAST_WORDS 200
#define THREAD_LOOKS 500
#define THREAD_LOOK_NS 1000000

static struct sigaction actions[N_SIGNALS]; // the expected handlers; static, since too large for the stack

static size_t thread_count(void) {
    struct stat info;
    return stat("/proc/self/task", &info) == 0 ? (size_t)info.st_nlink : 0; // a folder each, and two more
}

// The final number of threads: a joined thread may still be in /proc for a moment.
static size_t lasting_threads(size_t before) {
    size_t count = thread_count();
    for (int i = 0; i < THREAD_LOOKS && count > before; i++, count = thread_count())
        nanosleep(&(struct timespec){.tv_nsec = THREAD_LOOK_NS}, NULL);
    return count;
}

// The lowest free descriptor.
static int lowest_free(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd;
}

static off_t written(void) {
    struct stat info;
    return fstat(STDOUT_FILENO, &info) == 0 ? info.st_size : 0;
}

static void note_signals(void) {
    for (int i = FIRST_SIGNAL; i < N_SIGNALS; i++)
        sigaction(i, NULL, &actions[i]);
}

void surroundings_note(struct run *run) {
    run->around = (struct surroundings){thread_count(), lowest_free(), written()};
    note_signals();
}

static void check_signals(struct run *run, enum function function) {
    for (int i = FIRST_SIGNAL; i < N_SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(i, NULL, &now) == 0 && now.sa_handler != actions[i].sa_handler)
            run_report(run, RULE_THREADS, function, "signal", "the handler of signal %d (%s) is another one", i,
                       strsignal(i));
    }
}

static void check_written(struct run *run, enum function function, off_t before, off_t now) {
    char words[LAST_WORDS + 1];
    size_t size = now - before < LAST_WORDS ? (size_t)(now - before) : LAST_WORDS;
    ssize_t len = now > before ? pread(STDOUT_FILENO, words, size, before) : 0;
    words[len > 0 ? len : 0] = '\0';
    if (len > 0)
        run_report(run, RULE_IO, function, "output", "wrote to standard output or error: \"%s\"", words);
}

void surroundings_check_output(struct run *run, enum function function) {
    off_t before = run->around.written, now = written();
    if (now != before)
        check_written(run, function, before, now);
    run->around.written = now;
}

void surroundings_check(struct run *run, enum function function) {
    surroundings_check_output(run, function);
    struct surroundings before = run->around,
                        now = {lasting_threads(before.threads), lowest_free(), run->around.written};
    if (now.threads > before.threads)
        run_report(run, RULE_THREADS, function, "thread", "started %zu threads that still run",
                   now.threads - before.threads);
    // The load itself keeps the adapter's file open.
    if (now.lowest_free != before.lowest_free && function != CALL_LOAD)
        run_report(run, RULE_IO, function, "descriptor",
                   now.lowest_free > before.lowest_free ? "left a file or socket open"
                                                        : "closed a file or socket of the host");
    run->around = now;
}

void surroundings_check_signals(struct run *run, enum function function) {
    check_signals(run, function);
    note_signals();
}
