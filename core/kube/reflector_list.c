// SPDX-License-Identifier: Apache-2.0
// The list in pages: consistent reads (no resourceVersion), handed on item by item.
#include "core/kube/reflector_internal.h"

#include "core/base/log.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_SIZE 500
#define TIMEOUT_NS (65 * CLOCK_SECOND)
// All in one answer takes as long as it takes, as long as something comes.
#define UNPAGED_TIMEOUT_NS (10 * CLOCK_MINUTE)
#define STALL_NS (60 * CLOCK_SECOND)
#define BODY_MAX ((size_t)256 << 20)

void list_reset(struct list *list) {
    free(list->token);
    *list = (struct list){0};
}

static bool ends_with_list(const char *kind) {
    size_t len = strlen(kind);
    return len >= 4 && strcmp(kind + len - 4, "List") == 0;
}

// An answer that is no list must not be taken for an empty one.
static const char *find_fault(const struct json *document) {
    const struct json *items = json_get(document, "items");
    if (!ends_with_list(json_string_or(json_get(document, "kind"), ""))) {
        return "the server answered with something else than a list";
    }
    if (!json_is(items, JSON_ARRAY) && !json_is(items, JSON_NULL)) {
        return "the server answered with a list without items";
    }
    if (object_version(document)[0] == '\0') {
        return "the server answered with a list without resourceVersion";
    }
    return NULL;
}

// Items of built-in kinds lack apiVersion and kind. Where discovery did not tell, the list has the kind with "List"
// behind it.
static bool learn_kind(struct discovery *discovery, const struct json *document) {
    if (discovery->kind[0] != '\0') {
        return true;
    }
    const char *list_kind = json_string_or(json_get(document, "kind"), "List");
    char *kind = strndup(list_kind, strlen(list_kind) - strlen("List"));
    if (kind == NULL) {
        return false;
    }
    free(discovery->kind);
    discovery->kind = kind;
    return true;
}

static bool hand_on_items(struct reflector *reflector, struct json *document) {
    if (!learn_kind(&reflector->discovery, document)) {
        reflector_conclude_no_memory(reflector);
        return false;
    }
    // Copied rather than taken out: an item would keep the memory of the whole page.
    for (const struct json *item = json_first(json_get(document, "items")); item != NULL; item = json_next(item)) {
        struct json *copy = json_copy(item);
        if (copy == NULL) {
            reflector_conclude_no_memory(reflector);
            return false;
        }
        if (!reflector_hand_on(reflector, copy, false, false)) {
            return false;
        }
    }
    return true;
}

static void read_page(struct reflector *reflector, struct json *document) {
    struct list *list = &reflector->list;
    const char *fault = find_fault(document);
    if (fault != NULL) {
        reflector_conclude(reflector, REASON_GARBAGE, fault);
        return;
    }
    const char *token = json_string_or(json_path(document, "metadata", "continue", NULL), "");
    if (token[0] != '\0' && text_equal(token, list->token)) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server gave the same continue token twice");
        return;
    }
    bool first = !list->begun;
    if (first) {
        (void)reflector_check_version(reflector, object_version(document));
        list->begun = true;
        reflector->handler.listing(reflector->handler.ctx, reflector->versions[reflector->discovery.index]);
    }
    // The version of the collection is that of its first page.
    if ((first && !reflector_set_version(reflector, object_version(document))) || !hand_on_items(reflector, document)) {
        return;
    }
    char *copy = token[0] != '\0' ? strdup(token) : NULL;
    if (token[0] != '\0' && copy == NULL) {
        reflector_conclude_no_memory(reflector);
        return;
    }
    free(list->token);
    list->token = copy;
    list->tries = 0;
}

static void list_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector_note_end(reflector, result);
    reflector_read(reflector, result);
    if (reflector->ending.reason == REASON_OK) {
        AUTO_JSON document = reflector->ending.value;
        reflector->ending.value = NULL;
        read_page(reflector, document);
    }
}

static struct error *page_path(const struct reflector *reflector, struct buffer *path) {
    const struct list *list = &reflector->list;
    struct error *error = reflector_path(reflector, true, path);
    if (error != NULL) {
        return error;
    }
    if (!list->unpaged) {
        buffer_printf(path, "limit=%d&", PAGE_SIZE);
    }
    if (list->token != NULL) {
        buffer_text(path, "continue=");
        text_percent_encode(path, list->token);
        buffer_char(path, '&');
    }
    if (path->failed) {
        return error_no_memory();
    }
    path->data[--path->len] = '\0'; // the last separator
    return NULL;
}

void list_start(struct reflector *reflector) {
    __attribute__((cleanup(buffer_cleanup))) struct buffer path;
    buffer_init(&path, 1);
    __attribute__((cleanup(error_cleanup))) struct error *error = page_path(reflector, &path);
    if (error != NULL) {
        reflector_conclude(reflector, REASON_BAD_REQUEST, error_text(error));
        reflector_wait(reflector, reflector_new_list(reflector), "list");
        return;
    }
    bool unpaged = reflector->list.unpaged;
    struct http_request request = {.method = HTTP_GET,
                                   .path = path.data,
                                   .accept = "application/json",
                                   .max_body = BODY_MAX,
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

// A page can be asked for again as long as its token lives; a list that is worth it is long.
static bool can_retry_page(const struct reflector *reflector) {
    switch (reflector->ending.reason) {
    case REASON_NOT_SENT:
    case REASON_UNKNOWN_OUTCOME:
    case REASON_TOO_MANY:
    case REASON_SERVER_ERROR:
        return reflector->list.token != NULL && reflector->list.tries < REFLECTOR_MAX_TRIES;
    default:
        return false;
    }
}

void list_ended(struct reflector *reflector) {
    struct list *list = &reflector->list;
    enum reason reason = reflector->ending.reason;
    if (reason == REASON_OK && list->token == NULL) {
        complete(reflector);
    } else if (reason == REASON_OK) {
        reflector_go(reflector, PHASE_LIST);
    } else if (reason == REASON_EXPIRED && list->token != NULL) {
        // The answer has a token for going on at another version: that would be no list of one moment.
        log_fields(LOG_INFO, "a continue token expired; listing in one piece", {"cluster", reflector->cluster},
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
        if (fresh) {
            reflector_wait(reflector, PHASE_DISCOVER, "list");
        } else {
            reflector_go(reflector, PHASE_DISCOVER);
        }
    } else {
        reflector_wait(reflector, reflector_new_list(reflector), "list");
    }
}
