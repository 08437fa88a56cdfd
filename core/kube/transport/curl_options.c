// SPDX-License-Identifier: Apache-2.0
// libcurl options for requests (curl_internal.h), for libcurl 7.88 and later. HTTP/1.1 only: HTTP/2 takes more
// processor time at both ends in every version (docs/performance.md), and in 7.88 it may report a cut stream as
// complete and loses window for cancelled streams.
#include "core/kube/transport/curl_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_IDLE_S 30L
#define KEEPALIVE_INTERVAL_S 10L
#define CONNECT_TIMEOUT_MS 10000L
#define MAX_IDLE_S 60L // an API server closes idle connections after 90
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
        ok = ok && SET(easy, numbers[i].option, numbers[i].value);
    return ok;
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
    multi_forget(transport, fd);
    return close(fd);
}

// Connected, nothing written yet. The process may have been suspended while connecting.
static int on_request(void *context, char *server_ip, char *local_ip, int server_port, int local_port) {
    (void)server_ip, (void)local_ip, (void)server_port, (void)local_port;
    struct exchange *exchange = context;
    if (!gate_is_open(exchange->request.gate, clock_now().mono_ns)) {
        exchange->problem =
            text_format("the lease has ended before the request was sent to %s", exchange->transport->base_url);
        return CURL_PREREQFUNC_ABORT;
    }
    exchange->sent = true;
    return CURL_PREREQFUNC_OK;
}

static bool set_callbacks(struct exchange *exchange) {
    CURL *easy = exchange->easy;
    struct curl_transport *transport = exchange->transport;
    return SET(easy, CURLOPT_WRITEFUNCTION, exchange_on_body) && SET(easy, CURLOPT_WRITEDATA, exchange) &&
           SET(easy, CURLOPT_HEADERFUNCTION, exchange_on_header) && SET(easy, CURLOPT_HEADERDATA, exchange) &&
           SET(easy, CURLOPT_PREREQFUNCTION, on_request) && SET(easy, CURLOPT_PREREQDATA, exchange) &&
           SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) && SET(easy, CURLOPT_OPENSOCKETDATA, transport) &&
           SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) && SET(easy, CURLOPT_CLOSESOCKETDATA, transport) &&
           SET(easy, CURLOPT_SOCKOPTFUNCTION, on_socket) && SET(easy, CURLOPT_ERRORBUFFER, exchange->detail) &&
           SET(easy, CURLOPT_PRIVATE, exchange);
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

// Received contents of Secrets do not stay in OpenSSL's buffers.
static CURLcode on_insecure_context(CURL *easy, void *context, void *unused) {
    (void)easy, (void)unused;
    (void)SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT);
    return CURLE_OK;
}

static CURLcode on_context(CURL *easy, void *context, void *unused) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_certificate);
    return on_insecure_context(easy, context, unused);
}

const char *certificate_note(const struct exchange *exchange) {
    long verdict = X509_V_OK;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
    return verdict == X509_V_ERR_HOSTNAME_MISMATCH ? " (its certificate has no subjectAltName)" : "";
}

