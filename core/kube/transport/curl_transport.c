// SPDX-License-Identifier: Apache-2.0
#include "core/kube/transport/curl_transport.h"

#include "core/kube/transport/curl_internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct curl_transport *curl_of(struct transport *transport) {
    return (struct curl_transport *)transport;
}

static void queue_add(struct exchange_queue *queue, struct exchange *exchange) {
    exchange->next = NULL;
    if (queue->last)
        queue->last->next = exchange;
    else
        queue->first = exchange;
    queue->last = exchange;
}

static struct exchange *queue_take(struct exchange_queue *queue) {
    struct exchange *exchange = queue->first;
    if (exchange && !(queue->first = exchange->next))
        queue->last = NULL;
    return exchange;
}

// Does not call libcurl: submit and cancel may be called from within its callbacks.
static uint64_t submit(struct transport *transport, const struct http_request *request,
                       const struct http_handler *handler) {
    struct exchange *exchange = exchange_new(curl_of(transport), request);
    if (!exchange)
        return 0;
    exchange->handler = *handler;
    queue_add(&curl_of(transport)->waiting, exchange);
    return exchange->id;
}

static void cancel(struct transport *transport, uint64_t id) {
    struct exchange *exchange = exchange_find(curl_of(transport), id);
    if (!exchange)
        return;
    exchange->id = 0;
    if (exchange->added)
        queue_add(&curl_of(transport)->cancelled, exchange);
}

static bool refresh(struct transport *transport) {
    struct curl_transport *curl = curl_of(transport);
    return credentials_expire(&curl->credentials, curl->now_ns);
}

static void free_transport(struct transport *base) {
    struct curl_transport *transport = (struct curl_transport *)base;
    heap_free(&transport->stalls);
    transport->budget = NULL; // may be gone
    exchange_free_all(transport);
    multi_close(transport);                     // closes its connections, see multi_forget
    credentials_close(&transport->credentials); // a run of a plugin still wakes this transport
    endpoint_free(atomic_load(&transport->renewed));
    if (transport->wake_fd >= 0)
        close(transport->wake_fd);
    free(transport->sockets);
    free(transport->polled);
    server_url_free(&transport->url);
    curl_slist_free_all(transport->connect_to);
    free(transport->base_url);
    free(transport->host);
    free(transport->proxy);
    free(transport->user_agent);
    sensitive_free(transport->header);
    free(transport);
}

static const struct transport_ops ops = {
    .submit = submit, .cancel = cancel, .refresh = refresh, .free = free_transport};

// CURLOPT_PROTOCOLS_STR is the newest option used, from 7.85.
#define OLDEST_LIBCURL 0x075500

struct error *curl_transport_setup(void) {
    if (curl_memory_init() != CURLE_OK)
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
    return transport->connect_to && transport->host ? NULL : error_no_memory();
}

static struct error *set_addresses(struct curl_transport *transport, const struct endpoint *endpoint) {
    TRY(server_url_parse(endpoint->server, &transport->url));
    struct error *error = proxy_choose(&transport->url, endpoint->proxy_url, getenv, &transport->proxy);
    TRY(endpoint->proxy_url ? error_wrap(error, "proxy-url") : error);
    const char *name = transport->url.tls ? endpoint->tls_server_name : NULL;
    if (name)
        TRY(set_tls_name(transport, name));
    transport->base_url = server_url_base(&transport->url, name);
    return transport->base_url ? NULL : error_no_memory();
}

// Unsupported options are detected here, not with every request.
static struct error *try_options(struct curl_transport *transport) {
    struct exchange *exchange = exchange_new(transport, &(const struct http_request){.path = "/"});
    bool ok = exchange && options_of_credentials(exchange);
    if (exchange)
        exchange_recycle(exchange);
    return ok ? NULL : error_new(ERROR_UNSUPPORTED, "libcurl rejected an option, or out of memory");
}

static struct error *open_transport(struct curl_transport *transport, const struct endpoint *endpoint,
                                    const char *user_agent) {
    transport->base.ops = &ops;
    transport->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    transport->now_ns = clock_now().mono_ns;
    heap_init(&transport->stalls);
    TRY(set_addresses(transport, endpoint));
    if (transport->wake_fd < 0)
        return error_new(ERROR_IO, "cannot watch sockets: %s", strerror(errno));
    bool tls = transport->url.tls;
    TRY(credentials_open(&transport->credentials, endpoint, tls, transport->wake_fd, clock_now()));
    transport->user_agent = strdup(user_agent);
    if (!transport->user_agent || !multi_open(transport))
        return error_no_memory();
    return try_options(transport);
}

