// SPDX-License-Identifier: Apache-2.0
// libcurl options for requests (curl_internal.h), for libcurl 7.88 and later. HTTP/1.1 only: HTTP/2 takes more
// processor time at both ends in every version (docs/performance.md), and in 7.88 it may report a cut stream as
// complete and loses window for cancelled streams.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/kube/transport/curl_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_IDLE_S 30L
#define KEEPALIVE_INTERVAL_S 10L
#define CONNECT_TIMEOUT_MS 10000L
#define MAX_IDLE_S 60L // an API server closes idle connections after 90
// More than the requests in flight and the streams of all kinds: with fewer, libcurl closes those that become idle, and
// each further request has a handshake.
#define MAX_CONNECTIONS 512L

static bool set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_numbers(CURL *easy, bool insecure) {
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_PATH_AS_IS, 1},
        {CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS},
        {CURLOPT_TCP_KEEPALIVE, 1},
        {CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {CURLOPT_MAXAGE_CONN, MAX_IDLE_S},
        {CURLOPT_UPLOAD_BUFFERSIZE, 16384},
        {CURLOPT_HEADEROPT, CURLHEADER_SEPARATE}, // headers for the server are not sent to the proxy
        {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_SSL_SESSIONID_CACHE, 0}, // a resumed session would keep the identity of an old certificate
        {CURLOPT_SSL_VERIFYPEER, insecure ? 0 : 1},
        {CURLOPT_SSL_VERIFYHOST, insecure ? 0 : 2},
        {CURLOPT_PROXY_SSL_VERIFYPEER, insecure ? 0 : 1},
        {CURLOPT_PROXY_SSL_VERIFYHOST, insecure ? 0 : 2},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        ok = ok && set_long(easy, numbers[i].option, numbers[i].value);
    return ok;
}

// NOPROXY and PROXY are never left unset: libcurl would read the environment in its own way.
static bool set_texts(CURL *easy, const struct curl_transport *transport) {
    return set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https") &&
           set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https") &&
           set_text(easy, CURLOPT_USERAGENT, transport->user_agent) &&
           set_text(easy, CURLOPT_PROXY, transport->proxy) && set_text(easy, CURLOPT_NOPROXY, "") &&
           set_text(easy, CURLOPT_UNIX_SOCKET_PATH, transport->credentials.endpoint->socket);
}

// The kernel gives up on a peer that acknowledges nothing, be it data or keepalive probes, after this time.
#define USER_TIMEOUT_MS 45000U
#define KEEPALIVE_PROBES 3

static int on_socket(void *transport, curl_socket_t fd, curlsocktype purpose) {
    (void)transport, (void)purpose;
    int probes = KEEPALIVE_PROBES;
    unsigned timeout = USER_TIMEOUT_MS;
    // Neither is needed for correctness, and a socket of another family than TCP has neither.
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
    return CURL_SOCKOPT_OK;
}

static curl_socket_t on_open(void *transport, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    ((struct curl_transport *)transport)->no_files = fd < 0 && (errno == EMFILE || errno == ENFILE);
    return fd;
}

static int on_close(void *transport, curl_socket_t fd) {
    events_closed(transport, fd);
    return close(fd);
}

// Connected, nothing written yet. The process may have been suspended while connecting.
static int on_request(void *context, char *server_ip, char *local_ip, int server_port, int local_port) {
    (void)server_ip, (void)local_ip, (void)server_port, (void)local_port;
    struct exchange *exchange = context;
    if (!gate_is_open(exchange->request.gate, clock_now().mono_ns)) {
        exchange->late = true;
        return CURL_PREREQFUNC_ABORT;
    }
    exchange->sent = true;
    return CURL_PREREQFUNC_OK;
}

