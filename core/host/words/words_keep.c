// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/words/words_internal.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"
#include "core/kube/object/object.h"

#include <poll.h>

#define EXACT_TRIES 4 // then without the resourceVersion as precondition
#define TRIES 8       // where other hosts write too
#define AGAIN_MS 50   // after the first conflict
#define REQUEST_NS (10 * CLOCK_SECOND)
#define PATH_MAX_BYTES 512

struct error *words_link_use(const struct words_source *source, struct words_link *link, const char *cluster,
                             const atomic_bool *stop) {
    struct endpoint *endpoint = NULL;
    if (link->client.client && strcmp(link->cluster, cluster) == 0) {
        TRY(source->endpoint(source->ctx, cluster, &endpoint));
        if (connection_use(&link->client.connection, endpoint))
            return NULL;
    }
    words_link_close(link);
    TRY(source->endpoint(source->ctx, cluster, &endpoint));
    TRY(blocking_client_open(endpoint, cluster, stop, &link->client));
    text_copy(link->cluster, sizeof link->cluster, cluster);
    return NULL;
}

void words_link_close(struct words_link *link) {
    if (link->client.client)
        blocking_client_close(&link->client);
    *link = (struct words_link){.cluster = ""};
}

struct error *words_get(struct words_link *link, const char *namespace_, struct json **out) {
    AUTO_TEXT path = text_format("/api/v1/namespaces/%s/configmaps/" WORDS_MAP, namespace_);
    struct error *error = path ? blocking_client_get(&link->client, path, false, out) : error_no_memory();
    if (!error || error->code != ERROR_NOT_FOUND)
        return error;
    error_free(error);
    return NULL;
}

// *again: the ConfigMap has changed meanwhile.
static struct error *send(struct words_link *link, enum verb verb, const char *namespace_, const struct buffer *body,
                          bool *again) {
    const struct request request = config_map_request(verb, namespace_, WORDS_MAP, body->data, body->len);
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    *again = false;
    TRY(ask_within(link->client.client, &request, REQUEST_NS, link->client.stop, &response));
    if (response.reason == REASON_OK)
        return NULL;
    *again = response.code == 409 || response.reason == REASON_NOT_FOUND;
    if (*again && verb != VERB_APPLY)
        return NULL;
    return error_new(reason_is_refusal(response.reason) ? ERROR_REFUSED : ERROR_IO, "%s",
                     response.message ? response.message : "no answer");
}

static struct error *create(struct words_link *link, const char *namespace_) {
    bool again;
    AUTO_BUFFER(body, 4096);
    bool written = config_map_write_empty(
        WORDS_MAP, NULL, NULL, "The ends of failed workloads, for wharf explain and wharf logs --previous-attempt.",
        &body);
    return written ? send(link, VERB_APPLY, namespace_, &body, &again) : error_no_memory();
}

static bool adds(const struct words_change *changes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (changes[i].value)
            return true;
    return false;
}

static struct error *change_once(struct words_link *link, const char *namespace_, const struct words_change *changes,
                                 size_t count, bool exact, bool *again) {
    AUTO_JSON map = NULL;
    AUTO_BUFFER(body, 2 * WORDS_MAP_BYTES);
    enum words_write write = WORDS_NOTHING;
    *again = false;
    TRY(words_get(link, namespace_, &map));
    if (!map && !adds(changes, count))
        return NULL;
    if (!map) {
        TRY(create(link, namespace_));
        *again = true;
        return NULL;
    }
    TRY(words_merge(map, changes, count, exact, &body, &write));
    if (write == WORDS_NOTHING)
        return NULL;
    return send(link, write == WORDS_DELETE ? VERB_DELETE : VERB_MERGE_PATCH, namespace_, &body, again);
}

struct error *words_keep(struct words_link *link, const char *namespace_, const struct words_change *changes,
                         size_t count) {
    struct random random = {random_system()};
    bool again = false;
    for (unsigned i = 0; i < TRIES; i++) {
        TRY(change_once(link, namespace_, changes, count, i < EXACT_TRIES, &again));
        if (!again)
            return NULL;
        if (atomic_load(link->client.stop))
            return error_new(ERROR_STOPPED, "the host is stopping");
        if (i > 0)
            (void)poll(NULL, 0, (int)random_below(&random, (uint64_t)AGAIN_MS << i));
    }
    return error_new(ERROR_IO, "ConfigMap " WORDS_MAP " changes all the time");
}

