// SPDX-License-Identifier: Apache-2.0
// Responses, and how exchanges end (curl_internal.h).
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/kube/transport/curl_internal.h"

#include <stdlib.h>
#include <string.h>

static void read_status(struct exchange *exchange) {
    long status = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    exchange->status = (int)status;
}

static bool streams(const struct exchange *exchange) {
    return exchange->request.stream && exchange->status == 200;
}

// A stream was opened. False if its handler rejects it.
static bool open_stream(struct exchange *exchange) {
    exchange->transport->called = true;
    exchange->stopped = exchange->handler.opened && !exchange->handler.opened(exchange->handler.ctx);
    return !exchange->stopped;
}

// libcurl keeps all headers, including trailers and those of interim responses.
#define HEADERS_MAX ((size_t)256 << 10)

// Also called with the blank line after the headers, possibly again after an interim response (1xx) and trailers.
size_t response_on_header(char *bytes, size_t size, size_t count, void *context) {
    struct exchange *exchange = context;
    size_t len = size * count;
    if (exchange->id == 0)
        return 0;
    exchange->last_byte_ns = exchange->transport->now_ns;
    exchange->head_bytes += len;
    exchange->long_headers = exchange->head_bytes > HEADERS_MAX;
    if (exchange->long_headers)
        return 0;
    if (exchange->headed || len == 0 || (bytes[0] != '\r' && bytes[0] != '\n'))
        return len;
    read_status(exchange);
    exchange->headed = exchange->status >= 200;
    if (exchange->headed)
        exec_source_answered(&exchange->transport->credentials.exec, exchange->generation, exchange->status);
    return !streams(exchange) || open_stream(exchange) ? len : 0;
}

static bool collect(struct exchange *exchange, const char *bytes, size_t len) {
    if (len > exchange->request.max_body - exchange->received.len || !budget_take(exchange->transport->budget, len)) {
        exchange->too_large = true;
        return false;
    }
    exchange->charged += len;
    if (!buffer_append(&exchange->received, bytes, len)) {
        exchange->no_memory = true;
        return false;
    }
    return true;
}

size_t response_on_body(char *bytes, size_t size, size_t count, void *context) {
    struct exchange *exchange = context;
    size_t len = size * count;
    if (exchange->id == 0)
        return 0;
    exchange->last_byte_ns = exchange->transport->now_ns;
    if (!streams(exchange))
        return collect(exchange, bytes, len) ? len : 0;
    exchange->transport->called = true;
    if (!exchange->handler.data || exchange->handler.data(exchange->handler.ctx, bytes, len))
        return len;
    exchange->stopped = true;
    return 0;
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

// Appends the content of the quoted string at *text (RFC 9110 section 5.6.4) and advances past the string. False: no
// quoted string.
static bool unquote(const char **text, struct buffer *out) {
    const char *at = *text;
    if (*at++ != '"')
        return false;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
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
        struct buffer date = {.max = 256};
        if (*at == '"' && !unquote(&at, &date))
            at += strlen(at);
        buffer_free(&date);
        at = skip_spaces(at);
        if (*at != ',')
            return;
        at++;
    }
}

#define WARNINGS_MAX 4096

static void collect_warnings(CURL *easy, struct buffer *out) {
    struct curl_header *header;
    for (size_t i = 0; curl_easy_header(easy, "Warning", i, CURLH_HEADER, -1, &header) == CURLHE_OK; i++)
        read_warnings(header->value, out);
    if (out->data)
        out->data[out->len] = '\0';
}

static void finish_exchange(struct exchange *exchange, const struct http_result *result) {
    exchange->id = 0; // the id is invalid from here on, even for its own handler
    exchange->transport->called = true;
    exchange->handler.done(exchange->handler.ctx, result);
}

void response_fail(struct exchange *exchange, const char *problem, bool stalled) {
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

static char *describe(const struct exchange *exchange, CURLcode code) {
    const char *server = exchange->transport->base_url;
    if (exchange->too_large)
        return text_format(
            "the response from %s is larger than %zu bytes, or all incomplete responses together exceed the "
            "memory budget",
            server, exchange->request.max_body);
    if (exchange->long_headers)
        return text_format("headers and trailers from %s are larger than %zu bytes", server, HEADERS_MAX);
    if (exchange->no_memory)
        return text_format("out of memory while reading the response from %s", server);
    if (exchange->late)
        return text_format("the lease has ended before the request was sent to %s", server);
    if (exchange->stopped)
        return text_format("the stream from %s was ended by its reader", server);
    const char *detail = exchange->detail[0] ? exchange->detail
                         : code == CURLE_OK  ? "the connection was closed before the end of the response headers"
                                             : curl_easy_strerror(code);
    if (!exchange->sent && exchange->transport->no_files)
        return text_format("cannot connect to %s: out of file descriptors; raise the limit on open files "
                           "(ulimit -n, LimitNOFILE)",
                           server);
    if (!exchange->sent)
        return text_format("cannot connect to %s: %s%s", server, detail, exchange_verdict(exchange));
    return text_format("the request to %s failed: %s", server, detail);
}

static void deliver_answer(struct exchange *exchange) {
    AUTO_BUFFER(warnings, WARNINGS_MAX);
    collect_warnings(exchange->easy, &warnings);
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

void response_deliver(struct exchange *exchange, CURLcode code) {
    read_status(exchange);
    if (code == CURLE_OK &&
        exchange->headed) { // libcurl treats a connection closed within the headers as a complete response
        deliver_answer(exchange);
        return;
    }
    AUTO_TEXT problem = describe(exchange, code);
    response_fail(exchange, problem ? problem : "out of memory", false);
}
