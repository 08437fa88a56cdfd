// SPDX-License-Identifier: Apache-2.0
// One page of a list: split as text, and parsed item by item, so that only one item is in memory at a time.
#include "core/base/text.h"
#include "core/kube/object/span.h"
#include "core/kube/watch/reflector_internal.h"

#include <stdlib.h>
#include <string.h>

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
static bool learn_kind(struct discovery *discovery, const struct page *page) {
    if (discovery->kind[0] != '\0')
        return true;
    char *kind = strndup(json_string_or(page->kind, ""), page->item_kind_len);
    if (!kind)
        return false;
    free(discovery->kind);
    discovery->kind = kind;
    return true;
}

// True for an item that is invalid JSON, not merely an invalid object: it must not be treated as missing.
static bool is_broken(const struct reflector *reflector, const char *text, size_t len) {
    const struct budget *budget = budget_or_default(reflector->budget);
    const struct json_limits limits = {.max_nodes = budget->max_object_nodes, .stop = budget->stop};
    AUTO_JSON value = NULL;
    struct error *error = json_parse_limited(text, len, &limits, &value);
    bool broken = error && error->code == ERROR_INVALID;
    error_free(error);
    return broken;
}

static bool deliver_item(struct reflector *reflector, const char *text, size_t len) {
    const struct discovery *discovery = &reflector->discovery;
    struct object *object = NULL;
    struct error *error =
        object_parse_bounded(text, len, discovery->api_version, discovery->kind, &reflector->limits, &object);
    if (error && error->code == ERROR_INVALID && is_broken(reflector, text, len)) {
        AUTO_TEXT message = text_format("the server sent a list with an invalid item: %s", error_text(error));
        error_free(error);
        reflector_conclude(reflector, REASON_GARBAGE, message);
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
    if (step == SPAN_BAD) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server answered with JSON that cannot be read");
        return false;
    }
    reflector->list.pages++;
    reflector->list.empty = reflector->list.items == before ? reflector->list.empty + 1 : 0;
    return true;
}

static bool take_token(struct reflector *reflector, const char *token) {
    struct list *list = &reflector->list;
    if (!text_set_filled(&list->token, token)) {
        reflector_conclude_no_memory(reflector);
        return false;
    }
    list->tries = 0;
    if (!list->token || (list->items < LIST_MAX_ITEMS && list->pages < LIST_MAX_PAGES && list->empty < LIST_MAX_EMPTY))
        return true;
    AUTO_TEXT message = text_format("endless list: %zu items in %zu pages so far, of which the last %zu were empty",
                                    list->items, list->pages, list->empty);
    list_reset(list);
    reflector_conclude(reflector, REASON_GARBAGE, message);
    return false;
}

static void use(struct reflector *reflector, const struct page *page) {
    struct list *list = &reflector->list;
    const char *token = json_string_or(json_get(page->metadata, "continue"), "");
    const char *version = json_string_or(json_get(page->metadata, "resourceVersion"), "");
    if (token[0] != '\0' && text_equal(token, list->token)) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned the same continue token twice");
        return;
    }
    if (!learn_kind(&reflector->discovery, page)) {
        reflector_conclude_no_memory(reflector);
        return;
    }
    bool first = !list->begun;
    if (first) {
        (void)reflector_check_version(reflector, version);
        list->begun = true;
        reflector->handler.listing(reflector->handler.ctx, reflector->versions[reflector->discovery.index]);
    }
    // The version of the collection is that of its first page.
    if ((first && !reflector_set_version(reflector, version)) || reflector->from_now)
        return; // from now on: the version is all that is needed
    if (deliver_items(reflector, page))
        (void)take_token(reflector, token);
}

void page_read(struct reflector *reflector, const char *text, size_t len) {
    struct page page = {.text = text, .len = len};
    const char *fault = find_fault(&page);
    if (fault)
        reflector_conclude(reflector, REASON_GARBAGE, fault);
    else
        use(reflector, &page);
    json_free(page.kind);
    json_free(page.metadata);
}
