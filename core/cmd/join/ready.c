// SPDX-License-Identifier: Apache-2.0
// What the running host says of the worker.
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/cmd/remote/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AGAIN_NS (200 * CLOCK_MS)

struct error *join_open_host(const struct join_host *host, struct remote **out) {
    bool local = host->enabled && host->enabled->from_file && config_serves(&host->enabled->config->serve);
    bool named = host->enabled && host->enabled->named;
    const char *given = named ? NULL : getenv("WHARF_SERVER");
    const struct remote_options options = {
        .server = given && *given != '\0' ? given : NULL,
        .kubeconfig = local ? NULL : host->kubeconfig,
        .context = local ? NULL : host->context,
        .config = local ? host->enabled->config->path : NULL,
        .host_namespace = host->namespace_,
    };
    return remote_open(&options, out);
}

struct error *join_worker_state(struct remote *host, const char *name, struct json **out) {
    AUTO_JSON workers = NULL;
    *out = NULL;
    struct error *error = remote_get(host, "/api/v1/workers", &workers);
    for (const struct json *w = json_first(json_get(workers, "items")); !error && w && !*out; w = json_next(w))
        if (text_equal(json_string(json_get(w, "name")), name) && !(*out = json_copy(w)))
            error = error_no_memory();
    return error;
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

static struct error *await_ready(const struct join *join, struct remote *host) {
    int64_t until_ns = clock_now().mono_ns + join->timeout_ns;
    for (;;) {
        AUTO_JSON worker = NULL;
        struct error *error = join_worker_state(host, join->name, &worker);
        if (!error && text_equal(json_string(json_get(worker, "state")), "Ready")) {
            printf("host: worker %s is Ready\n", join->name);
            return NULL;
        }
        if (clock_now().mono_ns >= until_ns)
            return error ? error : not_ready(join, worker);
        error_free(error);
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
}

struct error *join_await_ready(const struct join *join, const struct join_host *options) {
    struct remote *host = NULL;
    AUTO_JSON worker = NULL;
    struct error *error = join_open_host(options, &host);
    if (!error)
        error = join_worker_state(host, join->name, &worker);
    if (!error)
        error = await_ready(join, host);
    else {
        printf("no host answers yet (%s): with workersFrom: {secrets: true} it uses worker %s once it runs\n",
               error_text(error), join->name);
        error_free(error);
        error = NULL;
    }
    remote_close(host);
    return error;
}
