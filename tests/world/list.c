// SPDX-License-Identifier: Apache-2.0
#include "tests/world/list.h"
#include "tests/world/selector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The state of an object at the requested version, if it has changed since. `blob` NULL: it did not exist.
struct past {
    const char *key;
    uint64_t sequence;
    struct blob *blob;
};

struct walk {
    const struct stored *node;
    struct past *past;
    size_t past_count, past_at;
};

struct listing {
    const struct op *op;
    struct selector selector;
    uint64_t at; // the version that the list shows
    char start[600];
    int64_t limit; // 0: none
    bool continued;
};

static int compare_past(const void *left, const void *right) {
    const struct past *a = left, *b = right;
    int order = strcmp(a->key, b->key);
    return order ? order : (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

// For each key that changed after `version`, its state at `version`.
static void collect_past(const struct kind *kind, uint64_t version, struct walk *walk) {
    uint64_t from = world_history_after(kind, version);
    if (from == kind->last)
        return;
    walk->past = world_alloc((size_t)(kind->last - from) * sizeof *walk->past);
    size_t count = 0;
    for (uint64_t i = from; i < kind->last; i++) {
        const struct event *event = world_history_at(kind, i);
        walk->past[count++] = (struct past){event->now->key, i, event->before};
    }
    qsort(walk->past, count, sizeof *walk->past, compare_past);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(walk->past[i].key, walk->past[i - 1].key) != 0)
            walk->past[walk->past_count++] = walk->past[i];
}

static void walk_begin(const struct kind *kind, const struct listing *listing, struct walk *walk) {
    *walk = (struct walk){.node = world_seek(kind, listing->start)};
    collect_past(kind, listing->at, walk);
    while (walk->past_at < walk->past_count && strcmp(walk->past[walk->past_at].key, listing->start) < 0)
        walk->past_at++;
}

static const struct blob *walk_next(struct walk *walk) {
    for (;;) {
        const struct past *past = walk->past_at < walk->past_count ? &walk->past[walk->past_at] : NULL;
        const struct stored *node = walk->node;
        if (!past && !node)
            return NULL;
        int order = !past ? -1 : !node ? 1 : strcmp(node->key, past->key);
        if (order <= 0)
            walk->node = node->next[0];
        if (order < 0)
            return node->blob;
        walk->past_at++;
        if (past->blob)
            return past->blob;
    }
}

// The token is the version and the next key, in hexadecimal: opaque, and safe in a query.
static void make_token(uint64_t version, const char *key, struct buffer *out) {
    char head[32];
    snprintf(head, sizeof head, "%" PRIu64 ":", version);
    for (const char *at = head; *at; at++)
        buffer_printf(out, "%02x", (unsigned)(unsigned char)*at);
    for (const char *at = key; *at; at++)
        buffer_printf(out, "%02x", (unsigned)(unsigned char)*at);
}

static bool read_token(const char *token, struct listing *listing) {
    char text[sizeof listing->start];
    size_t len = strlen(token) / 2;
    if (strlen(token) % 2 || len >= sizeof text)
        return false;
    for (size_t i = 0; i < len; i++) {
        char pair[3] = {token[2 * i], token[2 * i + 1], '\0'}, *after;
        text[i] = (char)strtoul(pair, &after, 16);
        if (*after || text[i] == '\0')
            return false;
    }
    text[len] = '\0';
    char *colon = strchr(text, ':');
    if (!colon)
        return false;
    *colon = '\0';
    int64_t version;
    if (!text_to_int64(text, &version))
        return false;
    listing->at = (uint64_t)version;
    text_copy(listing->start, sizeof listing->start, colon + 1);
    listing->continued = true;
    return true;
}

// True if the list can be shown at that version; else answers.
static bool check_history(struct listing *listing) {
    const struct op *op = listing->op;
    if (listing->continued && listing->at == 0)
        listing->at = op->cluster->version;
    if (listing->at >= op->kind->compacted)
        return true;
    struct buffer token;
    buffer_init(&token, 4096);
    if (listing->continued)
        make_token(0, listing->start, &token);
    answer_expired(op->response, listing->at, op->kind->compacted, token.data);
    buffer_free(&token);
    return false;
}

static bool read_options(struct listing *listing, const struct route *route) {
    const struct op *op = listing->op;
    const char *limit = route_query(route, "limit"), *match = route_query(route, "resourceVersionMatch");
    const char *token = route_query(route, "continue");
    uint64_t version;
    bool given;
    if (!world_check_list_options(op, route, false) ||
        !world_read_version(op, route_query(route, "resourceVersion"), &version, &given))
        return false;
    if (limit && *limit && !text_to_int64(limit, &listing->limit)) {
        answer_bad_request(op->response, "invalid limit \"%s\"", limit);
        return false;
    }
    listing->at = op->cluster->version;
    if (token && *token) {
        if (!read_token(token, listing)) {
            answer_bad_request(op->response, "continue key is not valid");
            return false;
        }
        return check_history(listing);
    }
    if (version > op->cluster->version) {
        answer_too_large_version(op->response, version, op->cluster->version);
        return false;
    }
    // A limit with a version and no match is Exact for historical reasons (apiserver ShouldDelegateList).
    bool exact = match && *match ? strcmp(match, "Exact") == 0 : given && version != 0 && listing->limit > 0;
    if (exact)
        listing->at = version;
    return check_history(listing);
}

static void print_item(const struct op *op, const struct blob *blob, struct buffer *out) {
    if (op->kind->builtin)
        buffer_append(out, blob->text, blob->len);
    else
        world_blob_print(blob, op->kind, op->version, out);
}

// Prints the items; returns the key of the first that did not fit in the page, or NULL.
static const char *print_items(const struct listing *listing, struct walk *walk, struct buffer *out) {
    const char *prefix = listing->selector.namespace_;
    size_t prefix_len = prefix ? strlen(prefix) : 0;
    int64_t count = 0;
    for (const struct blob *blob; (blob = walk_next(walk));) {
        if (prefix && !listing->op->kind->cluster_scoped &&
            (strncmp(blob->key, prefix, prefix_len) != 0 || blob->key[prefix_len] != '/')) {
            if (strncmp(blob->key, prefix, prefix_len) > 0)
                break;
            continue;
        }
        if (!selector_matches(&listing->selector, blob))
            continue;
        if (listing->limit > 0 && count == listing->limit)
            return blob->key;
        if (count++)
            buffer_char(out, ',');
        print_item(listing->op, blob, out);
    }
    return NULL;
}

static void print_list(struct listing *listing) {
    const struct op *op = listing->op;
    struct buffer items, out;
    buffer_init(&items, (size_t)4 << 30);
    buffer_init(&out, (size_t)4 << 30);
    struct walk walk;
    walk_begin(op->kind, listing, &walk);
    const char *rest = print_items(listing, &walk, &items);
    buffer_printf(&out,
                  "{\"kind\":\"%sList\",\"apiVersion\":\"%s%s%s\",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
                  op->kind->kind, op->kind->group, *op->kind->group ? "/" : "", op->version, listing->at);
    if (rest) {
        buffer_text(&out, ",\"continue\":\"");
        make_token(listing->at, rest, &out);
        buffer_char(&out, '"');
    }
    buffer_text(&out, "},\"items\":[");
    buffer_append(&out, items.data, items.len);
    buffer_text(&out, "]}\n");
    buffer_free(&items);
    free(walk.past);
    answer_buffer(op->response, 200, &out);
}

void world_list(const struct op *op, const struct route *route) {
    struct listing listing = {.op = op};
    char message[256] = "";
    op->cluster->counts.lists++;
    if (!selector_read(&listing.selector, op->kind, op->namespace_, route_query(route, "labelSelector"),
                       route_query(route, "fieldSelector"), message))
        answer_bad_request(op->response, "%s", message);
    else if (read_options(&listing, route)) {
        // No namespace sorts between "a/" and "a0", so a list of one namespace is one stretch of keys.
        if (!listing.continued && listing.selector.namespace_)
            snprintf(listing.start, sizeof listing.start, "%s/", listing.selector.namespace_);
        if (op->kind->cluster_scoped && !listing.continued)
            listing.start[0] = '\0';
        print_list(&listing);
    }
    selector_free(&listing.selector);
}
