// SPDX-License-Identifier: Apache-2.0
// The ConfigMap in which operators' orders about workers are kept.
#include "core/cmd/operate/operate.h"

#include "core/base/memory.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/host/check/rights.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 5 // at a write that conflicts, as client-go's retry.DefaultRetry

static const struct resource configmaps = {.group = "", .version = "v1", .plural = "configmaps"};

// {"metadata": {...}, "data": {worker: entry, or null}}
static struct json *make_body(const char *namespace_, const char *version, const char *worker,
                              const struct worker_order *order) {
    AUTO_JSON entry = json_new_object();
    AUTO_JSON metadata = version ? document_make("{'resourceVersion':%s}", version)
                                 : document_make("{'name':'" RIGHTS_WORKERS "','namespace':%s}", namespace_);
    bool ordered = order->cordoned || order->drain;
    bool good = metadata && entry && (!order->cordoned || json_set(entry, "cordoned", json_new_bool(true))) &&
                (!order->drain || json_set(entry, "drain", json_new_string(order->drain)));
    AUTO_TEXT text = good && ordered ? json_text(entry, NULL) : NULL;
    return good && (text || !ordered)
               ? document_make("{'apiVersion':'v1','kind':'ConfigMap','metadata':%j,'data':{%s:%s}}", metadata, worker,
                               text)
               : NULL;
}

static struct error *send(struct client *client, struct request *request, const struct json *body,
                          struct response *response) {
    AUTO_TEXT text = body ? json_text(body, &request->body_len) : NULL;
    if (!text)
        return error_no_memory();
    request->body = text;
    return ask(client, request, response);
}

// One attempt. *conflict: another write came first.
static struct error *try_write(struct client *client, const char *namespace_, const char *worker,
                               const struct worker_order *order, bool *conflict) {
    __attribute__((cleanup(ask_cleanup))) struct response found = {.retry_after_ns = -1};
    __attribute__((cleanup(ask_cleanup))) struct response written = {.retry_after_ns = -1};
    struct request request = {
        .verb = VERB_GET, .resource = configmaps, .namespace_ = namespace_, .name = RIGHTS_WORKERS};
    struct error *error = ask(client, &request, &found);
    bool missing = found.reason == REASON_NOT_FOUND, is_order = order->cordoned || order->drain;
    if (error || (missing && !is_order))
        return error;
    if (!missing && found.reason != REASON_OK)
        return error_new(ERROR_IO, "ConfigMap %s/%s: %s", namespace_, RIGHTS_WORKERS, found.message);
    request.verb = missing ? VERB_CREATE : VERB_MERGE_PATCH;
    AUTO_JSON body = make_body(namespace_, missing ? NULL : object_version(found.object->value), worker, order);
    error = send(client, &request, body, &written);
    *conflict = written.reason == REASON_CONFLICT || written.reason == REASON_ALREADY_EXISTS;
    if (!error && !*conflict && written.reason != REASON_OK)
        error = error_new(ERROR_IO, "ConfigMap %s/%s: %s", namespace_, RIGHTS_WORKERS, written.message);
    return error;
}

struct error *order_write(struct client *management, const char *namespace_, const char *worker,
                          const struct worker_order *order) {
    for (int i = 0; i < ATTEMPTS; i++) {
        bool conflict = false;
        struct error *error = try_write(management, namespace_, worker, order, &conflict);
        if (error || !conflict)
            return error;
    }
    return error_new(ERROR_IO, "ConfigMap %s/%s: other writes keep changing it: try again", namespace_, RIGHTS_WORKERS);
}

static struct error *no_such_worker(const struct json *items, const char *worker) {
    size_t count = json_size(items);
    const char **names = calloc(count + 1, sizeof *names);
    AUTO_BUFFER(list, 65536);
    size_t n = 0;
    for (const struct json *item = json_first(items); item && names; item = json_next(item)) {
        names[n] = json_string_or(json_get(item, "name"), "");
        buffer_printf(&list, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    const char *meant = names ? suggest(worker, names, n) : NULL;
    struct error *error = error_new(ERROR_NOT_FOUND, "worker \"%s\" not found; the host has %s%s%s%s", worker,
                                    list.len > 0 && list.data ? list.data : "none", meant ? "; did you mean \"" : "",
                                    meant ? meant : "", meant ? "\"?" : "");
    free(names);
    return error;
}

struct error *order_find_worker(struct remote *remote, const char *worker, bool *warned, struct json **out) {
    AUTO_JSON list = NULL;
    struct error *error = remote_worker(remote, worker, out, &list);
    if (error && error->code == ERROR_IO) {
        if (!*warned)
            fprintf(stderr, "warning: %s\n", error_text(error));
        *warned = true;
        error_free(error);
        return NULL;
    }
    *warned = false;
    return error || *out ? error : no_such_worker(json_get(list, "items"), worker);
}
