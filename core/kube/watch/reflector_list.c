// SPDX-License-Identifier: Apache-2.0
// The list in pages: consistent reads (no resourceVersion). A page is split as text, and parsed and passed on item by
// item, so that only one item is in memory at a time.
#include "core/kube/object/span.h"
#include "core/kube/watch/reflector_internal.h"

#define TIMEOUT_NS (65 * CLOCK_SECOND)
// An unpaged list may take long, as long as data arrives.
#define UNPAGED_TIMEOUT_NS (10 * CLOCK_MINUTE)
#define STALL_NS (60 * CLOCK_SECOND)
#define METADATA_NODES 1000

struct page {
    const char *text;
    size_t len;
    struct json *kind, *metadata;
    size_t item_kind_len; // of the item kind in `kind`, the list's kind
    struct span items;    // value and end; empty for null
};

static bool read_value(const struct page *page, const char *key, struct json **out) {
    const struct json_limits limits = {.max_nodes = METADATA_NODES};
    struct span span;
    if (!span_member(page->text, page->len, key, &span))
        return true;
    struct error *error = json_parse_limited(page->text + span.value, span.end - span.value, &limits, out);
    error_free(error);
    return !error;
}

// False: neither an array nor null.
static bool find_items(struct page *page) {
    struct span *items = &page->items;
    if (!span_member(page->text, page->len, "items", items))
        return false;
    if (items->end - items->value == 4 && memcmp(page->text + items->value, "null", 4) == 0) {
        items->end = items->value;
        return true;
    }
    return page->text[items->value] == '[';
}

// A response that is not a list must not be treated as an empty list.
static const char *find_fault(struct page *page) {
    if (!span_is_closed(page->text, page->len) || !read_value(page, "kind", &page->kind) ||
        !read_value(page, "metadata", &page->metadata))
        return "the server answered with JSON that cannot be read";
    if (!object_kind_is_list(json_string_or(page->kind, ""), &page->item_kind_len))
        return "the server returned something other than a list";
    if (!find_items(page))
        return "the server returned a list without items";
    if (json_string_or(json_get(page->metadata, "resourceVersion"), "")[0] == '\0')
        return "the server returned a list without resourceVersion";
    return NULL;
}

// Items of built-in kinds lack apiVersion and kind. If discovery did not provide the kind, it is the list's kind
// without "List".
static bool learn_kind(struct reflector *reflector, const struct page *page) {
    struct discovery *discovery = &reflector->discovery;
    if (discovery->kind[0] != '\0')
        return true;
    char *kind = strndup(json_string_or(page->kind, ""), page->item_kind_len);
    if (!kind)
        return false;
    free(discovery->kind);
    reflector->limits.kind = discovery->kind = kind;
    return true;
}

// True for an item that is invalid JSON, not merely an invalid object: it must not be treated as missing.
static bool is_broken(const struct reflector *reflector, const char *text, size_t len) {
    const struct budget *budget = budget_or_default(reflector->options.budget);
    const struct json_limits limits = {.max_nodes = budget->max_object_nodes, .stop = budget->stop};
    AUTO_JSON value = NULL;
    struct error *error = json_parse_limited(text, len, &limits, &value);
    bool broken = error && error->code == ERROR_INVALID;
    error_free(error);
    return broken;
}

static bool deliver_item(struct reflector *reflector, const char *text, size_t len) {
    struct object *object = NULL;
    struct error *error = object_parse_bounded(text, len, &reflector->limits, &object);
    if (error && error->code == ERROR_INVALID && is_broken(reflector, text, len)) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server sent a list with an invalid item: %s",
                           error_text(error));
        error_free(error);
        return false;
    }
    reflector->list.items++;
    return reflector_deliver(reflector, error, object, false, false);
}

static bool deliver_items(struct reflector *reflector, const struct page *page) {
    const char *text = page->text + page->items.value;
    size_t len = page->items.end - page->items.value, at = 0, before = reflector->list.items;
    struct span item;
    enum span_step step = len == 0 ? SPAN_END : SPAN_ITEM;
    while (step == SPAN_ITEM && (step = span_next_item(text, len, &at, &item)) == SPAN_ITEM)
        if (!deliver_item(reflector, text + item.value, item.end - item.value))
            return false;
    if (step == SPAN_BAD)
        return reflector_conclude(reflector, REASON_GARBAGE, "the server answered with JSON that cannot be read");
    reflector->list.pages++;
    reflector->list.empty = reflector->list.items == before ? reflector->list.empty + 1 : 0;
    return true;
}

