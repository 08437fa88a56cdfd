// SPDX-License-Identifier: Apache-2.0
// Exchanges: their memory, their responses, and how they end (curl_internal.h).
#include "core/kube/transport/curl_internal.h"

#define IDLE_EXCHANGES 32
#define IDLE_KEPT 2 // number of idle exchanges kept while there are no requests
#define QUIET_TIME (10 * CLOCK_SECOND)
#define KEPT_BODY ((size_t)16 * 1024)   // a larger buffer is not kept for the next response
#define HEADERS_MAX ((size_t)256 << 10) // libcurl keeps all headers, including trailers and those of interim responses
#define WARNINGS_MAX 4096

bool exchange_add(struct exchange *exchange) {
    exchange->added = curl_multi_add_handle(exchange->transport->multi, exchange->easy) == CURLM_OK;
    return exchange->added;
}

void exchange_remove(struct exchange *exchange) {
    if (exchange->added)
        curl_multi_remove_handle(exchange->transport->multi, exchange->easy);
    exchange->added = false;
}

static void exchange_free(struct exchange *exchange) {
    struct exchange **place = &exchange->transport->all;
    while (*place != exchange)
        place = &(*place)->other;
    *place = exchange->other;
    curl_easy_cleanup(exchange->easy);
    pem_set_release(exchange->pem_set);
    buffer_free(&exchange->received);
    free(exchange);
}

static struct exchange *make_exchange(struct curl_transport *transport) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    *exchange = (struct exchange){.transport = transport, .other = transport->all, .easy = curl_easy_init()};
    transport->all = exchange;
    timer_init(&exchange->stall);
    if (exchange->easy && options_of_transport(exchange))
        return exchange;
    exchange_free(exchange);
    return NULL;
}

static struct exchange *take_idle(struct curl_transport *transport) {
    struct exchange *exchange = transport->idle;
    transport->idle = exchange->next;
    transport->n_idle--;
    exchange->next = NULL;
    return exchange;
}

struct exchange *exchange_new(struct curl_transport *transport, const struct http_request *request) {
    struct exchange *exchange = transport->idle ? take_idle(transport) : make_exchange(transport);
    if (!exchange)
        return NULL;
    transport->taken_ns = transport->now_ns;
    exchange->received.max = request->max_body;
    exchange->received.sensitive = request->sensitive;
    exchange->request = *request;
    if (request->sensitive)
        curl_memory_overwrite();
    if (!options_of_request(exchange, request)) {
        exchange_recycle(exchange);
        return NULL;
    }
    exchange->id = ++transport->last_id;
    return exchange;
}

struct exchange *exchange_find(struct curl_transport *transport, uint64_t id) {
    struct exchange *exchange = id ? transport->all : NULL;
    while (exchange && exchange->id != id)
        exchange = exchange->other;
    return exchange;
}

// Frees the memory of one request. The easy handle, its certificates and a small buffer are for the next one.
static void end_request(struct exchange *exchange) {
    struct curl_transport *transport = exchange->transport;
    heap_remove(&transport->stalls, &exchange->stall);
    curl_slist_free_all(exchange->headers);
    (void)SET(exchange->easy, CURLOPT_POSTFIELDS, NULL); // frees the copy of the body
    free(exchange->problem);
    budget_give(transport->budget, exchange->charged);
    buffer_shrink(&exchange->received, KEPT_BODY);
    buffer_reset(&exchange->received);
    *exchange = (struct exchange){.transport = transport,
                                  .other = exchange->other,
                                  .easy = exchange->easy,
                                  .pem_set = exchange->pem_set,
                                  .stall = exchange->stall,
                                  .received = exchange->received};
}

void exchange_recycle(struct exchange *exchange) {
    struct curl_transport *transport = exchange->transport;
    bool sensitive = exchange->request.sensitive; // an idle handle may keep the last bytes sent
    end_request(exchange);
    if (sensitive || transport->n_idle >= IDLE_EXCHANGES) {
        exchange_free(exchange);
        return;
    }
    exchange->next = transport->idle;
    transport->idle = exchange;
    transport->n_idle++;
}

