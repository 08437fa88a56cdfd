// SPDX-License-Identifier: Apache-2.0
#include "tests/demo/keep.h"
#include "tests/support/control.h"
#include "tests/support/wharf_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void print_guide(const struct scene *scene) {
    AUTO_TEXT sandbox = built_path("wharf-sandbox");
    const char *program = sandbox ? sandbox : "wharf-sandbox", *folder = scene->directory;
    printf("\nThe clusters and wharf stay until Ctrl-C or \"%s stop --dir %s\":\n\n", program, folder);
    for (size_t i = 0; i < scene->count; i++)
        printf("  %-5s %s  %s/%s.kubeconfig\n", scene->clusters[i].name, front_url(scene->clusters[i].front), folder,
               scene->clusters[i].name);
    printf("\n  export KUBECONFIG=%s/mgmt.kubeconfig\n"
           "  kubectl get jobs\n"
           "  kubectl create -f examples/job.yaml\n"
           "  kubectl get events --watch\n"
           "  %s cut w1 --dir %s\n"
           "  %s back w1 --dir %s\n"
           "  tail -f %s/wharf.log\n\n",
           folder, program, folder, program, folder, folder);
    fflush(stdout);
}

struct error *keep(struct scene *scene) {
    struct control *control = NULL;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    struct error *error = fd < 0 ? error_new(ERROR_IO, "cannot wait for signals: %s", strerror(errno)) : NULL;
    if (!error)
        error = control_open(scene->directory, &control);
    if (!error)
        print_guide(scene);
    for (bool stop = error; !stop;) {
        struct pollfd fds[] = {{.fd = control_fd(control), .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        poll(fds, 2, 500);
        if (!wharf_runs(scene)) {
            error = error_new(ERROR_INTERNAL, "wharf exited with %d", wharf_exit_code(scene));
            stop = true;
        }
        stop =
            stop || (fds[1].revents & POLLIN) != 0 || ((fds[0].revents & POLLIN) != 0 && control_serve(control, scene));
    }
    control_close(control);
    if (fd >= 0)
        close(fd);
    return error;
}

void keep_hint(void) {
    puts("\nTo go on with these clusters by hand, with kubectl: make demo KEEP=1\n"
         "For empty ones, and kinds of your own: make sandbox && build/wharf-sandbox --run");
}
