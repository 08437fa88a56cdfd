// SPDX-License-Identifier: Apache-2.0
// `wharf retry`.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/operate/operate.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>

enum { NAMESPACE, REMOTE, N_FLAGS = REMOTE + REMOTE_N_FLAGS };
static const struct flag flags[] = {
    [NAMESPACE] = {.name = "namespace",
                   .letter = 'n',
                   .argument = "NAME",
                   .help = "of the workload (default: the context's)"},
    [REMOTE] = REMOTE_FLAGS,
};

struct retry_target {
    const char *namespace_;
    const char *const *words; // the operand
    char *operand;            // "job/train"
};

static struct error *check_unfinished(const struct retry_target *workload, const struct json *item) {
    const char *phase = json_string_or(json_get(item, "phase"), "");
    if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        return NULL;
    return error_new(ERROR_REFUSED,
                     "%s has finished (%s) and is not changed; delete it and create it again to run it again",
                     workload->operand, phase);
}

// The workload as the host knows it: its group and resource.
static struct error *describe(struct remote *remote, const struct retry_target *workload, struct json **out) {
    AUTO_BUFFER(path, 8192);
    struct error *error = remote_object_path("/api/v1/workloads", workload->words, workload->namespace_, &path);
    if (!error)
        error = remote_get(remote, path.data, out);
    if (!error && !json_bool(json_get(*out, "ours"), true))
        error = error_new(ERROR_REFUSED, "%s is not delegated to this host: %s", workload->operand,
                          json_string_or(json_get(*out, "why"), ""));
    if (!error)
        error = check_unfinished(workload, *out);
    return error;
}

// Annotates it in each version that its adapter knows, until the server serves one.
static struct error *annotate(struct client *client, const struct json *versions, const struct json *item,
                              const struct retry_target *workload) {
    char now[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(clock_now().wall_ns, now);
    AUTO_TEXT body = text_format("{\"metadata\":{\"annotations\":{\"wharf.dev/retry\":\"%s\"}}}", now);
    if (!body)
        return error_no_memory();
    const char *problem = "its kind is not served";
    for (const struct json *version = json_first(versions); version; version = json_next(version)) {
        __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
        const struct request request = {.verb = VERB_MERGE_PATCH,
                                        .resource = {.group = json_string_or(json_get(item, "group"), ""),
                                                     .version = json_string_or(version, ""),
                                                     .plural = json_string_or(json_get(item, "resource"), "")},
                                        .namespace_ = workload->namespace_,
                                        .name = json_string_or(json_get(item, "name"), ""),
                                        .body = body,
                                        .body_len = strlen(body)};
        struct error *error = ask(client, &request, &response);
        if (error || response.reason == REASON_OK)
            return error;
        if (response.reason != REASON_KIND_NOT_FOUND)
            return error_new(ERROR_IO, "%s: %s", workload->operand, response.message);
    }
    return error_new(ERROR_NOT_FOUND, "%s: %s", workload->operand, problem);
}

// Of the kind, as the host's adapters know it; a value of `adapters`.
static const struct json *versions_of(const struct json *adapters, const struct json *item) {
    const char *group = json_string_or(json_get(item, "group"), ""), *kind = json_string_or(json_get(item, "kind"), "");
    for (const struct json *a = json_first(json_get(adapters, "items")); a; a = json_next(a))
        for (const struct json *k = json_first(json_get(a, "kinds")); k; k = json_next(k))
            if (strcmp(json_string_or(json_get(k, "group"), ""), group) == 0 &&
                strcmp(json_string_or(json_get(k, "kind"), ""), kind) == 0)
                return json_get(k, "versions");
    return NULL;
}

static struct error *retry(void *ctx, struct remote *remote) {
    struct retry_target *workload = ctx;
    AUTO_JSON item = NULL;
    AUTO_JSON adapters = NULL;
    struct client *management = NULL;
    struct error *error = workload->namespace_ ? NULL : remote_namespace(remote, &workload->namespace_);
    if (!error)
        error = describe(remote, workload, &item);
    if (!error)
        error = remote_get(remote, "/api/v1/adapters", &adapters);
    if (!error)
        error = remote_management(remote, &management);
    if (!error)
        error = annotate(management, versions_of(adapters, item), item, workload);
    if (!error)
        printf("%s is retried\n", workload->operand);
    return error;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 2];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_retry, arguments, values, &code))
        return code;
    if (!values[N_FLAGS])
        return flags_usage_error(&subcommand_retry, "found no workload, expected KIND/NAME, as in job/train");
    AUTO_TEXT operand = remote_object(&values[N_FLAGS]);
    struct retry_target workload = {.namespace_ = values[NAMESPACE], .words = &values[N_FLAGS], .operand = operand};
    return operand ? remote_use(values, REMOTE, retry, &workload) : main_fail(error_no_memory());
}

const struct subcommand subcommand_retry = {
    .name = "retry",
    .run = run,
    .operand = MAIN_OBJECT,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "have a workload tried at once that waits after a rejection",
    .text = "Sets the annotation wharf.dev/retry on the workload, with the caller's own rights. The host then forgets\n"
            "which workers rejected it, and all delays. A workload that has finished is not changed.\n",
};
