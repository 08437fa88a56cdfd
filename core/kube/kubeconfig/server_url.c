// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <ctype.h>
#include <curl/curl.h>
#include <strings.h>
#include <sys/socket.h>

static void url_cleanup(CURLU **url) {
    curl_url_cleanup(*url);
}

static struct error *refuse(const char *text, const char *why) {
    return error_new(ERROR_INVALID, "\"%s\" %s, expected a URL like https://host:6443", text, why);
}

// Copies one part to *out, which stays NULL if the URL has no such part. False when out of memory.
static bool part(CURLU *url, CURLUPart what, unsigned flags, char **out) {
    char *value = NULL;
    CURLUcode code = curl_url_get(url, what, &value, flags);
    if (code == CURLUE_OUT_OF_MEMORY)
        return false;
    if (code != CURLUE_OK)
        return true;
    *out = strdup(value);
    curl_free(value);
    return *out;
}

static void strip_brackets(char *host) {
    size_t len = strlen(host);
    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        memmove(host, host + 1, len - 2);
        host[len - 2] = '\0';
    }
}

static struct error *read_parts(CURLU *url, const char *text, struct server_url *out) {
    AUTO_TEXT scheme = NULL;
    AUTO_TEXT user = NULL;
    AUTO_TEXT query = NULL;
    AUTO_TEXT fragment = NULL;
    AUTO_TEXT given_port = NULL;
    if (!part(url, CURLUPART_SCHEME, 0, &scheme) || !part(url, CURLUPART_USER, 0, &user) ||
        !part(url, CURLUPART_QUERY, 0, &query) || !part(url, CURLUPART_FRAGMENT, 0, &fragment) ||
        !part(url, CURLUPART_PORT, 0, &given_port) || !part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, &out->port) ||
        !part(url, CURLUPART_HOST, 0, &out->host) || !part(url, CURLUPART_PATH, 0, &out->path))
        return error_no_memory();
    if (user) // first: the others quote the URL
        return error_new(ERROR_INVALID, "the URL contains a user, expected credentials in the users section");
    if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return refuse(text, "is neither http nor https");
    if (query || fragment)
        return refuse(text, "has a query or a fragment");
    if (!out->host || !out->port || !out->path)
        return refuse(text, "has no host");
    out->tls = strcmp(scheme, "https") == 0;
    out->has_port = given_port;
    strip_brackets(out->host);
    for (size_t len = strlen(out->path); len > 0 && out->path[len - 1] == '/';)
        out->path[--len] = '\0';
    return NULL;
}

struct error *server_url_parse(const char *text, struct server_url *out) {
    *out = (struct server_url){0};
    __attribute__((cleanup(url_cleanup))) CURLU *url = curl_url();
    if (!url)
        return error_no_memory();
    CURLUcode code = curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
    if (code == CURLUE_OUT_OF_MEMORY)
        return error_no_memory();
    if (code != CURLUE_OK && strchr(text, '@'))
        return error_new(ERROR_INVALID, "found no URL, expected one like https://host:6443");
    if (code != CURLUE_OK)
        return refuse(text, "is not a URL");
    struct error *error = read_parts(url, text, out);
    if (error)
        server_url_free(out);
    return error;
}

struct error *server_url_check(const char *text) {
    struct server_url url;
    TRY(server_url_parse(text, &url));
    server_url_free(&url);
    return NULL;
}

void server_url_free(struct server_url *url) {
    free(url->host);
    free(url->port);
    free(url->path);
    *url = (struct server_url){0};
}

// Host and port of a URL, RFC 3986 section 3.2. `port` may be NULL. NULL when out of memory.
static char *authority(const char *host, const char *port) {
    bool v6 = strchr(host, ':');
    return text_format("%s%s%s%s%s", v6 ? "[" : "", host, v6 ? "]" : "", port ? ":" : "", port ? port : "");
}

char *server_url_base(const struct server_url *url, const char *host) {
    AUTO_TEXT with_port = authority(host ? host : url->host, url->port);
    return with_port ? text_format("%s://%s%s", url->tls ? "https" : "http", with_port, url->path) : NULL;
}

char *server_url_authority(const struct server_url *url, bool with_port) {
    return authority(url->host, with_port ? url->port : NULL);
}

// IPv4-mapped IPv6 (::ffff:1.2.3.4) is IPv4, as in Go's net.IP.
static struct address parse_address(const char *text) {
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    struct address address;
    if (address_parse(text, &address) && address.family == AF_INET6 &&
        memcmp(address.bytes, mapped, sizeof mapped) == 0) {
        memmove(address.bytes, address.bytes + 12, 4);
        address.family = AF_INET;
    }
    return address;
}

static bool same_prefix(const struct address *a, const struct address *b, unsigned bits) {
    unsigned whole = bits / 8;
    unsigned rest = bits % 8;
    if (a->family != b->family || memcmp(a->bytes, b->bytes, whole) != 0)
        return false;
    return rest == 0 || ((a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest)) == 0;
}

