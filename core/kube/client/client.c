// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"

#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/text.h"
#include "core/kube/client/request_log.h"

#include <stdlib.h>
#include <string.h>

#define MAX_IN_FLIGHT 64
// The server gives a request 60 s at most, a write 34 s (apiserver requestTimeoutUpperBound).
#define TIMEOUT_NS (40 * CLOCK_SECOND)
#define MAX_WARNINGS 64
#define GATE_LOOK_NS (CLOCK_SECOND / 2)
#define NO_MEMORY_WAIT_NS (100 * CLOCK_MS)
#define FIELD_MANAGER "?fieldManager=wharf"

static const char *const dry_run_queries[] = {
    [DRY_RUN_NO] = "",
    [DRY_RUN] = "&dryRun=All",
    [DRY_RUN_STRICT] = "&dryRun=All&fieldValidation=Strict",
};

struct queued_request {
    struct queued_request *previous, *next;
    struct client *client;
    uint64_t id, exchange;
    char key[24]; // the id, for the map
    enum verb verb;
    bool resent, dry_run, metadata;
    bool unknown; // may have taken effect
    struct gate *gate;
    char *path, *body;
    size_t body_len;
    response_handler handler;
    void *ctx;
    struct request_log log;
    int64_t sent_ns;   // with a meter
    struct line *line; // the queue that has the request
};

struct line {
    struct queued_request *first, *last;
};

struct client {
    char *cluster;
    struct transport *transport;
    struct probe *probe;
    struct meter *meter;
    const struct budget *budget;
    size_t max_in_flight, in_flight;
    struct line waiting, sent;
    struct map requests; // by id
    uint64_t last_id;
    char *warnings[MAX_WARNINGS]; // already logged
    size_t warning_count;
};

static void line_put(struct line *line, struct queued_request *queued, bool in_front) {
    queued->line = line;
    queued->previous = in_front ? NULL : line->last;
    queued->next = in_front ? line->first : NULL;
    *(queued->previous ? &queued->previous->next : &line->first) = queued;
    *(queued->next ? &queued->next->previous : &line->last) = queued;
}

static void line_take(struct queued_request *queued) {
    struct line *line = queued->line;
    *(queued->previous ? &queued->previous->next : &line->first) = queued->next;
    *(queued->next ? &queued->next->previous : &line->last) = queued->previous;
    queued->line = NULL;
}

static void queued_free(struct queued_request *queued) {
    if (queued) {
        gate_exit(queued->gate, !queued->unknown);
        request_log_free(&queued->log);
        free(queued->path);
        free(queued->body);
        free(queued);
    }
}

// Removes the request from its queue and from the map; afterwards no cancel is possible.
static void queued_forget(struct queued_request *queued) {
    line_take(queued);
    map_remove(&queued->client->requests, queued->key);
}

struct error *client_new(const struct client_options *options, struct client **out) {
    struct client *client = calloc(1, sizeof(*client));
    char *cluster = strdup(options->cluster);
    if (!client || !cluster) {
        free(client);
        free(cluster);
        return error_no_memory();
    }
    client->cluster = cluster;
    client->transport = options->transport;
    client->probe = options->probe;
    client->meter = options->meter;
    client->budget = options->budget;
    client->max_in_flight = options->max_in_flight > 0 ? options->max_in_flight : MAX_IN_FLIGHT;
    map_init(&client->requests, 0); // keys are generated here, not input
    *out = client;
    return NULL;
}

static void line_free(struct line *line) {
    struct queued_request *queued = line->first;
    while (queued) {
        struct queued_request *next = queued->next;
        queued_free(queued);
        queued = next;
    }
    *line = (struct line){0};
}

void client_free(struct client *client) {
    if (!client)
        return;
    for (struct queued_request *queued = client->sent.first; queued; queued = queued->next) {
        client->transport->ops->cancel(client->transport, queued->exchange);
        queued->unknown = true;
    }
    line_free(&client->waiting);
    line_free(&client->sent);
    map_free(&client->requests);
    for (size_t i = 0; i < client->warning_count; i++)
        free(client->warnings[i]);
    free(client->cluster);
    free(client);
}

