// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig.h"

#include "core/base/text.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

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

static void strip_slashes(char *path) {
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        path[--len] = '\0';
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
    strip_slashes(out->path);
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
