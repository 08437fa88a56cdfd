// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/curl_transport.h"

#include "core/kube/transport/curl_internal.h"

#include <strings.h>

#define HEAD_MAX ((size_t)32 * 1024)
#define BODY_MAX ((size_t)64 * 1024)
#define ANSWER_NS (20 * CLOCK_SECOND)
#define CREDENTIALS_NS (60 * CLOCK_SECOND)
#define POLL_MS 100

struct tunnel {
    CURL *easy;
    curl_socket_t socket;
    struct buffer early; // came with the head of the answer
    const atomic_bool *stop;
    char detail[CURL_ERROR_SIZE];
};

void tunnel_answer_clear(struct tunnel_answer *answer) {
    free(answer->headers);
    buffer_free(&answer->body);
    *answer = (struct tunnel_answer){0};
}

char *tunnel_header(const struct tunnel_answer *answer, const char *name) {
    size_t len = strlen(name);
    for (const char *line = answer->headers; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *value = line + len + 1 + strspn(line + len + 1, " \t");
        return strndup(value, strcspn(value, "\r\n"));
    }
    return NULL;
}

void tunnel_close(struct tunnel *tunnel) {
    if (!tunnel)
        return;
    curl_easy_cleanup(tunnel->easy);
    buffer_free(&tunnel->early);
    free(tunnel);
}

int tunnel_socket(const struct tunnel *tunnel) {
    return tunnel->socket;
}

static ptrdiff_t read_socket(struct tunnel *tunnel, void *bytes, size_t len) {
    size_t count = 0;
    CURLcode code = curl_easy_recv(tunnel->easy, bytes, len, &count);
    if (code == CURLE_AGAIN)
        return 0;
    return code == CURLE_OK && count > 0 ? (ptrdiff_t)count : -1;
}

ptrdiff_t tunnel_read(struct tunnel *tunnel, void *bytes, size_t len) {
    if (tunnel->early.len == 0)
        return read_socket(tunnel, bytes, len);
    len = size_least(len, tunnel->early.len);
    memcpy(bytes, tunnel->early.data, len);
    buffer_consume(&tunnel->early, len);
    return (ptrdiff_t)len;
}

ptrdiff_t tunnel_write(struct tunnel *tunnel, const void *bytes, size_t len) {
    size_t count = 0;
    CURLcode code = curl_easy_send(tunnel->easy, bytes, len, &count);
    return code == CURLE_OK ? (ptrdiff_t)count : code == CURLE_AGAIN ? 0 : -1;
}

static int on_progress(void *stop, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load((const atomic_bool *)stop);
}

// A plugin for credentials may still run.
static struct error *wait_for_credentials(struct curl_transport *transport, const atomic_bool *stop) {
    int64_t until_ns = clock_now().mono_ns + CREDENTIALS_NS;
    do
        curl_transport_poll(&transport->base, 0);
    while (credentials_are_pending(&transport->credentials, clock_now().mono_ns) && !atomic_load(stop) &&
           clock_now().mono_ns < until_ns && poll(NULL, 0, POLL_MS) == 0);
    const struct error *problem = credentials_problem(&transport->credentials, clock_now().mono_ns);
    return problem ? error_new(problem->code, "%s", error_text(problem)) : NULL;
}

// The handle of an exchange has all options; its callbacks are for requests.
static CURL *make_handle(struct curl_transport *transport, struct tunnel *tunnel) {
    struct exchange *exchange = exchange_new(transport, &(const struct http_request){.path = "/"});
    CURL *easy = exchange && options_of_credentials(exchange) ? curl_easy_duphandle(exchange->easy) : NULL;
    if (exchange)
        exchange_recycle(exchange);
    if (!easy)
        return NULL;
    if (SET(easy, CURLOPT_HTTPHEADER, NULL) && SET(easy, CURLOPT_HEADERFUNCTION, NULL) &&
        SET(easy, CURLOPT_HEADERDATA, NULL) && SET(easy, CURLOPT_WRITEFUNCTION, NULL) &&
        SET(easy, CURLOPT_WRITEDATA, NULL) && SET(easy, CURLOPT_PREREQFUNCTION, NULL) &&
        SET(easy, CURLOPT_PRIVATE, NULL) && SET(easy, CURLOPT_ERRORBUFFER, tunnel->detail) &&
        SET(easy, CURLOPT_XFERINFOFUNCTION, on_progress) &&
        SET(easy, CURLOPT_XFERINFODATA, (void *)(uintptr_t)tunnel->stop) && SET(easy, CURLOPT_NOPROGRESS, 0L) &&
        SET(easy, CURLOPT_HTTPPROXYTUNNEL, (long)(*transport->proxy != '\0')) && SET(easy, CURLOPT_CONNECT_ONLY, 1L))
        return easy;
    curl_easy_cleanup(easy);
    return NULL;
}

static struct error *connect_to(struct curl_transport *transport, struct tunnel *tunnel) {
    TRY(wait_for_credentials(transport, tunnel->stop));
    tunnel->easy = make_handle(transport, tunnel);
    if (!tunnel->easy)
        return error_no_memory();
    CURLcode code = curl_easy_perform(tunnel->easy);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(tunnel->easy, CURLINFO_ACTIVESOCKET, &tunnel->socket);
    if (code == CURLE_OK && tunnel->socket != CURL_SOCKET_BAD)
        return NULL;
    return error_new(ERROR_IO, "cannot connect to %s: %s", transport->base_url,
                     tunnel->detail[0] ? tunnel->detail : curl_easy_strerror(code));
}

