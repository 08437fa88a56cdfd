// SPDX-License-Identifier: Apache-2.0
// Checks that the management cluster knows the field managedBy of each kind: an API server with an older version of the
// kind drops the field from every object, and the workload runs in the management cluster as if not delegated. The
// watcher reads the server's OpenAPI v3 document a moment after a list has begun, and every few minutes while the field
// is missing. The same document shows whether the API is of a version with a controller that heeds the field.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/watchers/watcher.h"
#include "core/kube/object/span.h"

#define BODY_MAX ((size_t)16 << 20)
#define TIMEOUT_NS (30 * CLOCK_SECOND)
#define FAILED_NS CLOCK_MINUTE        // after a request without an answer
#define DELAY_NS (5 * CLOCK_SECOND)   // lists come first, unless the first workload waits for the answer
#define MISSING_NS (5 * CLOCK_MINUTE) // while the field is missing

struct checked {         // one kind
    const char *version; // served; NULL: none yet
    int64_t due_ns;      // CLOCK_NEVER: not due; 0: as soon as the delay is over
    bool lacks;
};

struct field_check {
    struct watcher_base base;
    struct checked *kinds;
    size_t n_kinds;    // capacity
    uint64_t exchange; // 0: none
    size_t asked;      // the kind of the request in flight
    int64_t now_ns;
};

static void stop(void *state) {
    struct field_check *check = state;
    if (check->exchange != 0)
        check->base.scope->transport->ops->cancel(check->base.scope->transport, check->exchange);
    free(check->kinds);
}

// Without memory the kind is not checked.
static void handle(void *state, const struct cluster_notice *notice) {
    struct field_check *check = state;
    size_t kind = notice->kind;
    if (notice->type != NOTICE_LISTING ||
        !array_reserve(&check->kinds, &check->n_kinds, kind + 1, sizeof *check->kinds))
        return;
    struct checked *checked = &check->kinds[kind];
    for (const char *const *own = check->base.scope->settings.kinds[kind]->abi.versions; *own; own++)
        if (strcmp(*own, notice->version) == 0)
            checked->version = *own;
    checked->due_ns = 0;
}

// One document describes all kinds of a group and version.
static bool is_of_document(const struct field_check *check, size_t kind) {
    const struct checked *asked = &check->kinds[check->asked], *checked = &check->kinds[kind];
    const wharf_kind *a = &check->base.scope->settings.kinds[check->asked]->abi,
                     *b = &check->base.scope->settings.kinds[kind]->abi;
    return strcmp(a->group, b->group) == 0 && strcmp(asked->version, checked->version) == 0;
}

static void read_document(struct field_check *check, size_t kind, const struct http_result *result) {
    const wharf_kind *abi = &check->base.scope->settings.kinds[kind]->abi;
    const char *until = check->base.scope->settings.kinds[kind]->doubted_until;
    struct checked *checked = &check->kinds[kind];
    struct schema_kind wanted = {abi->group, checked->version, abi->kind};
    bool answered = result->outcome == HTTP_ANSWERED && result->status == 200;
    enum schema_answer answer =
        answered ? schema_find(result->body, result->body_len, &wanted, abi->managed_by) : SCHEMA_UNKNOWN;
    bool settled =
        answered && until && *until && schema_find(result->body, result->body_len, &wanted, until) == SCHEMA_HAS;
    if (answer != SCHEMA_UNKNOWN)
        checked->lacks = answer == SCHEMA_LACKS;
    bool heard = result->outcome == HTTP_ANSWERED && result->status < 500 && result->status != 429;
    checked->due_ns = !heard ? check->now_ns + FAILED_NS : checked->lacks ? check->now_ns + MISSING_NS : CLOCK_NEVER;
    if (answer != SCHEMA_UNKNOWN)
        cluster_post(check->base.scope, &(struct engine_event){.type = EVENT_FIELD,
                                                               .kind = kind,
                                                               .field = {.lacks = checked->lacks, .settled = settled}});
}

static void on_done(void *ctx, const struct http_result *result) {
    struct field_check *check = ctx;
    check->exchange = 0;
    for (size_t k = 0; k < check->n_kinds; k++)
        if (check->kinds[k].version && is_of_document(check, k))
            read_document(check, k, result);
}

static void ask(struct field_check *check, size_t kind) {
    AUTO_TEXT path = schema_path(check->base.scope->settings.kinds[kind]->abi.group, check->kinds[kind].version);
    const struct http_request request = {
        .method = HTTP_GET, .path = path, .accept = "application/json", .max_body = BODY_MAX, .timeout_ns = TIMEOUT_NS};
    const struct http_handler handler = {.done = on_done, .ctx = check};
    check->asked = kind;
    if (path)
        check->exchange = check->base.scope->transport->ops->submit(check->base.scope->transport, &request, &handler);
    if (check->exchange == 0) // no memory
        check->kinds[kind].due_ns = check->now_ns + FAILED_NS;
}

static int64_t step(void *state, struct moment now) {
    struct field_check *check = state;
    int64_t next_ns = CLOCK_NEVER;
    check->now_ns = now.mono_ns;
    for (size_t k = 0; k < check->n_kinds && check->exchange == 0; k++) {
        struct checked *checked = &check->kinds[k];
        if (!checked->version)
            continue;
        if (checked->due_ns == 0)
            checked->due_ns = now.mono_ns + (check->base.scope->settings.kinds[k]->doubted_until ? 0 : DELAY_NS);
        if (checked->due_ns <= now.mono_ns)
            ask(check, k);
        else
            next_ns = clock_earlier(next_ns, checked->due_ns);
    }
    return check->exchange == 0 ? next_ns : CLOCK_NEVER;
}

const struct watcher field_check_watcher = {.of_management = true,
                                            .size = sizeof(struct field_check),
                                            .step = step,
                                            .of_kinds = true,
                                            .handle = handle,
                                            .stop = stop};
