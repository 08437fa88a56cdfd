// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"

#include "core/base/log.h"

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

static const struct {
    enum http_method method;
    const char *content_type;
    const char *name; // in log lines
    enum meter_verb meter;
} verbs[] = {
    [VERB_GET] = {HTTP_GET, NULL, "get", METER_GET},
    [VERB_CREATE] = {HTTP_POST, "application/json", "create", METER_CREATE},
    [VERB_MERGE_PATCH] = {HTTP_PATCH, "application/merge-patch+json", "patch", METER_PATCH},
    [VERB_STATUS_PATCH] = {HTTP_PATCH, "application/merge-patch+json", "patch", METER_PATCH_STATUS},
    [VERB_APPLY] = {HTTP_PATCH, "application/apply-patch+yaml", "apply", METER_PATCH},
    [VERB_DELETE] = {HTTP_DELETE, "application/json", "delete", METER_DELETE},
    [VERB_RAW_GET] = {HTTP_GET, NULL, "get", METER_GET},
};

struct queued_request {
    struct queued_request *next;
    struct client *client;
    uint64_t id, exchange;  // exchange 0: waits to be sent
    struct request request; // without its texts
    char *path, *body;
    char *tenant; // or NULL
    bool resent;
    bool unknown; // may have taken effect
    response_handler handler;
    void *ctx;
    struct request_log log;
    int64_t sent_ns; // with a meter
};

struct client {
    struct client_options options;       // with a copy of its text
    struct queued_request *first, **end; // in the order of submission
    size_t count, in_flight;
    uint64_t last_id;
    char *warnings[MAX_WARNINGS]; // already logged
    size_t warning_count;
};

static void queued_free(struct queued_request *queued) {
    gate_exit(queued->request.gate, !queued->unknown);
    request_log_free(&queued->log);
    free(queued->path);
    (queued->request.sensitive ? sensitive_free : free)(queued->body);
    free(queued->tenant);
    free(queued);
}

// Removes the request from the queue; afterwards no cancel is possible.
static void queued_forget(struct queued_request *queued) {
    struct client *client = queued->client;
    struct queued_request **place = &client->first;
    while (*place != queued)
        place = &(*place)->next;
    *place = queued->next;
    if (!queued->next)
        client->end = place;
    client->count--;
}

struct error *client_new(const struct client_options *options, struct client **out) {
    struct client made = {.options = *options};
    if (options->max_in_flight == 0)
        made.options.max_in_flight = MAX_IN_FLIGHT;
    struct client *client = struct_copy_with_texts(&made, sizeof made, 1);
    if (!client)
        return error_no_memory();
    client->end = &client->first;
    *out = client;
    return NULL;
}

// Ends the exchange without an answer.
static void stop_exchange(struct queued_request *queued) {
    struct client *client = queued->client;
    if (queued->exchange == 0)
        return;
    client->options.transport->ops->cancel(client->options.transport, queued->exchange);
    client->in_flight--;
    queued->unknown = true;
}

void client_free(struct client *client) {
    if (!client)
        return;
    for (struct queued_request *queued = client->first, *next; queued; queued = next) {
        next = queued->next;
        stop_exchange(queued);
        queued_free(queued);
    }
    for (size_t i = 0; i < client->warning_count; i++)
        free(client->warnings[i]);
    free(client);
}

// As client-go's IsValidPathSegmentName: anything else would change the meaning of the path.
static struct error *append(struct buffer *out, const char *what, const char *segment) {
    if (!segment || segment[0] == '\0' || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0 ||
        strpbrk(segment, "/%"))
        return error_new(ERROR_INVALID, "%s \"%s\" cannot be part of a request path", what, segment ? segment : "");
    buffer_char(out, '/');
    text_percent_encode(out, segment);
    return NULL;
}

