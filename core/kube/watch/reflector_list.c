// SPDX-License-Identifier: Apache-2.0
// The list in pages: consistent reads (no resourceVersion), passed on item by item.
#include "core/kube/watch/reflector_internal.h"

#include "core/base/log.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (65 * CLOCK_SECOND)
// An unpaged list may take long, as long as data arrives.
#define UNPAGED_TIMEOUT_NS (10 * CLOCK_MINUTE)
#define STALL_NS (60 * CLOCK_SECOND)

void list_reset(struct list *list) {
    free(list->token);
    *list = (struct list){0};
}

static void list_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector_note_end(reflector, result);
    response_clear(&reflector->ending);
    reflector->list.shrunk = result->too_large && !reflector->list.unpaged && reflector->page_limit > 1;
    if (response_begin(&reflector->ending, result, VERB_RAW_GET)) {
        reflector_conclude(reflector, REASON_OK, "a page of the list");
        page_read(reflector, result->body, result->body_len);
    }
}

static struct error *page_path(const struct reflector *reflector, struct buffer *path) {
    const struct list *list = &reflector->list;
    TRY(reflector_path(reflector, true, path));
    if (!list->unpaged)
        buffer_printf(path, "limit=%zu&", reflector->page_limit);
    if (list->token) {
        buffer_text(path, "continue=");
        text_percent_encode(path, list->token);
        buffer_char(path, '&');
    }
    if (path->failed)
        return error_no_memory();
    path->data[--path->len] = '\0'; // the trailing separator
    return NULL;
}

void list_start(struct reflector *reflector) {
    AUTO_BUFFER(path, 1);
    __attribute__((cleanup(error_cleanup))) struct error *error = page_path(reflector, &path);
    if (error) {
        reflector_conclude(reflector, REASON_BAD_REQUEST, error_text(error));
        reflector_wait(reflector, reflector_new_list(reflector), "list");
        return;
    }
    bool unpaged = reflector->list.unpaged;
    struct http_request request = {.method = HTTP_GET,
                                   .path = path.data,
                                   .accept = reflector_accept(reflector, true),
                                   .max_body = budget_or_default(reflector->budget)->max_answer,
                                   .timeout_ns = unpaged ? UNPAGED_TIMEOUT_NS : TIMEOUT_NS,
                                   .stall_ns = unpaged ? STALL_NS : 0};
    struct http_handler handler = {.done = list_done, .ctx = reflector};
    reflector_submit(reflector, &request, &handler);
}

static void complete(struct reflector *reflector) {
    const char *version = reflector->versions[reflector->discovery.index];
    list_reset(&reflector->list);
    reflector->discovery.fresh = false;
    reflector->discovery.was_there = true;
    reflector->watch.after_list = true;
    reflector->proven = true;
    reflector->watch.unset_version = false;
    reflector->handler.listed(reflector->handler.ctx, version);
    reflector_go(reflector, PHASE_WATCH);
}

// A page can be retried as long as its token is valid; only long lists are worth the retry.
static bool can_retry_page(const struct reflector *reflector) {
    switch (reflector->ending.reason) {
    case REASON_NOT_SENT:
    case REASON_UNKNOWN_OUTCOME:
    case REASON_TOO_MANY:
    case REASON_SERVER_ERROR:
        return reflector->list.token && reflector->list.tries < REFLECTOR_MAX_TRIES;
    default:
        return false;
    }
}

void list_ended(struct reflector *reflector) {
    struct list *list = &reflector->list;
    enum reason reason = reflector->ending.reason;
    if (list->shrunk) {
        reflector->page_limit /= 2;
        log_fields(LOG_INFO, "a page of a list exceeds the memory budget; requesting smaller pages",
                   {"cluster", reflector->cluster}, {"kind", reflector->what}, {"error", reflector->ending.message});
        reflector_go(reflector, PHASE_LIST);
    } else if (reason == REASON_OK && !list->token) {
        complete(reflector);
    } else if (reason == REASON_OK) {
        reflector_go(reflector, PHASE_LIST);
    } else if (reason == REASON_EXPIRED && list->token) {
        // The response has a token that continues at a newer version: the list would be inconsistent.
        log_fields(LOG_INFO, "a continue token expired; listing without pages", {"cluster", reflector->cluster},
                   {"kind", reflector->what});
        list_reset(list);
        list->unpaged = true;
        reflector_go(reflector, PHASE_LIST);
    } else if (can_retry_page(reflector)) {
        list->tries++;
        reflector_wait(reflector, PHASE_LIST, "list");
    } else if (reason == REASON_NOT_FOUND || reason == REASON_KIND_NOT_FOUND) {
        bool fresh = reflector->discovery.fresh;
        reflector->discovery.fresh = false;
        reflector->discovery.index = 0;
        if (fresh)
            reflector_wait(reflector, PHASE_DISCOVER, "list");
        else
            reflector_go(reflector, PHASE_DISCOVER);
    } else {
        reflector_wait(reflector, reflector_new_list(reflector), "list");
    }
}
