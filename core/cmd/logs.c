// SPDX-License-Identifier: Apache-2.0
// `wharf logs`: the logs of a workload's pods, through the host, from whatever worker has them.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/remote/remote.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAMESPACE,
    FOLLOW,
    ALL_PODS,
    POD,
    CONTAINER,
    TAIL,
    SINCE,
    TIMESTAMPS,
    REMOTE,
    N_FLAGS = REMOTE + REMOTE_N_FLAGS
};
static const struct flag flags[] = {
    [NAMESPACE] = {.name = "namespace",
                   .letter = 'n',
                   .argument = "NAME",
                   .help = "of the object (default: the context's)"},
    [FOLLOW] = {.name = "follow",
                .letter = 'f',
                .help = "continue until the workload has finished, also with pods that start later"},
    [ALL_PODS] = {.name = "all-pods", .help = "of all pods, each line with its pod and container"},
    [POD] = {.name = "pod", .argument = "NAME", .help = "of this pod (default: the newest one that runs or ran)"},
    [CONTAINER] = {.name = "container",
                   .letter = 'c',
                   .argument = "NAME",
                   .help = "of this container (default: the pod's default one)"},
    [TAIL] = {.name = "tail", .argument = "LINES", .help = "only the last lines (default: all)"},
    [SINCE] = {.name = "since", .argument = "DURATION", .help = "only newer lines than this, as in 10m"},
    [TIMESTAMPS] = {.name = "timestamps", .help = "with the time of each line"},
    [REMOTE] = REMOTE_FLAGS,
};

static void put_flag(struct buffer *path, const char *name, const char *given) {
    remote_parameter(path, name, given ? "true" : NULL);
}

static struct error *put_since(struct buffer *path, const char *since) {
    int64_t age_ns = 0;
    if (!since)
        return NULL;
    if (!clock_parse_duration(since, &age_ns) || age_ns <= 0)
        return error_new(ERROR_USAGE, "--since: found \"%s\", expected a duration, as in 10m", since);
    AUTO_TEXT seconds = text_format("%lld", (long long)((age_ns + CLOCK_SECOND - 1) / CLOCK_SECOND));
    remote_parameter(path, "sinceSeconds", seconds);
    return NULL;
}

static struct error *make_path(struct remote *remote, const char *const *values, struct buffer *path) {
    const char *namespace_ = values[NAMESPACE];
    int64_t lines = 0;
    if (values[TAIL] && !text_to_int64(values[TAIL], &lines))
        return error_new(ERROR_USAGE, "--tail: found \"%s\", expected a number of lines", values[TAIL]);
    struct error *error = namespace_ ? NULL : remote_namespace(remote, &namespace_);
    if (!error)
        error = remote_object_path("/api/v1/logs", &values[N_FLAGS], namespace_, path);
    if (error)
        return error;
    put_flag(path, "follow", values[FOLLOW]);
    put_flag(path, "allPods", values[ALL_PODS]);
    put_flag(path, "timestamps", values[TIMESTAMPS]);
    remote_parameter(path, "pod", values[POD]);
    remote_parameter(path, "container", values[CONTAINER]);
    remote_parameter(path, "tailLines", values[TAIL]);
    error = put_since(path, values[SINCE]);
    return error || !path->failed ? error : error_no_memory();
}

static void on_open(void *ctx, const char *note) {
    (void)ctx;
    if (note)
        text_print_line(stderr, note);
}

static bool on_data(void *ctx, const char *bytes, size_t len) {
    (void)ctx;
    return fwrite(bytes, 1, len, stdout) == len && fflush(stdout) == 0;
}

static struct error *print_logs(void *ctx, struct remote *remote) {
    const char *const *values = ctx;
    AUTO_BUFFER(path, 8192);
    struct error *error = make_path(remote, values, &path);
    return error ? error : remote_stream(remote, path.data, &(struct remote_reader){on_open, on_data, NULL});
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 2];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_logs, arguments, values, &code))
        return code;
    if (!values[N_FLAGS])
        return flags_usage_error(&subcommand_logs, "found no object, expected KIND/NAME, as in job/train");
    return remote_use(values, REMOTE, print_logs, values);
}

const struct subcommand subcommand_logs = {
    .name = "logs",
    .run = run,
    .operand = MAIN_OBJECT,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "print the logs of a workload's pods",
    .text = "Prints the log of a pod of the workload's mirror, from the worker that has it. The caller needs no\n"
            "credentials there, but the right to get pods/log in the workload's namespace of the management cluster.\n"
            "Works until the mirror is deleted, for mirrorRetention after the end. Which pod it is goes to stderr.\n",
};