static bool set_callbacks(struct exchange *exchange) {
    CURL *easy = exchange->easy;
    struct curl_transport *transport = exchange->transport;
    return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, response_on_body) == CURLE_OK &&
           set_pointer(easy, CURLOPT_WRITEDATA, exchange) &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, response_on_header) == CURLE_OK &&
           set_pointer(easy, CURLOPT_HEADERDATA, exchange) &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request) == CURLE_OK &&
           set_pointer(easy, CURLOPT_PREREQDATA, exchange) &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
           set_pointer(easy, CURLOPT_OPENSOCKETDATA, transport) &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) == CURLE_OK &&
           set_pointer(easy, CURLOPT_CLOSESOCKETDATA, transport) &&
           curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket) == CURLE_OK &&
           set_pointer(easy, CURLOPT_SOCKOPTDATA, transport) &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->detail) == CURLE_OK &&
           set_pointer(easy, CURLOPT_PRIVATE, exchange);
}

// A server certificate must have a subjectAltName (RFC 9525 section 2, as in Go); without one, libcurl would fall back
// to the common name.

static bool has_names(X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !found; i++) {
        int type = sk_GENERAL_NAME_value(names, i)->type;
        found = type == GEN_DNS || type == GEN_IPADD;
    }
    GENERAL_NAMES_free(names);
    return found;
}

// Called for each certificate of the chain, the server's last.
static int on_certificate(int good, X509_STORE_CTX *context) {
    if (!good || X509_STORE_CTX_get_error_depth(context) != 0 || has_names(X509_STORE_CTX_get_current_cert(context)))
        return good;
    X509_STORE_CTX_set_error(context, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
}

static CURLcode on_context(CURL *easy, void *context, void *unused) {
    (void)easy, (void)unused;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_certificate);
    return CURLE_OK;
}

const char *exchange_verdict(const struct exchange *exchange) {
    long verdict = X509_V_OK;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
    return verdict == X509_V_ERR_HOSTNAME_MISMATCH ? " (its certificate has no subjectAltName)" : "";
}

static bool set_verification(struct exchange *exchange) {
    if (exchange->transport->credentials.endpoint->insecure)
        return true;
    return curl_easy_setopt(exchange->easy, CURLOPT_SSL_CTX_FUNCTION, on_context) == CURLE_OK;
}

bool exchange_set_up(struct exchange *exchange) {
    const struct curl_transport *transport = exchange->transport;
    return set_numbers(exchange->easy, transport->credentials.endpoint->insecure) &&
           set_texts(exchange->easy, transport) && set_callbacks(exchange) && set_verification(exchange) &&
           (!transport->connect_to ||
            curl_easy_setopt(exchange->easy, CURLOPT_CONNECT_TO, transport->connect_to) == CURLE_OK);
}

static bool set_blob(CURL *easy, CURLoption option, char *pem) {
    struct curl_blob blob = {.data = pem, .len = pem ? strlen(pem) : 0, .flags = CURL_BLOB_NOCOPY};
    return curl_easy_setopt(easy, option, pem ? &blob : NULL) == CURLE_OK;
}

// The endpoint's CA alone, also where libcurl has a folder of others by default (which CAINFO_BLOB does not replace).
static bool set_authorities(CURL *easy, char *ca) {
    if (!set_text(easy, CURLOPT_CAPATH, NULL) || !set_text(easy, CURLOPT_PROXY_CAPATH, NULL) ||
        !set_blob(easy, CURLOPT_CAINFO_BLOB, ca) || !set_blob(easy, CURLOPT_PROXY_CAINFO_BLOB, ca))
        return false;
    if (ca)
        return set_text(easy, CURLOPT_CAINFO, NULL) && set_text(easy, CURLOPT_PROXY_CAINFO, NULL);
    const char *file = getenv("SSL_CERT_FILE"); // as Go and OpenSSL do
    return !file || !*file || (set_text(easy, CURLOPT_CAINFO, file) && set_text(easy, CURLOPT_PROXY_CAINFO, file));
}

static bool set_pems(struct exchange *exchange) {
    struct pem_set *pem_set = exchange->transport->credentials.pem_set;
    if (exchange->pem_set == pem_set)
        return true;
    CURL *easy = exchange->easy;
    if (!set_authorities(easy, pem_set->ca) || !set_blob(easy, CURLOPT_SSLCERT_BLOB, pem_set->cert) ||
        !set_blob(easy, CURLOPT_SSLKEY_BLOB, pem_set->key))
        return false;
    pem_set_release(exchange->pem_set);
    exchange->pem_set = pem_set;
    pem_set->users++;
    return true;
}

