// SPDX-License-Identifier: Apache-2.0
// wharf-adapter: one adapter in a process of its own. The host starts it with two descriptors: the channel, and the
// adapter's checked file. It loads the adapter, says what was loaded, and answers calls until the channel ends. Nothing
// but the channel is left to the adapter's code (sandbox.h). One thread, no signal handlers of its own.
#include "core/adapter/process/channel.h"
#include "core/base/clock.h"
#include "core/isolate/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD_DESCRIPTORS 4096
#define SLICE_NS 100000 // the least that Linux accepts

// Of a container's last resort: better this process than the host.
static void offer_to_oom_killer(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) < 0)
        errno = 0; // only a preference
    close(fd);
}

// The engine's thread waits for the answer, so this process should run soon, and works briefly: a short slice makes its
// turn come early on a busy machine (Linux 6.12, EEVDF). Older kernels ignore or refuse the request.
static void ask_for_short_slices(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline_ns, period_ns;
    } attributes = {.size = 48, .nice = getpriority(PRIO_PROCESS, 0), .slice_ns = SLICE_NS}; // struct sched_attr
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// The host marks its descriptors close-on-exec; libraries may not. Before Linux 5.9 one by one.
static void close_others(void) {
    const int first = CHANNEL_FILE_FD + 1;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return;
#endif
    for (int fd = first; fd < OLD_DESCRIPTORS; fd++)
        close(fd);
}

static void prepare(void) {
    static const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT}; // for the host, which ends this process
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "wharf-adapter"); // not that of the descriptor that it was started by
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    close_others();
    ask_for_short_slices();
    offer_to_oom_killer();
}

// Some other program, or a user, started this one.
static bool has_channel(void) {
    return fcntl(CHANNEL_FD, F_GETFD) >= 0 && fcntl(CHANNEL_FILE_FD, F_GETFD) >= 0;
}

int main(void) {
    if (!has_channel()) {
        fputs("This is the program in which wharf runs an isolated adapter. See docs/adapters.md.\n", stderr);
        return 2;
    }
    prepare();
    __attribute__((cleanup(isolate_free))) struct isolate isolate = {.channel = CHANNEL_FD};
    if (!isolate_load(&isolate))
        return 1;
    while (isolate_serve(&isolate))
        ;
    return 0;
}
