// SPDX-License-Identifier: Apache-2.0
// The selection of workloads for `wharf status`, and the wait for a host or the workers.
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/remote/remote.h"
#include "core/cmd/status/status.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 500
#define PATH_MAX_BYTES ((size_t)64 << 10)
#define LONG_NS CLOCK_MINUTE // a workload that has waited for longer counts as waiting, as for the host

bool status_filter_narrows(const struct status_filter *filter) {
    return filter->kind || filter->name || filter->cluster || filter->phase || filter->selector;
}

void status_filter_query(const struct status_filter *filter, struct buffer *path) {
    remote_parameter(path, "namespace", filter->namespace_);
    remote_parameter(path, "kind", filter->kind);
    remote_parameter(path, "name", filter->name);
    remote_parameter(path, "cluster", filter->cluster);
    remote_parameter(path, "phase", filter->phase);
}

// One version of a resource, which the management cluster may not serve.
struct selection {
    const struct status_filter *filter;
    struct client *client;
    const struct json *kind; // of the host's adapters
    const char *version;
    struct json *uids; // an object: the chosen items
};

static struct error *read_page(const struct selection *selection, const char *next, struct response *response) {
    const char *group = json_string_or(json_get(selection->kind, "group"), "");
    const char *namespace_ = selection->filter->namespace_;
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    buffer_printf(&path, "%s%s/%s%s%s/%s?labelSelector=", *group ? "/apis/" : "/api", group, selection->version,
                  namespace_ ? "/namespaces/" : "", namespace_ ? namespace_ : "",
                  json_string_or(json_get(selection->kind, "resource"), ""));
    text_percent_encode(&path, selection->filter->selector);
    buffer_printf(&path, "&limit=%d", PAGE);
    remote_parameter(&path, "continue", next);
    struct error *error = path.failed ? error_no_memory() : ask_raw(selection->client, path.data, response);
    for (const struct json *i = json_first(json_get(response->value, "items")); !error && i; i = json_next(i)) {
        const char *uid = json_string(json_path(i, "metadata", "uid", NULL));
        if (uid && !json_set(selection->uids, uid, json_new_bool(true)))
            error = error_no_memory();
    }
    return error;
}

static struct error *read_version(const struct selection *selection, bool *served) {
    AUTO_TEXT next = NULL;
    do {
        __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
        struct error *error = read_page(selection, next, &response);
        *served = response.code != 404;
        if (error || !*served)
            return error;
        if (response.reason != REASON_OK)
            return error_new(ERROR_REFUSED, "--selector: %s.%s: %s",
                             json_string_or(json_get(selection->kind, "resource"), ""),
                             json_string_or(json_get(selection->kind, "group"), ""), response.message);
        const char *more = json_string(json_path(response.value, "metadata", "continue", NULL));
        free(next);
        next = more && *more ? strdup(more) : NULL;
    } while (next);
    return NULL;
}

// Lists the first version that is served.
static struct error *read_kind(struct selection *selection) {
    struct error *error = NULL;
    bool served = false;
    const struct json *versions = json_get(selection->kind, "versions");
    for (const struct json *v = json_first(versions); !error && !served && v; v = json_next(v)) {
        selection->version = json_string_or(v, "");
        error = read_version(selection, &served);
    }
    return error;
}

// Whether a workload of the kind is among the items.
static bool has_kind(const struct json *items, const struct json *kind) {
    for (const struct json *i = json_first(items); i; i = json_next(i))
        if (text_equal(json_string(json_get(i, "resource")), json_string(json_get(kind, "resource"))) &&
            text_equal(json_string(json_get(i, "group")), json_string(json_get(kind, "group"))))
            return true;
    return false;
}

static void drop_others(const struct json *uids, struct json *items) {
    for (struct json *item = json_first(items), *next; item; item = next) {
        next = json_next(item);
        if (json_get(uids, json_string_or(json_get(item, "uid"), "")))
            continue;
        json_detach_child(items, item);
        json_free(item);
    }
}

struct error *status_filter_select(const struct status_filter *filter, struct remote *remote, struct json *items) {
    if (!filter->selector)
        return NULL;
    AUTO_JSON adapters = NULL;
    AUTO_JSON uids = json_new_object();
    struct selection selection = {.filter = filter, .uids = uids};
    TRY(uids ? remote_get(remote, "/api/v1/adapters", &adapters) : error_no_memory());
    struct error *error = remote_management(remote, &selection.client);
    for (const struct json *a = json_first(json_get(adapters, "items")); !error && a; a = json_next(a))
        for (const struct json *k = json_first(json_get(a, "kinds")); !error && k; k = json_next(k))
            if (has_kind(items, k)) {
                selection.kind = k;
                error = read_kind(&selection);
            }
    if (!error)
        drop_others(uids, items);
    return error;
}

static bool increment(struct json *counts, const char *key) {
    return json_set(counts, key, json_new_int64(json_int64(json_get(counts, key), 0) + 1));
}

static bool waits_long(const struct json *waiting) {
    int64_t since_ns = 0;
    return clock_parse_rfc3339(json_string_or(json_get(waiting, "since"), ""), &since_ns) &&
           clock_now().wall_ns - since_ns > LONG_NS;
}

struct error *status_count(const char *namespace_, const struct json *items, struct json **out) {
    AUTO_JSON counts = json_new_object();
    struct json *phases = json_new_object(), *waiting = json_new_object();
    bool good = counts && json_set(counts, "namespace", json_new_string(namespace_)) &&
                json_set(counts, "total", json_new_int64((int64_t)json_size(items)));
    good = json_set(counts, "byPhase", phases) && good; // takes it in any case, as the next one
    good = json_set(counts, "waiting", waiting) && good;
    for (const struct json *item = json_first(items); good && item; item = json_next(item)) {
        const struct json *waits = json_get(item, "waiting");
        good = increment(phases, json_string_or(json_get(item, "phase"), ""));
        if (good && waits_long(waits))
            good = increment(waiting, json_string_or(json_get(waits, "reason"), ""));
    }
    *out = good ? TAKE(counts) : NULL;
    return good ? NULL : error_no_memory();
}

#define AGAIN_NS (500 * CLOCK_MS)

static struct error *check_host(struct remote *remote, char **obstacle) {
    AUTO_JSON status = NULL;
    struct error *error = remote_get(remote, "/api/v1/status", &status);
    bool ready = json_bool(json_get(status, "ready"), false);
    if (!error && !ready && !(*obstacle = strdup("the host is not ready")))
        error = error_no_memory();
    return error;
}

static struct error *check_workers(const struct status_wait *wait, struct remote *remote, char **obstacle) {
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
        struct error *error = wait->workers ? check_workers(wait, remote, obstacle) : check_host(remote, obstacle);
        bool again = wait->wait && (error ? error->code == ERROR_IO : !!*obstacle);
        if (!again || !remote_wait(until_ns, AGAIN_NS))
            return error;
        error_free(error);
        free(*obstacle);
    }
}