static unsigned address_bits(const struct address *address) {
    return address->family == AF_INET ? 32 : 128;
}

static bool matches_cidr(char *entry, const struct address *host) {
    char *slash = strchr(entry, '/');
    int64_t bits = 0;
    if (!text_to_int64(slash + 1, &bits))
        return false;
    *slash = '\0';
    struct address address = parse_address(entry);
    return address.family != 0 && bits <= address_bits(&address) && same_prefix(host, &address, (unsigned)bits);
}

// "example.com" matches itself and its subdomains, ".example.com" and "*.example.com" only subdomains.
static bool matches_domain(const char *entry, const char *host) {
    if (text_has_prefix(entry, "*."))
        entry++;
    bool itself = entry[0] != '.';
    const char *suffix = itself ? entry : entry + 1;
    size_t host_len = strlen(host), suffix_len = strlen(suffix);
    if (suffix_len == 0 || host_len < suffix_len || strcasecmp(host + host_len - suffix_len, suffix) != 0)
        return false;
    return host_len == suffix_len ? itself : host[host_len - suffix_len - 1] == '.';
}

// Strips ":port" from `entry`, and the brackets of an IPv6 address. Returns the port, or NULL.
static char *split_port(char **entry) {
    char *text = *entry;
    char *colon = strrchr(text, ':');
    if (text[0] == '[') {
        char *close = strchr(text, ']');
        if (!close)
            return NULL;
        colon = close[1] == ':' ? close + 1 : NULL;
        *close = '\0';
        *entry = text + 1;
    } else if (colon && strchr(text, ':') != colon) {
        return NULL; // a bare IPv6 address
    }
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static bool entry_matches(char *entry, const struct server_url *server, const struct address *host) {
    if (strcmp(entry, "*") == 0)
        return true;
    if (strchr(entry, '/'))
        return matches_cidr(entry, host);
    const char *port = split_port(&entry);
    if (port && strcmp(port, server->port) != 0)
        return false;
    struct address address = parse_address(entry);
    if (address.family != 0)
        return same_prefix(&address, host, address_bits(&address));
    return entry[0] != '\0' && matches_domain(entry, server->host);
}

char *trim_spaces(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    return text;
}

// Splits `list` in place.
static bool is_exempt(char *list, const struct server_url *server) {
    struct address host = parse_address(server->host);
    bool loopback = host.family == AF_INET ? host.bytes[0] == 127 : address_is_local(server->host);
    for (char *entry; !loopback && (entry = strsep(&list, ","));)
        if (entry_matches(trim_spaces(entry), server, &host))
            return true;
    return loopback;
}

static const char *variable(char *(*environment)(const char *), const char *upper, const char *lower) {
    const char *value = environment(upper);
    if (!value || !*value)
        value = environment(lower);
    return value && *value ? value : NULL;
}

// socks5 resolves names at the proxy, as in Go; libcurl calls that socks5h.
static struct error *for_curl(const char *proxy_url, char **out) {
    TRY(proxy_check(proxy_url));
    const char *rest = strstr(proxy_url, "://") + 3;
    bool socks = strncasecmp(proxy_url, "socks5", 6) == 0;
    *out = socks ? text_format("socks5h://%s", rest) : strdup(proxy_url);
    return *out ? NULL : error_no_memory();
}

struct error *proxy_check(const char *proxy_url) {
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncasecmp(proxy_url, schemes[i], strlen(schemes[i])) == 0 && proxy_url[strlen(schemes[i])] != '\0')
            return NULL;
    // The message omits the URL, which may contain a password.
    return error_new(ERROR_INVALID, "found an unsupported URL, expected one that begins with http://, https:// or "
                                    "socks5://");
}

struct error *proxy_choose(const struct server_url *server, const char *proxy_url,
                           char *(*environment)(const char *name), char **out) {
    *out = NULL;
    if (proxy_url)
        return for_curl(proxy_url, out);
    // In a CGI program, HTTP_PROXY is the client's "Proxy" header.
    const char *found = NULL;
    if (server->tls)
        found = variable(environment, "HTTPS_PROXY", "https_proxy");
    else if (!environment("REQUEST_METHOD"))
        found = variable(environment, "HTTP_PROXY", "http_proxy");
    const char *exempt = variable(environment, "NO_PROXY", "no_proxy");
    AUTO_TEXT list = strdup(exempt ? exempt : "");
    if (!list)
        return error_no_memory();
    if (!found || is_exempt(list, server)) {
        *out = strdup("");
        return *out ? NULL : error_no_memory();
    }
    AUTO_TEXT with_scheme = text_format("%s%s", strstr(found, "://") ? "" : "http://", found);
    if (!with_scheme)
        return error_no_memory();
    return error_wrap(for_curl(with_scheme, out), "%s_PROXY in the environment", server->tls ? "HTTPS" : "HTTP");
}