struct error *resource_path(const struct resource *resource, const char *namespace_, const char *name,
                            const char *subresource, struct buffer *out) {
    bool core = resource->group[0] == '\0';
    buffer_text(out, core ? "/api" : "/apis");
    if (!core)
        TRY(append(out, "group", resource->group));
    TRY(append(out, "version", resource->version));
    if (!resource->cluster_scoped && namespace_ && namespace_[0] != '\0') {
        buffer_text(out, "/namespaces");
        TRY(append(out, "namespace", namespace_));
    }
    TRY(append(out, "resource", resource->plural));
    if (name)
        TRY(append(out, "name", name));
    if (subresource)
        TRY(append(out, "subresource", subresource));
    return out->failed ? error_no_memory() : NULL;
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
    queued->body = request->body ? malloc(request->body_len + 1) : NULL;
    if (request->tenant && !text_is_dns_label(request->tenant)) // anything else would change the headers
        return error_new(ERROR_INVALID, "tenant \"%s\" is not the name of a namespace", request->tenant);
    queued->tenant = request->tenant ? strdup(request->tenant) : NULL;
    if (!queued->path || (request->body && !queued->body) || (request->tenant && !queued->tenant))
        return error_no_memory();
    if (request->body)
        memcpy(queued->body, request->body, request->body_len);
    return NULL;
}

struct error *client_submit(struct client *client, const struct request *request, response_handler handler, void *ctx,
                            uint64_t *id) {
    struct queued_request *queued = calloc(1, sizeof(*queued));
    if (!queued)
        return error_no_memory();
    *queued = (struct queued_request){.client = client, .request = *request, .handler = handler, .ctx = ctx};
    gate_enter(request->gate);
    struct error *error = queued_fill(queued, request);
    if (error) {
        queued_free(queued);
        return error;
    }
    queued->id = ++client->last_id;
    *client->end = queued;
    client->end = &queued->next;
    client->count++;
    if (id)
        *id = queued->id;
    return NULL;
}

void client_cancel(struct client *client, uint64_t id) {
    struct queued_request *queued = client->first;
    while (queued && queued->id != id)
        queued = queued->next;
    if (!queued)
        return;
    stop_exchange(queued);
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
    log_fields(LOG_WARN, "the API server warns", {"cluster", client->options.cluster}, {"warning", text});
}

// Takes ownership of `queued`.
static void answer(struct queued_request *queued, const struct http_result *result) {
    SENSITIVE_WHILE(queued->request.sensitive);
    struct response response;
    bool dry_run = queued->request.dry_run != DRY_RUN_NO;
    // A dry-run response has no resourceVersion: it is a document, not an object.
    bool document = dry_run && result->status >= 200 && result->status < 300;
    queued_forget(queued);
    response_read_within(&response, result, document ? VERB_RAW_GET : queued->request.verb,
                         queued->client->options.budget);
    if (dry_run && result->warning && !response.sensitive)
        response.warning = strdup(result->warning);
    queued->unknown = response.reason == REASON_UNKNOWN_OUTCOME;
    queued->handler(queued->ctx, &response);
    response_clear(&response);
    queued_free(queued);
}

static void exchange_done(void *ctx, const struct http_result *result) {
    struct queued_request *queued = ctx;
    struct client *client = queued->client;
    struct transport *transport = client->options.transport;
    client->in_flight--;
    queued->exchange = 0;
    request_log_end(&queued->log, client->options.cluster, result);
    int64_t now_ns = clock_now().mono_ns, took_ns = now_ns - queued->sent_ns;
    meter_request(client->options.meter, verbs[queued->request.verb].meter, result->status, took_ns);
    if (result->outcome == HTTP_ANSWERED)
        meter_answered(client->options.meter, now_ns, took_ns);
    probe_ended(client->options.probe, result);
    if (queued->request.dry_run == DRY_RUN_NO && !queued->request.sensitive)
        log_warning(client, result->warning);
    bool again = result->outcome == HTTP_ANSWERED && result->status == 401 && !queued->resent &&
                 transport->ops->refresh(transport);
    if (again)
        queued->resent = true;
    else
        answer(queued, result);
}

