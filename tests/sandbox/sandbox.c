// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/sandbox.h"
#include "core/base/clock.h"
#include "tests/sandbox/detach.h"
#include "tests/support/wharf_child.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define READY_WITHIN (60 * CLOCK_SECOND)
#define END_WITHIN (12 * CLOCK_SECOND) // wharf ends by itself after ten seconds at the latest
#define LOOK_MS 500                    // how often the state of wharf is checked

static int block_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return fd;
}

char *sandbox_directory(const struct options *options) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (options->directory) {
        char here[SCENE_PATH];
        if (options->directory[0] == '/' || !getcwd(here, sizeof here))
            return text_format("%s", options->directory);
        return text_resolve_path(here, options->directory);
    }
    if (runtime && *runtime == '/')
        return text_format("%s/wharf-sandbox", runtime);
    return text_format("/tmp/wharf-sandbox-%u", (unsigned)geteuid());
}

static struct error *open_scene(struct sandbox *sandbox) {
    struct scene_options options = {
        .workers = sandbox->options->workers,
        .directory = sandbox->directory,
        .world = {.seed = random_system(), .managed_fields = true, .pods = true, .pod_start_ns = 600 * CLOCK_MS}};
    struct error *error = scene_open(&options, &sandbox->scene);
    if (!error)
        sandbox->scene->wharf = sandbox->wharf;
    return error;
}

static struct error *start_wharf(struct sandbox *sandbox) {
    struct error *error = wharf_start(sandbox->scene);
    int64_t until_ns = clock_now().mono_ns + READY_WITHIN;
    while (!error && !wharf_is_ready(sandbox->scene)) {
        if (!wharf_runs(sandbox->scene)) {
            wharf_print_log(sandbox->scene, 10, stderr);
            error = error_new(ERROR_INTERNAL, "wharf exited at startup");
        } else if (clock_now().mono_ns > until_ns) {
            wharf_print_log(sandbox->scene, 10, stderr);
            error =
                error_new(ERROR_INTERNAL, "wharf is not ready after %lld s", (long long)(READY_WITHIN / CLOCK_SECOND));
        } else {
            usleep(20000);
        }
    }
    return error;
}

static struct error *start(struct sandbox *sandbox) {
    struct error *error = kinds_load(sandbox);
    if (!error && !(sandbox->wharf = adapters_find_wharf()))
        error = error_new(ERROR_NOT_FOUND, "the program wharf is not beside this one");
    // Before any file in the directory is written: it may be in use.
    if (!error)
        error = scene_use_directory(sandbox->directory, &sandbox->made);
    if (!error)
        error = control_open(sandbox->directory, &sandbox->control);
    if (!error)
        error = adapters_probe(sandbox->wharf, sandbox->options->adapters, sandbox->directory, &sandbox->crds,
                               &sandbox->adapters);
    if (!error)
        error = open_scene(sandbox);
    if (!error)
        error = kinds_install(sandbox);
    if (!error)
        error = guide_write(sandbox);
    return !error && sandbox->options->run ? start_wharf(sandbox) : error;
}

// Serves until a signal or "stop", even if wharf exits: the user may want to run it in a debugger.
static void serve(struct sandbox *sandbox, int signals) {
    bool running = sandbox->scene->child != 0;
    struct pollfd fds[] = {{.fd = control_fd(sandbox->control), .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        poll(fds, 2, LOOK_MS);
        if (running && !wharf_runs(sandbox->scene)) {
            running = false;
            fprintf(stderr, "wharf exited with %d, see %s/wharf.log\n", wharf_exit_code(sandbox->scene),
                    sandbox->directory);
        }
        if ((fds[1].revents & POLLIN) != 0)
            return;
        if ((fds[0].revents & POLLIN) != 0 && control_serve(sandbox->control, sandbox->scene))
            return;
    }
}

static void end(struct sandbox *sandbox) {
    if (sandbox->scene && sandbox->scene->child)
        wharf_end(sandbox->scene, SIGTERM, END_WITHIN);
    if (sandbox->control && sandbox->scene)
        guide_remove(sandbox);
    control_close(sandbox->control);
    scene_close(sandbox->scene);
    if (sandbox->made)
        rmdir(sandbox->directory); // unless there are other files in it
    adapters_free(&sandbox->adapters);
    kinds_free(sandbox);
    free(sandbox->wharf);
}

static int run(const struct options *options, char *directory) {
    struct sandbox sandbox = {.options = options, .directory = directory, .default_directory = !options->directory};
    struct detach detach = {.status_fd = -1};
    int code;
    if (options->detach && detach_begin(&detach, &code))
        return code;
    int signals = block_signals();
    struct error *error = start(&sandbox);
    if (!error) {
        guide_print(&sandbox);
        detach_ready(&detach);
        serve(&sandbox, signals);
    } else {
        fprintf(stderr, "error: %s\n", error_text(error));
    }
    code = error ? EXIT_FAILURE : EXIT_SUCCESS;
    error_free(error);
    end(&sandbox);
    return code;
}

static int ask(const struct options *options, const char *directory) {
    AUTO_BUFFER(answer, (size_t)1 << 20);
    AUTO_TEXT command =
        text_format("%s%s%s", options->command, options->cluster ? " " : "", options->cluster ? options->cluster : "");
    struct error *error = command ? control_ask(directory, command, &answer) : error_no_memory();
    if (error)
        fprintf(stderr, "error: %s\n", error_text(error));
    else
        fputs(answer.data ? answer.data : "", stdout);
    int code = error ? EXIT_FAILURE : EXIT_SUCCESS;
    error_free(error);
    return code;
}

int main(int argc, char **argv) {
    struct options options;
    int code = options_read(argc, argv, &options);
    if (code >= 0)
        return code;
    AUTO_TEXT directory = sandbox_directory(&options);
    if (!directory) {
        fputs("error: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    code = options.command ? ask(&options, directory) : run(&options, directory);
    return fflush(stdout) == 0 ? code : EXIT_FAILURE;
}
