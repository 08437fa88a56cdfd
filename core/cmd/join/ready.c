// SPDX-License-Identifier: Apache-2.0
// The worker in the running host.
#include "core/base/text.h"
#include "core/cmd/join/join.h"

#include <stdio.h>
#include <stdlib.h>

#define AGAIN_NS (200 * CLOCK_MS)

struct error *join_open_host(struct call *call, const struct setup *setup, const char *namespace_) {
    bool local = setup->from_file && config_serves(&setup->config->serve);
    const char *variable = setup->named ? NULL : getenv("WHARF_SERVER");
    const char *own = flags_value(call, "management-kubeconfig");
    struct remote_options options = {.server = variable && *variable != '\0' ? variable : NULL,
                                     .host_namespace = namespace_};
    if (local)
        options.config = setup->config->path;
    else {
        options.kubeconfig = own ? own : flags_value(call, "kubeconfig");
        options.context = flags_value(call, "management-context");
    }
    return call->remote ? NULL : remote_open(&options, &call->remote);
}

static struct error *not_ready(const struct join *join, const struct json *worker) {
    if (!worker)
        return error_new(
            ERROR_NOT_FOUND,
            "the host does not list worker %s: its configuration needs workersFrom: {secrets: true}, and its "
            "namespace must be %s",
            join->name, join->namespace_);
    const char *reason = json_string_or(json_get(worker, "reason"), "");
    return error_new(ERROR_REFUSED, "the host shows worker %s as %s%s%s", join->name,
                     json_string_or(json_get(worker, "state"), "unknown"), *reason != '\0' ? ": " : "", reason);
}

struct error *join_await_ready(const struct join *join, struct call *call) {
    int64_t until_ns = clock_now().mono_ns + join->timeout_ns;
    struct error *error = join_open_host(call, &join->setup, join->namespace_);
    for (bool reached = false;;) {
        AUTO_JSON worker = NULL;
        if (!error)
            error = remote_worker(call->remote, join->name, &worker, NULL);
        if (error && !reached) {
            printf("no host answers yet (%s): with workersFrom: {secrets: true} it uses worker %s once it runs\n",
                   error_text(error), join->name);
            error_free(error);
            return NULL;
        }
        reached = true;
        if (text_equal(json_string(json_get(worker, "state")), "Ready")) {
            printf("host: worker %s is Ready\n", join->name);
            return NULL;
        }
        if (!remote_wait(until_ns, AGAIN_NS))
            return error ? error : not_ready(join, worker);
        error_free(error);
        error = NULL;
    }
}