static uint64_t submit(struct queued_request *queued) {
    const struct client_options *options = &queued->client->options;
    enum verb verb = queued->request.verb;
    struct http_request request = {.method = verbs[verb].method,
                                   .path = queued->path,
                                   .content_type = queued->body ? verbs[verb].content_type : NULL,
                                   .accept = queued->request.metadata ? ACCEPT_METADATA_LIST : "application/json",
                                   .tenant = queued->tenant,
                                   .body = queued->body,
                                   .body_len = queued->body ? queued->request.body_len : 0,
                                   .max_body = budget_or_default(options->budget)->max_answer,
                                   .timeout_ns = TIMEOUT_NS,
                                   .sensitive = queued->request.sensitive,
                                   .gate = queued->request.gate};
    struct http_handler handler = {.done = exchange_done, .ctx = queued};
    return options->transport->ops->submit(options->transport, &request, &handler);
}

static void end(struct queued_request *queued, enum http_outcome outcome, const char *problem) {
    answer(queued, &(struct http_result){
                       .outcome = outcome, .body = "", .content_type = "", .retry_after_ns = -1, .problem = problem});
}

// False when out of memory; the handler was called then, and with a closed gate.
static bool queued_send(struct client *client, struct queued_request *queued, struct moment now) {
    if (!gate_admits(queued->request.gate, now.mono_ns)) {
        end(queued, HTTP_REFUSED, "the lease has ended");
        return true;
    }
    queued->exchange = submit(queued);
    if (queued->exchange == 0) {
        end(queued, HTTP_REFUSED, "out of memory");
        return false;
    }
    request_log_begin(&queued->log, verbs[queued->request.verb].name, queued->path);
    if (client->options.meter)
        queued->sent_ns = clock_now().mono_ns;
    client->in_flight++;
    return true;
}

static struct queued_request *first_late(const struct client *client, struct moment now) {
    struct queued_request *queued = client->first;
    while (queued && (queued->exchange == 0 || gate_is_open(queued->request.gate, now.mono_ns)))
        queued = queued->next;
    return queued;
}

// Requests in flight end when their gate closes: the next holder of the lease may begin.
static void end_late(struct client *client, struct moment now) {
    for (struct queued_request *queued; (queued = first_late(client, now));) {
        static const char why[] = "the lease ended before the answer came";
        stop_exchange(queued);
        request_log_end(&queued->log, client->options.cluster, &(struct http_result){.problem = why});
        end(queued, HTTP_BROKEN, why);
    }
}

// A released lease ends before its time; the release follows a second later (core/host/lease/election.c).
static int64_t next_late_ns(const struct client *client, struct moment now) {
    int64_t next_ns = CLOCK_NEVER, look_ns = now.mono_ns + GATE_LOOK_NS;
    for (const struct queued_request *queued = client->first; queued; queued = queued->next)
        if (queued->exchange != 0 && queued->request.gate)
            next_ns = clock_earlier(next_ns, clock_earlier(atomic_load(&queued->request.gate->until_ns), look_ns));
    return next_ns;
}

static struct queued_request *first_waiting(const struct client *client) {
    struct queued_request *queued = client->in_flight < client->options.max_in_flight ? client->first : NULL;
    while (queued && queued->exchange != 0)
        queued = queued->next;
    return queued;
}

int64_t client_tick(struct client *client, struct moment now) {
    end_late(client, now);
    for (struct queued_request *queued; (queued = first_waiting(client));)
        if (!queued_send(client, queued, now))
            return now.mono_ns + NO_MEMORY_WAIT_NS;
    return next_late_ns(client, now); // or at a response or a new request
}

size_t client_pending(const struct client *client) {
    return client->count;
}

struct transport *client_transport(struct client *client) {
    return client->options.transport;
}