struct error *curl_transport_new(const struct endpoint *endpoint, const char *user_agent, struct transport **out) {
    struct curl_transport *transport = calloc(1, sizeof *transport);
    if (!transport)
        return error_no_memory();
    struct error *error = open_transport(transport, endpoint, user_agent);
    if (error) {
        free_transport(&transport->base);
        return endpoint->description ? error_wrap(error, "%s", endpoint->description) : error;
    }
    *out = &transport->base;
    return NULL;
}

// Ends an exchange on the client side. Must not be called from a libcurl callback.
static void end(struct exchange *exchange, const char *problem, bool stalled) {
    exchange_remove(exchange);
    exchange_report_failure(exchange, problem, stalled);
    exchange_recycle(exchange);
}

static void take_out_cancelled(struct curl_transport *transport) {
    struct exchange *exchange;
    while ((exchange = queue_take(&transport->cancelled))) {
        exchange_remove(exchange);
        exchange_recycle(exchange);
    }
}

// Ends all exchanges in flight, or only the streams. Cancelled exchanges have already been removed.
static void end_all(struct curl_transport *transport, bool streams_only, const char *problem) {
    for (struct exchange *exchange = transport->all, *other; exchange; exchange = other) {
        other = exchange->other;
        if (exchange->added && exchange->id != 0 && (exchange->request.stream || !streams_only))
            end(exchange, problem, false);
    }
    take_out_cancelled(transport); // handlers may have cancelled some
}

// Starts one exchange. Returns the problem, or NULL.
static const char *start(struct curl_transport *transport, struct exchange *exchange) {
    const struct error *problem = credentials_problem(&transport->credentials, transport->now_ns);
    if (problem)
        return error_text(problem);
    if (!multi_open(transport) || !options_of_credentials(exchange))
        return "out of memory before the request was sent";
    exchange->last_byte_ns = transport->now_ns;
    if (exchange->request.stall_ns > 0 &&
        !heap_set(&transport->stalls, &exchange->stall, transport->now_ns + exchange->request.stall_ns))
        return "out of memory before the request was sent";
    return exchange_add(exchange) ? NULL : "libcurl rejected the request";
}

// Exchanges that handlers submit meanwhile start in the next round. Without credentials all wait, at most as long as a
// credential plugin may run.
static void start_waiting(struct curl_transport *transport) {
    if (credentials_are_pending(&transport->credentials, transport->now_ns))
        return;
    struct exchange_queue batch = transport->waiting;
    transport->waiting = (struct exchange_queue){0};
    struct exchange *exchange;
    while ((exchange = queue_take(&batch))) {
        if (exchange->id == 0) {
            exchange_recycle(exchange);
            continue;
        }
        const char *problem = start(transport, exchange);
        if (problem)
            end(exchange, problem, false);
    }
}

static void finish_done(struct curl_transport *transport) {
    CURLMsg *message;
    int left;
    while (transport->multi && (message = curl_multi_info_read(transport->multi, &left))) {
        struct exchange *exchange = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        if (message->msg != CURLMSG_DONE || exchange->id == 0)
            continue; // cancelled: taken out soon
        exchange_remove(exchange);
        exchange_deliver(exchange, code);
        exchange_recycle(exchange);
    }
}

static void end_stalled(struct curl_transport *transport) {
    struct timer *timer;
    while ((timer = heap_first(&transport->stalls)) && timer->at_ns <= transport->now_ns) {
        struct exchange *exchange = (struct exchange *)((char *)timer - offsetof(struct exchange, stall));
        int64_t due = exchange->last_byte_ns + exchange->request.stall_ns;
        if (exchange->id == 0 || due <= transport->now_ns)
            heap_remove(&transport->stalls, timer);
        if (exchange->id == 0)
            continue; // cancelled: taken out soon
        if (due > transport->now_ns) {
            (void)heap_set(&transport->stalls, timer, due); // already in the heap, so this does not allocate
            continue;
        }
        AUTO_TEXT problem = text_format("no data from %s for %lld ms", transport->base_url,
                                        (long long)(exchange->request.stall_ns / 1000000));
        end(exchange, problem ? problem : "no data from the server for too long", true);
    }
}

