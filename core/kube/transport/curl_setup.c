// SPDX-License-Identifier: Apache-2.0
// Construction and destruction of a curl transport (curl_internal.h).
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/transport/curl_internal.h"
#include "core/kube/transport/curl_transport.h"
#include "core/kube/transport/proxy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

// CURLOPT_PROTOCOLS_STR is the newest option used, from 7.85.
#define OLDEST_LIBCURL 0x075500

struct error *curl_transport_setup(void) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_new(ERROR_INTERNAL, "libcurl cannot be initialised");
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    if (info->version_num < OLDEST_LIBCURL)
        return error_new(ERROR_UNSUPPORTED, "found libcurl %s, expected 7.85 or later", info->version);
    if (!(info->features & CURL_VERSION_SSL) || !info->ssl_version)
        return error_new(ERROR_UNSUPPORTED, "found a libcurl without TLS, expected one with it");
    if (!(info->features & CURL_VERSION_ASYNCHDNS))
        return error_new(ERROR_UNSUPPORTED,
                         "found a libcurl with blocking name resolution, expected one with an asynchronous resolver");
    // With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE to the program.
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
    return NULL;
}

// With tls-server-name, the URL has that name, so that SNI and verification use it, and connections go to the real one.
static struct error *set_tls_name(struct curl_transport *transport, const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:";
    if (!*name || name[strspn(name, allowed)])
        return error_new(ERROR_INVALID, "tls-server-name: found \"%s\", expected a host name", name);
    AUTO_TEXT target = server_url_authority(&transport->url, true);
    AUTO_TEXT shown = server_url_authority(&transport->url, transport->url.has_port);
    if (!target || !shown)
        return error_no_memory();
    AUTO_TEXT route = text_format("::%s", target); // for every host and port
    transport->connect_to = route ? curl_slist_append(NULL, route) : NULL;
    transport->host = text_format("Host: %s", shown);
    transport->base_url = server_url_base(&transport->url, name);
    return transport->connect_to && transport->host ? NULL : error_no_memory();
}

static struct error *set_addresses(struct curl_transport *transport, const struct endpoint *endpoint) {
    TRY(server_url_parse(endpoint->server, &transport->url));
    struct error *error = proxy_choose(&transport->url, endpoint->proxy_url, getenv, &transport->proxy);
    TRY(endpoint->proxy_url ? error_wrap(error, "proxy-url") : error);
    if (endpoint->tls_server_name && transport->url.tls)
        TRY(set_tls_name(transport, endpoint->tls_server_name));
    else
        transport->base_url = server_url_base(&transport->url, NULL);
    return transport->base_url ? NULL : error_no_memory();
}

// Unsupported options are detected here, not with every request.
static struct error *try_options(struct curl_transport *transport) {
    struct exchange *exchange = exchange_new(transport, &(const struct http_request){.path = "/"});
    bool ok = exchange && exchange_prepare(exchange);
    if (exchange)
        exchange_recycle(exchange);
    return ok ? NULL : error_new(ERROR_UNSUPPORTED, "libcurl rejected an option, or out of memory");
}

static void wake(void *transport) {
    curl_transport_wakeup(transport);
}

static struct error *open_transport(struct curl_transport *transport, const struct endpoint *endpoint,
                                    const char *user_agent) {
    transport->base.ops = &curl_transport_ops;
    transport->wake_fd = -1;
    transport->now_ns = clock_now().mono_ns;
    heap_init(&transport->stalls);
    TRY(set_addresses(transport, endpoint));
    TRY(credentials_open(&transport->credentials, endpoint, transport->url.tls, wake, transport, clock_now()));
    if (!events_open(transport))
        return error_new(ERROR_IO, "cannot watch sockets: %s", strerror(errno));
    transport->user_agent = strdup(user_agent);
    if (!transport->user_agent || !(transport->pool = pool_new(transport)))
        return error_no_memory();
    return try_options(transport);
}

struct error *curl_transport_new(const struct endpoint *endpoint, const char *user_agent, struct transport **out) {
    struct curl_transport *transport = calloc(1, sizeof *transport);
    if (!transport)
        return error_no_memory();
    struct error *error = open_transport(transport, endpoint, user_agent);
    if (error) {
        curl_transport_free(&transport->base);
        return endpoint->description ? error_wrap(error, "%s", endpoint->description) : error;
    }
    *out = &transport->base;
    return NULL;
}

void curl_transport_free(struct transport *base) {
    struct curl_transport *transport = (struct curl_transport *)base;
    heap_free(&transport->stalls);
    exchange_free_all(transport);
    pool_free(TAKE(transport->pool));           // closes its connections, see events_closed
    credentials_close(&transport->credentials); // a run of a plugin still wakes this transport
    endpoint_free(atomic_load(&transport->renewed));
    events_close(transport);
    server_url_free(&transport->url);
    curl_slist_free_all(transport->connect_to);
    free(transport->base_url);
    free(transport->host);
    free(transport->proxy);
    free(transport->user_agent);
    text_free_secret(transport->header);
    free(transport);
}
