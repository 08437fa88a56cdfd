// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/remote/remote.h"
#include "core/cmd/status/status.h"

#include <stdlib.h>
#include <string.h>

#define AGAIN_NS (500 * CLOCK_MS)

static struct error *ask_host(struct remote *remote, char **obstacle) {
    AUTO_JSON status = NULL;
    struct error *error = remote_get(remote, "/api/v1/status", &status);
    bool ready = json_bool(json_get(status, "ready"), false);
    if (!error && !ready && !(*obstacle = strdup("the host is not ready")))
        error = error_no_memory();
    return error;
}

static struct error *ask_workers(const struct status_wait *wait, struct remote *remote, char **obstacle) {
    AUTO_JSON list = NULL;
    struct error *error = remote_get(remote, "/api/v1/workers", &list);
    bool any = false;
    for (const struct json *w = json_first(json_get(list, "items")); !error && !*obstacle && w; w = json_next(w)) {
        const char *name = json_string_or(json_get(w, "name"), ""), *state = json_string_or(json_get(w, "state"), "");
        if (wait->worker && strcmp(name, wait->worker) != 0)
            continue;
        any = true;
        if (strcmp(state, "Ready") != 0 && !(*obstacle = text_format("worker %s is %s", name, state)))
            error = error_no_memory();
    }
    if (!error && !any)
        *obstacle = text_format("there is no worker%s%s", wait->worker ? " " : "", wait->worker ? wait->worker : "");
    return error || any || *obstacle ? error : error_no_memory();
}

// A host that does not respond may be starting.
struct error *status_await(const struct status_wait *wait, struct remote *remote, char **obstacle) {
    int64_t until_ns = wait->timeout_ns ? clock_after(clock_now().mono_ns, wait->timeout_ns) : CLOCK_NEVER;
    for (;;) {
        *obstacle = NULL;
        struct error *error = wait->workers ? ask_workers(wait, remote, obstacle) : ask_host(remote, obstacle);
        bool again = wait->wait && (error ? error->code == ERROR_IO : !!*obstacle);
        if (!again || !remote_wait(until_ns, AGAIN_NS))
            return error;
        error_free(error);
        free(*obstacle);
    }
}