void exchange_trim(struct curl_transport *transport) {
    if (transport->now_ns - transport->taken_ns < QUIET_TIME)
        return;
    while (transport->n_idle > IDLE_KEPT)
        exchange_free(take_idle(transport));
}

void exchange_free_all(struct curl_transport *transport) {
    while (transport->all) {
        exchange_remove(transport->all);
        end_request(transport->all);
        exchange_free(transport->all);
    }
}

static void read_status(struct exchange *exchange) {
    long status = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    exchange->status = (int)status;
}

static bool streams(const struct exchange *exchange) {
    return exchange->request.stream && exchange->status == 200;
}

// Ends the exchange from within a callback of libcurl.
static size_t stop(struct exchange *exchange, char *problem) {
    exchange->problem = problem;
    return 0;
}

static size_t stop_stream(struct exchange *exchange) {
    return stop(exchange, text_format("the stream from %s was ended by its reader", exchange->transport->base_url));
}

// Also called with the blank line after the headers, possibly again after an interim response (1xx) and trailers.
size_t exchange_on_header(char *bytes, size_t size, size_t count, void *context) {
    struct exchange *exchange = context;
    size_t len = size * count;
    if (exchange->id == 0)
        return 0;
    exchange->last_byte_ns = exchange->transport->now_ns;
    exchange->head_bytes += len;
    if (exchange->head_bytes > HEADERS_MAX)
        return stop(exchange, text_format("headers and trailers from %s are larger than %zu bytes",
                                          exchange->transport->base_url, HEADERS_MAX));
    if (exchange->headed || len == 0 || (bytes[0] != '\r' && bytes[0] != '\n'))
        return len;
    read_status(exchange);
    exchange->headed = exchange->status >= 200;
    if (exchange->headed)
        exec_source_answered(&exchange->transport->credentials.exec, exchange->generation, exchange->status);
    if (!streams(exchange))
        return len;
    exchange->transport->called = true;
    bool goes_on = !exchange->handler.opened || exchange->handler.opened(exchange->handler.ctx);
    return goes_on ? len : stop_stream(exchange);
}

// Returns `len`, or 0.
static size_t collect(struct exchange *exchange, const char *bytes, size_t len) {
    const char *server = exchange->transport->base_url;
    size_t max = exchange->request.max_body;
    if (len > max - exchange->received.len || !budget_take(exchange->transport->budget, len)) {
        exchange->too_large = true;
        return stop(exchange, text_format("the response from %s is larger than %zu bytes, or all incomplete responses "
                                          "together exceed the memory budget",
                                          server, max));
    }
    exchange->charged += len;
    if (!buffer_append(&exchange->received, bytes, len))
        return stop(exchange, text_format("out of memory while reading the response from %s", server));
    return len;
}

static size_t take_body(struct exchange *exchange, const char *bytes, size_t len) {
    if (exchange->id == 0)
        return 0;
    exchange->last_byte_ns = exchange->transport->now_ns;
    if (!streams(exchange))
        return collect(exchange, bytes, len);
    exchange->transport->called = true;
    bool goes_on = !exchange->handler.data || exchange->handler.data(exchange->handler.ctx, bytes, len);
    return goes_on ? len : stop_stream(exchange);
}

// The bytes are in libcurl's own buffer, which is used again: without Accept-Encoding nothing else has them.
size_t exchange_on_body(char *bytes, size_t size, size_t count, void *context) {
    struct exchange *exchange = context;
    bool sensitive = exchange->request.sensitive;
    SENSITIVE_WHILE(sensitive);
    size_t taken = take_body(exchange, bytes, size * count);
    if (sensitive)
        explicit_bzero(bytes, size * count);
    return taken;
}

// RFC 9110 section 10.2.3; only the form in seconds, as in client-go.
static int64_t retry_after(CURL *easy) {
    struct curl_header *header;
    int64_t seconds;
    if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK ||
        !text_to_int64(header->value, &seconds) || seconds > INT64_MAX / CLOCK_SECOND)
        return -1;
    return seconds * CLOCK_SECOND;
}