static void update_credentials(struct curl_transport *transport) {
    struct credentials *credentials = &transport->credentials;
    struct moment now = {.mono_ns = transport->now_ns, .wall_ns = clock_now().wall_ns};
    bool identity = false;
    if (atomic_exchange(&transport->recheck, false))
        credentials_recheck(credentials);
    // A run of the plugin uses the endpoint that would be replaced.
    struct endpoint *fresh = credentials->exec.running ? NULL : atomic_exchange(&transport->renewed, NULL);
    if (fresh)
        identity = credentials_replace(credentials, fresh, now);
    identity |= credentials_update(credentials, now);
    atomic_store(&transport->moved, credentials->moved);
    // libcurl uses a connection again only with the certificate that opened it.
    if (identity)
        end_all(transport, true, "the stream was ended because the client certificate changed");
}

static void advance(struct curl_transport *transport) {
    update_credentials(transport);
    take_out_cancelled(transport);
    start_waiting(transport);
    multi_run_due(transport);
    finish_done(transport);
    end_stalled(transport);
    take_out_cancelled(transport);
    if (transport->failed) { // a multi handle fails as a whole only when libcurl runs out of memory
        end_all(transport, false, "the request was ended because libcurl failed");
        multi_close(transport);
    }
    exchange_trim(transport);
}

static int64_t wait_limit(struct curl_transport *transport, int64_t wait_ns) {
    bool pending = credentials_are_pending(&transport->credentials, transport->now_ns);
    if (transport->called || (transport->waiting.first && !pending))
        return 0;
    const struct timer *stall = heap_first(&transport->stalls);
    int64_t due_ns = clock_earlier(credentials_due(&transport->credentials), stall ? stall->at_ns : CLOCK_NEVER);
    return due_ns == CLOCK_NEVER ? wait_ns : clock_earlier(wait_ns, clock_later(due_ns - transport->now_ns, 0));
}

const char *curl_transport_response_header(struct transport *transport, uint64_t id, const char *name) {
    const struct exchange *exchange = exchange_find(curl_of(transport), id);
    struct curl_header *header;
    bool found = exchange && curl_easy_header(exchange->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    return found ? header->value : NULL;
}

void curl_transport_poll(struct transport *transport, int64_t wait_ns) {
    struct curl_transport *curl = curl_of(transport);
    curl->now_ns = clock_now().mono_ns;
    curl->called = false;
    advance(curl);
    multi_wait(curl, wait_limit(curl, wait_ns));
    advance(curl);
    if (curl->closed && transport->closed)
        transport->closed(transport->closed_ctx);
    curl->closed = false;
}

void curl_transport_limit(struct transport *transport, struct budget *budget) {
    curl_of(transport)->budget = budget;
}

bool curl_transport_header(struct transport *transport, const char *header) {
    return text_set(&curl_of(transport)->header, header);
}

void curl_transport_wakeup(struct transport *transport) {
    (void)eventfd_write(curl_of(transport)->wake_fd, 1);
}

void curl_transport_recheck(struct transport *transport) {
    atomic_store(&curl_of(transport)->recheck, true);
    curl_transport_wakeup(transport);
}

void curl_transport_renew(struct transport *transport, struct endpoint *fresh) {
    endpoint_free(atomic_exchange(&curl_of(transport)->renewed, fresh));
    curl_transport_wakeup(transport);
}

int64_t curl_transport_expiry(struct transport *transport) {
    return curl_of(transport)->credentials.pem_set->expires_ns;
}

uint64_t curl_transport_credentials(struct transport *transport, enum credentials_kind *kind, const char **token) {
    const struct credentials *credentials = &curl_of(transport)->credentials;
    const char *header = credentials->authorization;
    *token = header ? header + strlen(CREDENTIALS_BEARER) : NULL;
    *kind = credentials->endpoint->exec                          ? CREDENTIALS_PLUGIN
            : header                                             ? CREDENTIALS_TOKEN
            : credentials->pem_set && credentials->pem_set->cert ? CREDENTIALS_CERTIFICATE
                                                                 : CREDENTIALS_NONE;
    return credentials->generation;
}

bool curl_transport_moved(struct transport *transport) {
    return atomic_load(&curl_of(transport)->moved);
}
