// SPDX-License-Identifier: Apache-2.0
#include "core/cmd/exec/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

static struct termios before; // for the handler of signals
static volatile sig_atomic_t raw;

void terminal_restore(void) {
    if (raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    raw = 0;
}

// A terminal that stays raw is of no use to its shell.
static void on_signal(int number) {
    terminal_restore();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

struct error *terminal_raw(void) {
    static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return error_new(ERROR_IO, "cannot read the terminal's settings: %s", strerror(errno));
    struct termios wanted = before;
    cfmakeraw(&wanted);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        (void)signal(ends[i], on_signal);
    raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &wanted) == 0)
        return NULL;
    raw = 0;
    return error_new(ERROR_IO, "cannot make the terminal raw: %s", strerror(errno));
}

bool terminal_size(unsigned short *columns, unsigned short *rows) {
    struct winsize size;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return false;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return true;
}

int terminal_watch_size(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void terminal_resized(int fd) {
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        ;
}