// NOPROXY and PROXY are never left unset: libcurl would read the environment in its own way.
bool options_of_transport(struct exchange *exchange) {
    const struct curl_transport *transport = exchange->transport;
    const struct endpoint *endpoint = transport->credentials.endpoint;
    CURL *easy = exchange->easy;
    return set_numbers(easy, endpoint->insecure) && set_callbacks(exchange) &&
           SET(easy, CURLOPT_PROTOCOLS_STR, "http,https") && SET(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https") &&
           SET(easy, CURLOPT_USERAGENT, transport->user_agent) && SET(easy, CURLOPT_PROXY, transport->proxy) &&
           SET(easy, CURLOPT_NOPROXY, "") && SET(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint->socket) &&
           SET(easy, CURLOPT_CONNECT_TO, transport->connect_to) &&
           SET(easy, CURLOPT_SSL_CTX_FUNCTION, endpoint->insecure ? on_insecure_context : on_context);
}

static bool set_blob(CURL *easy, CURLoption option, char *pem) {
    struct curl_blob blob = {.data = pem, .len = pem ? strlen(pem) : 0, .flags = CURL_BLOB_NOCOPY};
    return SET(easy, option, pem ? &blob : NULL);
}

// The endpoint's CA alone, also where libcurl has a folder of others by default (which CAINFO_BLOB does not replace).
static bool set_authorities(CURL *easy, char *ca) {
    const char *file = ca ? NULL : getenv("SSL_CERT_FILE"); // as Go and OpenSSL do
    return SET(easy, CURLOPT_CAPATH, NULL) && SET(easy, CURLOPT_PROXY_CAPATH, NULL) &&
           set_blob(easy, CURLOPT_CAINFO_BLOB, ca) && set_blob(easy, CURLOPT_PROXY_CAINFO_BLOB, ca) &&
           ((!ca && (!file || !*file)) || (SET(easy, CURLOPT_CAINFO, file) && SET(easy, CURLOPT_PROXY_CAINFO, file)));
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

static bool add_tenant(struct exchange *exchange, const char *tenant) {
    exchange->has_tenant = true;
    AUTO_TEXT user = text_is_dns_label(tenant) ? text_format(TENANT_USER_PREFIX "%s", tenant) : NULL;
    return user && add_named_header(&exchange->headers, "Impersonate-User", user) &&
           add_named_header(&exchange->headers, "Impersonate-Group", TENANT_GROUP);
}

// libcurl copies the texts. Without a Content-Type, and for Expect, an empty header replaces libcurl's own.
bool options_of_request(struct exchange *exchange, const struct http_request *request) {
    CURL *easy = exchange->easy;
    struct curl_slist **list = &exchange->headers;
    bool get = request->method == HTTP_GET, body = request->body || request->method == HTTP_POST;
    curl_off_t body_len = request->body ? (curl_off_t)request->body_len : 0;
    AUTO_TEXT url =
        text_format("%s%s%s", exchange->transport->base_url, *request->path == '/' ? "" : "/", request->path);
    long timeout_ms = (long)(request->timeout_ns / CLOCK_MS + (request->timeout_ns % CLOCK_MS > 0));
    return url && SET(easy, CURLOPT_URL, url) && SET(easy, CURLOPT_TIMEOUT_MS, timeout_ms) &&
           (body ? SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, body_len) &&
                       SET(easy, CURLOPT_COPYPOSTFIELDS, request->body ? request->body : "")
                 : SET(easy, CURLOPT_HTTPGET, 1L)) &&
           SET(easy, CURLOPT_CUSTOMREQUEST, get ? NULL : http_method_name(request->method)) &&
           add_named_header(list, "Accept", request->accept ? request->accept : "application/json") &&
           add_named_header(list, "Content-Type", request->content_type ? request->content_type : "") &&
           add_header(list, "Expect:") && (!request->tenant || add_tenant(exchange, request->tenant));
}

bool options_of_credentials(struct exchange *exchange) {
    const struct curl_transport *transport = exchange->transport;
    const struct credentials *credentials = &transport->credentials;
    struct curl_slist **list = &exchange->headers;
    const char *const own[] = {credentials->authorization, transport->host, transport->header};
    bool ok = true;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        ok = ok && (!own[i] || add_header(list, own[i]));
    // An API server takes one user from a request: the tenant replaces the user of the kubeconfig.
    char *const *impersonation = exchange->has_tenant ? NULL : credentials->endpoint->impersonation;
    for (; ok && impersonation && *impersonation; impersonation++)
        ok = add_line(list, *impersonation);
    exchange->generation = credentials->exec.generation;
    bool gzip =
        !exchange->request.stream && !exchange->request.sensitive && !credentials->endpoint->disable_compression;
    return ok && SET(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers) &&
           SET(exchange->easy, CURLOPT_ACCEPT_ENCODING, gzip ? "gzip" : NULL) && set_pems(exchange);
}