static struct error *put_head(const struct curl_transport *transport, const char *path, const char *tenant,
                              const char *headers, struct buffer *out) {
    const struct credentials *credentials = &transport->credentials;
    AUTO_TEXT authority = server_url_authority(&transport->url, transport->url.has_port);
    if (!authority)
        return error_no_memory();
    buffer_printf(out, "GET %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n", transport->url.path, path, authority,
                  transport->user_agent);
    if (credentials->authorization)
        buffer_printf(out, "%s\r\n", credentials->authorization);
    if (tenant && !text_is_dns_label(tenant)) // anything else would change the headers
        return error_new(ERROR_INVALID, "tenant \"%s\" is not the name of a namespace", tenant);
    if (tenant)
        buffer_printf(out, "Impersonate-User: " TENANT_USER_PREFIX "%s\r\nImpersonate-Group: " TENANT_GROUP "\r\n",
                      tenant);
    for (char *const *line = credentials->endpoint->impersonation; !tenant && line && *line; line++)
        buffer_printf(out, "%s\r\n", *line);
    buffer_printf(out, "%s%s%s\r\n", transport->header ? transport->header : "", transport->header ? "\r\n" : "",
                  headers);
    return out->failed ? error_new(ERROR_LIMIT, "the request for an upgrade is longer than %zu bytes", HEAD_MAX) : NULL;
}

// Waits until the socket is ready, for a moment. False: give up.
static bool wait_for(const struct tunnel *tunnel, short events, int64_t until_ns) {
    struct pollfd polled = {.fd = tunnel->socket, .events = events};
    (void)poll(&polled, 1, POLL_MS);
    return !atomic_load(tunnel->stop) && clock_now().mono_ns < until_ns;
}

static bool send_all(struct tunnel *tunnel, const struct buffer *text, int64_t until_ns) {
    size_t done = 0;
    while (done < text->len) {
        ptrdiff_t count = tunnel_write(tunnel, text->data + done, text->len - done);
        if (count < 0 || (count == 0 && !wait_for(tunnel, POLLOUT, until_ns)))
            return false;
        done += (size_t)count;
    }
    return true;
}

// Receives until there are `enough` early bytes; 0: until the end of a head.
static bool receive(struct tunnel *tunnel, size_t enough, int64_t until_ns) {
    char bytes[4096];
    struct buffer *early = &tunnel->early;
    while (enough > 0 ? early->len < enough : !early->data || !strstr(early->data, "\r\n\r\n")) {
        ptrdiff_t count = read_socket(tunnel, bytes, sizeof bytes);
        if (count < 0 || (count == 0 && !wait_for(tunnel, POLLIN, until_ns)) ||
            !buffer_append(early, bytes, (size_t)count))
            return false;
    }
    return true;
}

static struct error *read_answer(struct tunnel *tunnel, struct tunnel_answer *answer, int64_t until_ns) {
    static const char version[] = "HTTP/1.1 ";
    struct buffer *early = &tunnel->early;
    char digits[4] = "";
    int64_t status = 0, len = 0;
    if (!receive(tunnel, 0, until_ns) || !text_has_prefix(early->data, version))
        return error_new(ERROR_IO, "the server did not answer the request for an upgrade");
    text_copy(digits, sizeof digits, early->data + sizeof version - 1);
    const char *end = strstr(early->data, "\r\n\r\n") + 2, *lines = strchr(early->data, '\n') + 1;
    if (!text_to_int64(digits, &status))
        return error_new(ERROR_IO, "the server answered something that is not HTTP");
    answer->status = (int)status;
    answer->headers = strndup(lines, (size_t)(end - lines));
    if (!answer->headers)
        return error_no_memory();
    buffer_consume(early, (size_t)(end + 2 - early->data));
    AUTO_TEXT given = status == 101 ? NULL : tunnel_header(answer, "Content-Length");
    if (given && text_to_int64(given, &len) && len > 0) {
        size_t wanted = size_least((size_t)len, BODY_MAX);
        (void)receive(tunnel, wanted, until_ns);
        buffer_append(&answer->body, early->data ? early->data : "", size_least(early->len, wanted));
    }
    return NULL;
}

struct error *tunnel_open(struct transport *transport, const char *path, const char *tenant, const char *headers,
                          const atomic_bool *stop, struct tunnel **out, struct tunnel_answer *answer) {
    struct curl_transport *curl = (struct curl_transport *)transport;
    struct tunnel *tunnel = calloc(1, sizeof *tunnel);
    *answer = (struct tunnel_answer){.body = {.max = BODY_MAX}};
    *out = NULL;
    if (!tunnel)
        return error_no_memory();
    *tunnel = (struct tunnel){.stop = stop, .socket = CURL_SOCKET_BAD, .early = {.max = BODY_MAX}};
    AUTO_BUFFER(head, HEAD_MAX);
    struct error *error = connect_to(curl, tunnel);
    if (!error)
        error = put_head(curl, path, tenant, headers, &head);
    int64_t until_ns = clock_now().mono_ns + ANSWER_NS;
    if (!error && !send_all(tunnel, &head, until_ns))
        error = error_new(ERROR_IO, "the connection to %s broke", curl->base_url);
    if (head.data)
        explicit_bzero(head.data, head.len);
    if (!error)
        error = read_answer(tunnel, answer, until_ns);
    if (error)
        tunnel_answer_clear(answer);
    if (!error && answer->status == 101)
        *out = tunnel;
    else
        tunnel_close(tunnel);
    return error;
}