// The sweep ---------------------------------------------------------------------------------------------------------

struct sweep {
    const struct words_source *source;
    struct words_link *link;
    const char *origin;
    char **namespaces;
    size_t count;
};

static struct error *add_namespace(struct sweep *sweep, const struct json *object) {
    char **place = array_next(&sweep->namespaces, sweep->count, sizeof *place);
    if (!place || !(*place = strdup(object_namespace(object))))
        return error_no_memory();
    sweep->count++;
    return NULL;
}

// The uid of a workload of this origin that is gone; "": none. Another host's entry is left to that host.
static void find_gone(const struct sweep *sweep, const char *namespace_, const struct json *item, char uid[64]) {
    const char *text = json_string_or(item, "");
    AUTO_JSON entry = NULL;
    AUTO_ERROR error = json_parse(text, strlen(text), &entry);
    *uid = '\0';
    if (error || !text_equal(json_string(json_get(entry, "origin")), sweep->origin))
        return;
    text_copy(uid, size_least(64, strcspn(json_key(item), ".") + 1), json_key(item));
    if (!sweep->source->is_gone(sweep->source->ctx, json_string_or(json_get(entry, "resource"), ""), namespace_,
                                json_string_or(json_get(entry, "name"), ""), uid))
        *uid = '\0';
}

// *more: some are left for the next turn.
static struct error *sweep_some(const struct sweep *sweep, const char *namespace_, bool *more) {
    AUTO_JSON map = NULL;
    *more = false;
    TRY(words_get(sweep->link, namespace_, &map));
    char uids[WORDS_BATCH][64];
    struct words_change changes[WORDS_BATCH] = {{NULL}};
    size_t count = 0;
    for (const struct json *item = json_first(json_get(map, "data")); item && count < WORDS_BATCH;
         item = json_next(item)) {
        find_gone(sweep, namespace_, item, uids[count]);
        changes[count] = (struct words_change){uids[count], NULL};
        count += *uids[count] != '\0';
    }
    bool empty = map && !json_first(json_get(map, "data")); // a process ended after the create
    *more = count == WORDS_BATCH;
    return count > 0 || empty ? words_keep(sweep->link, namespace_, changes, count) : NULL;
}

static struct error *sweep_namespace(const struct sweep *sweep, const char *namespace_) {
    bool more = true;
    while (more && !atomic_load(sweep->link->client.stop))
        TRY(sweep_some(sweep, namespace_, &more));
    return NULL;
}

static void free_namespaces(struct sweep *sweep) {
    for (size_t i = 0; i < sweep->count; i++)
        free(sweep->namespaces[i]);
    free(sweep->namespaces);
}

struct error *words_sweep(const struct words_source *source, struct words_link *link, const char *origin) {
    __attribute__((cleanup(free_namespaces))) struct sweep sweep = {.source = source, .link = link, .origin = origin};
    AUTO_BUFFER(more, 16384);
    do {
        AUTO_JSON page = NULL;
        AUTO_TEXT path = text_format("/api/v1/configmaps?limit=100&fieldSelector=metadata.name%%3D" WORDS_MAP "%s%s",
                                     more.len > 0 ? "&continue=" : "", more.len > 0 ? more.data : "");
        if (!path)
            return error_no_memory();
        TRY(blocking_client_get(&link->client, path, true, &page));
        for (const struct json *item = json_first(json_get(page, "items")); item; item = json_next(item))
            TRY(add_namespace(&sweep, item));
        buffer_reset(&more);
        text_percent_encode(&more, json_string_or(json_path(page, "metadata", "continue", NULL), ""));
    } while (more.len > 0);
    for (size_t i = 0; i < sweep.count; i++)
        TRY(sweep_namespace(&sweep, sweep.namespaces[i]));
    return NULL;
}
