// SPDX-License-Identifier: Apache-2.0
// `wharf logs`: the logs of a workload's pods, through the host.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/remote/remote.h"

#include <stdlib.h>
#include <string.h>

enum { NAMESPACE, FOLLOW, ALL_PODS, POD, CONTAINER, TAIL, SINCE, TIMESTAMPS };
static bool is_number(const char *text) {
    int64_t number = 0;
    return text_to_int64(text, &number);
}

static const struct flag flags[] = {
    [NAMESPACE] = FLAG_NAMESPACE,
    [FOLLOW] = FLAG("follow", 'f', "continue until the workload has finished, also with pods that start later"),
    [ALL_PODS] = FLAG("all-pods", 0, "logs of all pods, each line with its pod and container"),
    [POD] = VALUE_FLAG("pod", 0, "NAME", "this pod (default: the newest one that runs or ran)"),
    [CONTAINER] = VALUE_FLAG("container", 'c', "NAME", "this container (default: the pod's default container)"),
    [TAIL] = VALUE_FLAG("tail", 0, "LINES", "only the last lines (default: all)", .check = is_number,
                        .expected = "a number of lines"),
    [SINCE] = VALUE_FLAG("since", 0, "DURATION", "only lines newer than this age", CHECK_DURATION),
    [TIMESTAMPS] = FLAG("timestamps", 0, "print the time of each line"),
};

static struct error *make_path(struct call *call, struct buffer *path) {
    static const struct {
        size_t flag;
        const char *name;
    } parameters[] = {{FOLLOW, "follow"}, {ALL_PODS, "allPods"},    {TIMESTAMPS, "timestamps"},
                      {POD, "pod"},       {CONTAINER, "container"}, {TAIL, "tailLines"}};
    const char *since = call->values[SINCE];
    int64_t age_ns = flags_duration(since);
    if (since && age_ns <= 0)
        return error_new(ERROR_USAGE, "--since: found \"%s\", expected a duration, as in 10m", since);
    AUTO_TEXT seconds = text_format("%lld", (long long)((age_ns + CLOCK_SECOND - 1) / CLOCK_SECOND));
    remote_object_path(call, "/api/v1/logs", path);
    for (size_t i = 0; i < COUNT(parameters); i++) {
        const char *value = call->values[parameters[i].flag];
        remote_parameter(path, parameters[i].name, value && *value == '\0' ? "true" : value);
    }
    remote_parameter(path, "sinceSeconds", since ? seconds : NULL);
    return path->failed ? error_no_memory() : NULL;
}

static struct error *run_logs(struct call *call) {
    AUTO_BUFFER(path, 8192);
    TRY(make_path(call, &path));
    return remote_print(call->remote, path.data);
}

SUBCOMMAND(logs, run_logs, "print the logs of a workload's pods",
           "Prints the log of a pod of the workload's mirror, in its worker. The caller needs no\n"
           "credentials there, but the right to get pods/log in the workload's namespace of the management cluster.\n"
           "Works until the mirror is deleted, mirrorRetention after its end. The name of the pod goes to stderr.\n",
           .operand = OPERAND_OBJECT, ASKS_HOST, FLAGS(flags));