const char *http_method_name(enum http_method method) {
    static const char *const names[] = {
        [HTTP_GET] = "GET", [HTTP_POST] = "POST", [HTTP_PUT] = "PUT", [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE"};
    return names[method];
}

static bool set_method(const struct exchange *exchange) {
    CURL *easy = exchange->easy;
    bool get = exchange->request.method == HTTP_GET;
    if (!set_text(easy, CURLOPT_CUSTOMREQUEST, get ? NULL : http_method_name(exchange->request.method)))
        return false;
    bool body = exchange->request.body || exchange->request.method == HTTP_POST;
    const char *text = exchange->request.body ? exchange->request.body : body ? "" : NULL;
    if (!set_text(easy, CURLOPT_POSTFIELDS, text))
        return false;
    return body
               ? curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->request.body_len) == CURLE_OK
               : set_long(easy, CURLOPT_HTTPGET, 1);
}

static bool add_header(struct curl_slist **list, const char *header) {
    struct curl_slist *longer = header ? curl_slist_append(*list, header) : NULL;
    if (longer)
        *list = longer;
    return longer;
}

static bool add_named_header(struct curl_slist **list, const char *name, const char *value) {
    AUTO_TEXT header = text_format("%s: %s", name, value);
    return add_header(list, header);
}

// A complete header. libcurl omits a header without a value, unless a semicolon replaces the colon.
static bool add_line(struct curl_slist **list, const char *line) {
    const char *colon = strchr(line, ':');
    AUTO_TEXT empty = colon && colon[1] == '\0' ? text_format("%.*s;", (int)(colon - line), line) : strdup("");
    return empty && add_header(list, *empty ? empty : line);
}

static bool set_headers(struct exchange *exchange) {
    const struct curl_transport *transport = exchange->transport;
    const char *authorization = transport->credentials.authorization;
    struct curl_slist **list = &exchange->headers;
    bool ok = exchange->request.accept ? add_named_header(list, "Accept", exchange->request.accept)
                                       : add_header(list, "Accept: application/json");
    // libcurl's own ideas of both are for forms.
    ok = ok && (exchange->request.content_type ? add_named_header(list, "Content-Type", exchange->request.content_type)
                                               : add_header(list, "Content-Type:"));
    ok = ok && add_header(list, "Expect:");
    ok = ok && (!authorization || add_header(list, authorization));
    char *const *impersonation = transport->credentials.endpoint->impersonation;
    for (; ok && impersonation && *impersonation; impersonation++)
        ok = add_line(list, *impersonation);
    ok = ok && (!transport->host || add_header(list, transport->host));
    ok = ok && (!transport->header || add_header(list, transport->header));
    return ok && curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers) == CURLE_OK;
}

bool exchange_prepare(struct exchange *exchange) {
    const struct curl_transport *transport = exchange->transport;
    exchange->generation = transport->credentials.exec.generation;
    bool gzip = !exchange->request.stream && !transport->credentials.endpoint->disable_compression;
    const char *slash = exchange->request.path[0] == '/' ? "" : "/";
    AUTO_TEXT url = text_format("%s%s%s", transport->base_url, slash, exchange->request.path);
    long timeout_ms = (long)(exchange->request.timeout_ns / CLOCK_MS + (exchange->request.timeout_ns % CLOCK_MS > 0));
    return url && set_text(exchange->easy, CURLOPT_URL, url) && set_method(exchange) && set_headers(exchange) &&
           set_long(exchange->easy, CURLOPT_TIMEOUT_MS, timeout_ms) &&
           set_text(exchange->easy, CURLOPT_ACCEPT_ENCODING, gzip ? "gzip" : NULL) && set_pems(exchange);
}

bool pool_set_up(struct pool *pool) {
    return events_attach(pool) && curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING) == CURLM_OK &&
           curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, MAX_CONNECTIONS) == CURLM_OK;
}
