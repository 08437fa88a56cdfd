// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/field_check.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/object/schema.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)16 << 20)
#define TIMEOUT_NS (30 * CLOCK_SECOND)
#define FAILED_NS CLOCK_MINUTE // after a request without an answer

struct checked {         // one kind
    const char *version; // served; NULL: none yet
    int64_t due_ns;      // CLOCK_NEVER: it is not due; 0: as soon as the delay is over
    bool lacks;
};

struct field_check {
    struct field_check_options options;
    struct checked *kinds;
    size_t n_kinds;
    uint64_t exchange; // 0: none
    size_t asked;      // the kind that it is about
    int64_t now_ns;
};

struct error *field_check_new(const struct field_check_options *options, struct field_check **out) {
    struct field_check *check = calloc(1, sizeof *check);
    if (!check)
        return error_no_memory();
    check->options = *options;
    *out = check;
    return NULL;
}

void field_check_free(struct field_check *check) {
    if (!check)
        return;
    if (check->exchange != 0)
        check->options.transport->ops->cancel(check->options.transport, check->exchange);
    free(check->kinds);
    free(check);
}

void field_check_set_kinds(struct field_check *check, struct kind *const *kinds, size_t n_kinds) {
    check->options.kinds = kinds;
    check->options.n_kinds = n_kinds;
}

// Without memory the kind is not checked.
void field_check_listing(struct field_check *check, size_t kind, const char *version) {
    while (check->n_kinds <= kind) {
        struct checked *checked = array_next(&check->kinds, check->n_kinds, sizeof *checked);
        if (!checked)
            return;
        *checked = (struct checked){.due_ns = CLOCK_NEVER};
        check->n_kinds++;
    }
    struct checked *checked = &check->kinds[kind];
    for (const char *const *own = check->options.kinds[kind]->abi.versions; *own; own++)
        if (strcmp(*own, version) == 0)
            checked->version = *own;
    checked->due_ns = 0;
}

// One document is about all kinds of its group and version.
static bool is_of_document(const struct field_check *check, size_t kind) {
    const struct checked *asked = &check->kinds[check->asked], *checked = &check->kinds[kind];
    const wharf_kind *a = &check->options.kinds[check->asked]->abi, *b = &check->options.kinds[kind]->abi;
    return checked->version && strcmp(a->group, b->group) == 0 && strcmp(asked->version, checked->version) == 0;
}

static void read_document(struct field_check *check, size_t kind, const struct http_result *result) {
    const wharf_kind *abi = &check->options.kinds[kind]->abi;
    struct checked *checked = &check->kinds[kind];
    struct schema_kind wanted = {abi->group, checked->version, abi->kind};
    enum schema_answer answer = result->outcome == HTTP_ANSWERED && result->status == 200
                                    ? schema_find(result->body, result->body_len, &wanted, abi->managed_by)
                                    : SCHEMA_UNKNOWN;
    if (answer != SCHEMA_UNKNOWN)
        checked->lacks = answer == SCHEMA_LACKS;
    bool heard = result->outcome == HTTP_ANSWERED && result->status < 500 && result->status != 429;
    checked->due_ns = !heard           ? check->now_ns + FAILED_NS
                      : checked->lacks ? check->now_ns + FIELD_CHECK_AGAIN_NS
                                       : CLOCK_NEVER;
    if (answer != SCHEMA_UNKNOWN)
        check->options.found(check->options.ctx, kind, checked->lacks);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct field_check *check = ctx;
    check->exchange = 0;
    for (size_t k = 0; k < check->n_kinds; k++)
        if (is_of_document(check, k))
            read_document(check, k, result);
}

static void ask(struct field_check *check, size_t kind) {
    AUTO_TEXT path = schema_path(check->options.kinds[kind]->abi.group, check->kinds[kind].version);
    const struct http_request request = {
        .method = HTTP_GET, .path = path, .accept = "application/json", .max_body = BODY_MAX, .timeout_ns = TIMEOUT_NS};
    const struct http_handler handler = {.done = on_done, .ctx = check};
    check->asked = kind;
    if (path)
        check->exchange = check->options.transport->ops->submit(check->options.transport, &request, &handler);
    if (check->exchange == 0) // no memory
        check->kinds[kind].due_ns = check->now_ns + FAILED_NS;
}

int64_t field_check_tick(struct field_check *check, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    check->now_ns = now.mono_ns;
    for (size_t k = 0; k < check->n_kinds && check->exchange == 0; k++) {
        struct checked *checked = &check->kinds[k];
        if (checked->due_ns == 0)
            checked->due_ns = now.mono_ns + FIELD_CHECK_DELAY_NS;
        if (checked->version && checked->due_ns <= now.mono_ns)
            ask(check, k);
        else
            next_ns = clock_earlier(next_ns, checked->due_ns);
    }
    return check->exchange == 0 ? next_ns : CLOCK_NEVER;
}