// Appends the content of the quoted string at *text (RFC 9110 section 5.6.4) to `out`, unless NULL, and advances past
// the string. False: no quoted string.
static bool unquote(const char **text, struct buffer *out) {
    const char *at = *text;
    if (*at++ != '"')
        return false;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        if (out)
            buffer_char(out, *at);
    }
    *text = *at ? at + 1 : at;
    return *at == '"';
}

static const char *skip_spaces(const char *text) {
    return text + strspn(text, " \t");
}

// RFC 7234 section 5.5: code SP agent SP "text" [SP "date"], several separated by commas.
static void read_warnings(const char *value, struct buffer *out) {
    for (const char *at = skip_spaces(value); *at; at = skip_spaces(at)) {
        bool wanted = text_has_prefix(at, "299 ");
        at = skip_spaces(at + strcspn(at, " \t"));
        at = skip_spaces(at + strcspn(at, " \t"));
        size_t before = out->len;
        if (wanted && before > 0)
            buffer_text(out, "; ");
        size_t begin = out->len;
        if (!unquote(&at, out) || !wanted || out->len == begin)
            out->len = before;
        at = skip_spaces(at);
        if (*at == '"' && !unquote(&at, NULL)) // the date
            return;
        at = skip_spaces(at);
        if (*at++ != ',')
            return;
    }
}

static void finish_exchange(struct exchange *exchange, const struct http_result *result) {
    SENSITIVE_WHILE(exchange->request.sensitive);
    exchange->id = 0; // the id is invalid from here on, even for its own handler
    exchange->transport->called = true;
    exchange->handler.done(exchange->handler.ctx, result);
}

void exchange_report_failure(struct exchange *exchange, const char *problem, bool stalled) {
    const struct http_result result = {.outcome = exchange->sent ? HTTP_BROKEN : HTTP_REFUSED,
                                       .status = exchange->request.stream && exchange->headed ? exchange->status : 0,
                                       .body = "",
                                       .content_type = "",
                                       .retry_after_ns = -1,
                                       .problem = problem,
                                       .stalled = stalled,
                                       .too_large = exchange->too_large};
    finish_exchange(exchange, &result);
}

static char *describe(struct exchange *exchange, CURLcode code) {
    const char *server = exchange->transport->base_url;
    if (exchange->problem)
        return TAKE(exchange->problem);
    const char *detail = exchange->detail[0] ? exchange->detail
                         : code == CURLE_OK  ? "the connection was closed before the end of the response headers"
                                             : curl_easy_strerror(code);
    if (!exchange->sent && exchange->transport->no_files)
        return text_format("cannot connect to %s: out of file descriptors; raise the limit on open files "
                           "(ulimit -n, LimitNOFILE)",
                           server);
    if (!exchange->sent)
        return text_format("cannot connect to %s: %s%s", server, detail, certificate_note(exchange));
    return text_format("the request to %s failed: %s", server, detail);
}

static void deliver_answer(struct exchange *exchange) {
    AUTO_BUFFER(warnings, WARNINGS_MAX);
    struct curl_header *header;
    for (size_t i = 0; curl_easy_header(exchange->easy, "Warning", i, CURLH_HEADER, -1, &header) == CURLHE_OK; i++)
        read_warnings(header->value, &warnings);
    if (warnings.data)
        warnings.data[warnings.len] = '\0';
    const char *content_type = NULL;
    curl_easy_getinfo(exchange->easy, CURLINFO_CONTENT_TYPE, &content_type);
    const struct http_result result = {.outcome = HTTP_ANSWERED,
                                       .status = exchange->status,
                                       .body = exchange->received.data ? exchange->received.data : "",
                                       .body_len = exchange->received.len,
                                       .content_type = content_type ? content_type : "",
                                       .retry_after_ns = retry_after(exchange->easy),
                                       .warning = warnings.len > 0 ? warnings.data : NULL};
    finish_exchange(exchange, &result);
}

void exchange_deliver(struct exchange *exchange, CURLcode code) {
    read_status(exchange);
    // libcurl treats a connection closed within the headers as a complete response.
    if (code == CURLE_OK && exchange->headed) {
        deliver_answer(exchange);
        return;
    }
    AUTO_TEXT problem = describe(exchange, code);
    exchange_report_failure(exchange, problem ? problem : "out of memory", false);
}