static void take_token(struct reflector *reflector, const char *token) {
    struct list *list = &reflector->list;
    if (!text_set_filled(&list->token, token)) {
        reflector_conclude_no_memory(reflector);
        return;
    }
    list->tries = 0;
    if (!list->token || (list->items < LIST_MAX_ITEMS && list->pages < LIST_MAX_PAGES && list->empty < LIST_MAX_EMPTY))
        return;
    reflector_conclude(reflector, REASON_GARBAGE,
                       "endless list: %zu items in %zu pages so far, of which the last %zu were empty", list->items,
                       list->pages, list->empty);
    list_reset(list);
}

// Passes on the items of a page.
static bool use_page(struct reflector *reflector, struct page *page) {
    struct list *list = &reflector->list;
    const char *fault = find_fault(page);
    if (fault)
        return reflector_conclude(reflector, REASON_GARBAGE, "%s", fault);
    const char *token = json_string_or(json_get(page->metadata, "continue"), "");
    const char *version = json_string_or(json_get(page->metadata, "resourceVersion"), "");
    if (token[0] != '\0' && text_equal(token, list->token))
        return reflector_conclude(reflector, REASON_GARBAGE, "the server returned the same continue token twice");
    if (!learn_kind(reflector, page))
        return reflector_conclude_no_memory(reflector);
    if (!list->begun) {
        (void)reflector_check_version(reflector, version);
        reflector_begin_list(reflector);
        // The version of the collection is that of its first page.
        if (!reflector_set_version(reflector, version))
            return false;
    }
    if (reflector->options.from_now) // the version is all that is needed
        return true;
    if (deliver_items(reflector, page))
        take_token(reflector, token);
    return true;
}

void list_reset(struct list *list) {
    free(list->token);
    *list = (struct list){0};
}

void list_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector_note_end(reflector, result);
    response_clear(&reflector->ending);
    reflector->list.shrunk = result->too_large && !reflector->list.unpaged && reflector->page_limit > 1;
    if (!response_begin(&reflector->ending, result, VERB_RAW_GET))
        return;
    struct page page = {.text = result->body, .len = result->body_len};
    reflector_conclude(reflector, REASON_OK, "a page of the list");
    (void)use_page(reflector, &page);
    json_free(page.kind);
    json_free(page.metadata);
}

struct error *list_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request) {
    const struct list *list = &reflector->list;
    TRY(reflector_path(reflector, true, path));
    if (!list->unpaged)
        buffer_printf(path, "limit=%zu&", reflector->page_limit);
    if (list->token) {
        buffer_text(path, "continue=");
        text_percent_encode(path, list->token);
        buffer_char(path, '&');
    }
    buffer_truncate(path, path->len - 1); // the trailing separator
    request->accept = reflector_accept(reflector, true);
    request->timeout_ns = list->unpaged ? UNPAGED_TIMEOUT_NS : TIMEOUT_NS;
    request->stall_ns = list->unpaged ? STALL_NS : 0;
    return NULL;
}

void list_missing(struct reflector *reflector) {
    bool fresh = reflector->discovery.fresh;
    reflector->discovery.fresh = false;
    reflector->discovery.index = 0;
    list_reset(&reflector->list);
    if (fresh)
        reflector_wait(reflector, PHASE_DISCOVER, "list");
    else
        reflector_go(reflector, PHASE_DISCOVER);
}

void list_ended(struct reflector *reflector) {
    struct list *list = &reflector->list;
    enum reason reason = reflector->ending.reason;
    if (list->shrunk) {
        reflector->page_limit /= 2;
        reflector_log(reflector, LOG_INFO, "a page of a list exceeds the memory budget; requesting smaller pages",
                      reflector->ending.message);
        reflector_go(reflector, PHASE_LIST);
    } else if (reason == REASON_OK && !list->token) {
        reflector->proven = true;
        reflector_end_list(reflector);
        reflector_go(reflector, PHASE_WATCH);
    } else if (reason == REASON_OK) {
        reflector_go(reflector, PHASE_LIST);
    } else if (reason == REASON_EXPIRED && list->token) {
        // The response has a token that continues at a newer version: the list would be inconsistent.
        reflector_log(reflector, LOG_INFO, "a continue token expired; listing without pages", NULL);
        list_reset(list);
        list->unpaged = true;
        reflector_go(reflector, PHASE_LIST);
    } else if (reason_is_transient(reason) && list->token && list->tries < REFLECTOR_MAX_TRIES) {
        list->tries++; // the token stays valid for a while, and a long list is worth the retry
        reflector_wait(reflector, PHASE_LIST, "list");
    } else if (reason == REASON_NOT_FOUND || reason == REASON_KIND_NOT_FOUND) {
        list_missing(reflector);
    } else {
        reflector_wait(reflector, reflector_new_list(reflector), "list");
    }
}