// A caller's complete path must not contain anything that ends the request line.
static struct error *raw_path(const char *path, struct buffer *out) {
    if (!path || path[0] != '/')
        return error_new(ERROR_INVALID, "\"%s\" is not a valid request path", path ? path : "");
    for (const char *c = path; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            return error_new(ERROR_INVALID, "invalid byte 0x%02x in a request path", (unsigned char)*c);
    return buffer_text(out, path) ? NULL : error_no_memory();
}

static struct error *request_path(const struct request *request, struct buffer *out) {
    if (request->verb == VERB_RAW_GET)
        return raw_path(request->name, out);
    const struct resource *resource = &request->resource;
    if (!resource->cluster_scoped && (!request->namespace_ || request->namespace_[0] == '\0'))
        return error_new(ERROR_INVALID, "a request for %s without a namespace", resource->plural);
    bool of_collection = request->verb == VERB_CREATE && !request->subresource;
    if (!of_collection && !request->name)
        return error_new(ERROR_INVALID, "a request for an object of %s without a name", resource->plural);
    struct error *error = resource_path(resource, request->namespace_, of_collection ? NULL : request->name,
                                        request->verb == VERB_STATUS_PATCH ? "status" : request->subresource, out);
    if (error || request->verb == VERB_GET || request->verb == VERB_DELETE)
        return error;
    buffer_text(out, FIELD_MANAGER);
    return buffer_text(out, dry_run_queries[request->dry_run]) ? NULL : error_no_memory();
}

static struct error *queued_fill(struct queued_request *queued, const struct request *request) {
    AUTO_BUFFER(path, 8192);
    TRY(request_path(request, &path));
    queued->path = buffer_take(&path, NULL);
    if (!queued->path)
        return error_no_memory();
    if (request->body) {
        queued->body = malloc(request->body_len + 1);
        if (!queued->body)
            return error_no_memory();
        memcpy(queued->body, request->body, request->body_len);
        queued->body[request->body_len] = '\0';
        queued->body_len = request->body_len;
    }
    return NULL;
}

static void queued_key(uint64_t id, char key[24]) {
    size_t i = 0;
    for (; id > 0; id /= 16)
        key[i++] = "0123456789abcdef"[id % 16];
    key[i] = '\0';
}

struct error *client_submit(struct client *client, const struct request *request, response_handler handler, void *ctx,
                            uint64_t *id) {
    struct queued_request *queued = calloc(1, sizeof(*queued));
    if (!queued)
        return error_no_memory();
    struct error *error = queued_fill(queued, request);
    if (error) {
        queued_free(queued);
        return error;
    }
    queued->client = client;
    queued->verb = request->verb;
    queued->dry_run = request->dry_run != DRY_RUN_NO;
    queued->metadata = request->metadata;
    queued->gate = request->gate;
    gate_enter(queued->gate);
    queued->handler = handler;
    queued->ctx = ctx;
    queued->id = client->last_id + 1;
    queued_key(queued->id, queued->key);
    if (!map_put(&client->requests, queued->key, queued)) {
        queued_free(queued);
        return error_no_memory();
    }
    client->last_id = queued->id;
    line_put(&client->waiting, queued, false);
    if (id)
        *id = queued->id;
    return NULL;
}

void client_cancel(struct client *client, uint64_t id) {
    char key[24];
    queued_key(id, key);
    struct queued_request *queued = map_get(&client->requests, key);
    if (!queued)
        return;
    if (queued->line == &client->sent) {
        queued->unknown = true;
        client->transport->ops->cancel(client->transport, queued->exchange);
        client->in_flight--;
    }
    queued_forget(queued);
    queued_free(queued);
}

// A server repeats a warning with every response; each one is logged once.
static void log_warning(struct client *client, const char *warning) {
    if (!warning || client->warning_count == MAX_WARNINGS)
        return;
    char text[512];
    text_copy(text, sizeof(text), warning);
    for (size_t i = 0; i < client->warning_count; i++)
        if (strcmp(client->warnings[i], text) == 0)
            return;
    client->warnings[client->warning_count] = strdup(text);
    if (client->warnings[client->warning_count])
        client->warning_count++;
    log_fields(LOG_WARN, "the API server warns", {"cluster", client->cluster}, {"warning", text});
}

// Takes ownership of `queued`, which is in no queue.
static void answer(struct queued_request *queued, const struct http_result *result) {
    struct response response;
    // A dry-run response has no resourceVersion: it is a document, not an object.
    bool document = queued->dry_run && result->status >= 200 && result->status < 300;
    response_read_within(&response, result, document ? VERB_RAW_GET : queued->verb, queued->client->budget);
    if (queued->dry_run && result->warning)
        response.warning = strdup(result->warning);
    queued->unknown = response.reason == REASON_UNKNOWN_OUTCOME;
    queued->handler(queued->ctx, &response);
    response_clear(&response);
    queued_free(queued);
}

static void exchange_done(void *ctx, const struct http_result *result) {
    struct queued_request *queued = ctx;
    struct client *client = queued->client;
    client->in_flight--;
    request_log_end(&queued->log, client->cluster, result);
    int64_t now_ns = clock_now().mono_ns, took_ns = now_ns - queued->sent_ns;
    meter_request(client->meter, meter_verb(queued->verb), result->status, took_ns);
    if (result->outcome == HTTP_ANSWERED)
        meter_answered(client->meter, now_ns, took_ns);
    probe_ended(client->probe, result);
    log_warning(client, queued->dry_run ? NULL : result->warning);
    if (result->outcome == HTTP_ANSWERED && result->status == 401 && !queued->resent &&
        client->transport->ops->refresh(client->transport)) {
        queued->resent = true;
        line_take(queued);
        line_put(&client->waiting, queued, true);
        return;
    }
    queued_forget(queued);
    answer(queued, result);
}

static void describe(const struct queued_request *queued, struct http_request *out) {
    const struct budget *budget = budget_or_default(queued->client->budget);
    static const struct {
        enum http_method method;
        const char *content_type;
    } verbs[] = {
        [VERB_GET] = {HTTP_GET, NULL},
        [VERB_CREATE] = {HTTP_POST, "application/json"},
        [VERB_MERGE_PATCH] = {HTTP_PATCH, "application/merge-patch+json"},
        [VERB_STATUS_PATCH] = {HTTP_PATCH, "application/merge-patch+json"},
        [VERB_DELETE] = {HTTP_DELETE, "application/json"},
        [VERB_RAW_GET] = {HTTP_GET, NULL},
    };
    *out = (struct http_request){.method = verbs[queued->verb].method,
                                 .path = queued->path,
                                 .content_type = queued->body ? verbs[queued->verb].content_type : NULL,
                                 .accept = queued->metadata ? ACCEPT_METADATA_LIST : "application/json",
                                 .body = queued->body,
                                 .body_len = queued->body_len,
                                 .max_body = budget->max_answer,
                                 .timeout_ns = TIMEOUT_NS,
                                 .gate = queued->gate};
}

static void end(struct queued_request *queued, enum http_outcome outcome, const char *problem) {
    struct http_result none = {
        .outcome = outcome, .body = "", .content_type = "", .retry_after_ns = -1, .problem = problem};
    queued_forget(queued);
    answer(queued, &none);
}

// False when out of memory, or with a closed gate; the handler was called.
static bool queued_send(struct client *client, struct queued_request *queued, struct moment now) {
    struct http_request request;
    if (!gate_admits(queued->gate, now.mono_ns)) {
        end(queued, HTTP_REFUSED, "the lease has ended");
        return true;
    }
    describe(queued, &request);
    struct http_handler handler = {.done = exchange_done, .ctx = queued};
    line_take(queued);
    line_put(&client->sent, queued, false);
    queued->exchange = client->transport->ops->submit(client->transport, &request, &handler);
    if (queued->exchange != 0) {
        request_log_begin(&queued->log, request_log_verb(queued->verb), queued->path);
        if (client->meter)
            queued->sent_ns = clock_now().mono_ns;
        client->in_flight++;
        return true;
    }
    end(queued, HTTP_REFUSED, "out of memory");
    return false;
}

static struct queued_request *first_late(const struct client *client, struct moment now) {
    struct queued_request *queued = client->sent.first;
    while (queued && gate_is_open(queued->gate, now.mono_ns))
        queued = queued->next;
    return queued;
}

// Requests in flight end when their gate closes: the next holder of the lease may begin.
static void end_late(struct client *client, struct moment now) {
    for (struct queued_request *queued; (queued = first_late(client, now));) {
        client->transport->ops->cancel(client->transport, queued->exchange);
        client->in_flight--;
        static const char why[] = "the lease ended before the answer came";
        request_log_end(&queued->log, client->cluster, &(struct http_result){.problem = why});
        end(queued, HTTP_BROKEN, why);
    }
}

// A released lease ends before its time; the release follows a second later (core/host/lease/election.c).
static int64_t next_late_ns(const struct client *client, struct moment now) {
    int64_t next_ns = CLOCK_NEVER, look_ns = now.mono_ns + GATE_LOOK_NS;
    for (const struct queued_request *queued = client->sent.first; queued; queued = queued->next)
        if (queued->gate)
            next_ns = clock_earlier(next_ns, clock_earlier(atomic_load(&queued->gate->until_ns), look_ns));
    return next_ns;
}

int64_t client_tick(struct client *client, struct moment now) {
    end_late(client, now);
    while (client->waiting.first && client->in_flight < client->max_in_flight)
        if (!queued_send(client, client->waiting.first, now))
            return now.mono_ns + NO_MEMORY_WAIT_NS;
    return next_late_ns(client, now); // or at a response or a new request
}

size_t client_pending(const struct client *client) {
    return client->requests.count;
}

struct transport *client_transport(struct client *client) {
    return client->transport;
}
