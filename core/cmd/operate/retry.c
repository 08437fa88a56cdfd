// SPDX-License-Identifier: Apache-2.0
// `wharf retry`.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/remote/remote.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

enum { NAMESPACE };
static const struct flag flags[] = {[NAMESPACE] = FLAG_NAMESPACE};

static struct error *check_unfinished(const char *object, const struct json *item) {
    const char *phase = json_string_or(json_get(item, "phase"), "");
    if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        return NULL;
    return error_new(ERROR_REFUSED,
                     "%s has finished (%s) and is not changed; delete it and create it again to run it again", object,
                     phase);
}

// Reads the workload's group and resource from the host.
static struct error *describe(struct call *call, struct json **out) {
    AUTO_BUFFER(path, 8192);
    remote_object_path(call, "/api/v1/workloads", &path);
    TRY(path.failed ? error_no_memory() : remote_get(call->remote, path.data, out));
    if (!json_bool(json_get(*out, "ours"), true))
        return error_new(ERROR_REFUSED, "%s is not delegated to this host: %s", call->object,
                         json_string_or(json_get(*out, "why"), ""));
    return check_unfinished(call->object, *out);
}

// Tries the versions of the adapter until the server serves one.
static struct error *annotate(struct call *call, struct client *client, const struct json *versions,
                              const struct json *item) {
    char now[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(clock_now().wall_ns, now);
    AUTO_TEXT body = document_text("{'metadata':{'annotations':{'wharf.dev/retry':%s}}}", now);
    if (!body)
        return error_no_memory();
    for (const struct json *version = json_first(versions); version; version = json_next(version)) {
        __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
        const struct request request = {.verb = VERB_MERGE_PATCH,
                                        .resource = {.group = json_string_or(json_get(item, "group"), ""),
                                                     .version = json_string_or(version, ""),
                                                     .plural = json_string_or(json_get(item, "resource"), "")},
                                        .namespace_ = remote_namespace(call),
                                        .name = json_string_or(json_get(item, "name"), ""),
                                        .body = body,
                                        .body_len = strlen(body)};
        struct error *error = ask(client, &request, &response);
        if (error || response.reason == REASON_OK)
            return error;
        if (response.reason != REASON_KIND_NOT_FOUND)
            return error_new(ERROR_IO, "%s: %s", call->object, response.message);
    }
    return error_new(ERROR_NOT_FOUND, "%s: its kind is not served", call->object);
}

// The versions of the item's kind in the host's adapters; a value of `adapters`.
static const struct json *versions_of(const struct json *adapters, const struct json *item) {
    const char *group = json_string_or(json_get(item, "group"), ""), *kind = json_string_or(json_get(item, "kind"), "");
    for (const struct json *a = json_first(json_get(adapters, "items")); a; a = json_next(a))
        for (const struct json *k = json_first(json_get(a, "kinds")); k; k = json_next(k))
            if (strcmp(json_string_or(json_get(k, "group"), ""), group) == 0 &&
                strcmp(json_string_or(json_get(k, "kind"), ""), kind) == 0)
                return json_get(k, "versions");
    return NULL;
}

static struct error *run_retry(struct call *call) {
    AUTO_JSON item = NULL;
    AUTO_JSON adapters = NULL;
    struct client *management = NULL;
    TRY(describe(call, &item));
    TRY(remote_get(call->remote, "/api/v1/adapters", &adapters));
    TRY(remote_management(call->remote, &management));
    struct error *error = annotate(call, management, versions_of(adapters, item), item);
    if (!error)
        printf("%s is retried\n", call->object);
    return error;
}

SUBCOMMAND(retry, run_retry, "try a workload at once that waits after a rejection",
           "Sets the annotation wharf.dev/retry on the workload, with the caller's own rights. The host then forgets\n"
           "rejections by workers, and all delays. A workload that has finished is not changed.\n",
           .operand = OPERAND_OBJECT, ASKS_HOST, FLAGS(flags));
