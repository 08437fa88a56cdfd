// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the curl transport: curl_transport.c (submit, cancel, poll), curl_setup.c (construction),
// curl_exchange.c (their memory, and adding them to multi handles), curl_events.c (waiting for sockets), curl_options.c
// (libcurl options, certificate verification), curl_response.c (responses).
#pragma once

#include "core/base/buffer.h"
#include "core/base/heap.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/kubeconfig/server_url.h"
#include "core/kube/object/budget.h"
#include "core/kube/transport/transport.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdatomic.h>

struct curl_transport;

// A multi handle with its connections.
struct pool {
    CURLM *multi;
    struct curl_transport *transport;
    struct pollfd *sockets; // libcurl's, and idle connections (IDLE_EVENTS)
    size_t n_sockets, cap_sockets;
    bool failed; // the multi handle is unusable
};

// One request and its response. Exchanges are reused, with their easy handle.
struct exchange {
    struct curl_transport *transport;
    struct exchange *next; // in a queue or the idle list
    struct pool *pool;     // NULL: not added to any
    CURL *easy;
    struct pem_set *pem_set; // used by `easy`
    size_t slot;
    uint64_t id;         // 0: idle or cancelled
    uint64_t generation; // of the credential plugin's credential that was sent
    struct http_handler handler;
    struct http_request request;
    char *texts; // the allocation with the texts of `request`
    bool late;   // the gate closed before the connection was ready
    struct curl_slist *headers;
    struct timer stall;
    int64_t last_byte_ns;
    bool sent;         // the request may have been sent
    bool headed;       // the headers of the response are complete
    bool too_large;    // the body was over max_body, or all bodies over the budget
    bool long_headers; // headers and trailers together were over their maximum
    bool no_memory;    // while collecting the body
    bool stopped;      // the handler ended the stream
    int status;
    size_t head_bytes; // of headers and trailers, including interim responses
    size_t charged;    // to the budget, for `received`
    struct buffer received;
    char detail[CURL_ERROR_SIZE];
};

struct exchange_queue {
    struct exchange *first, *last;
};

struct curl_transport {
    struct transport base;
    struct budget *budget; // may be NULL
    struct server_url url;
    char *base_url; // prefix of every request path
    char *host;     // "Host: ..." where different from base_url's; otherwise NULL
    char *proxy;    // "" for none
    char *user_agent;
    char *header; // a further one; NULL: none
    struct curl_slist *connect_to;
    struct credentials credentials;
    atomic_bool recheck;                // the files of the credentials may have changed
    atomic_bool moved;                  // as in the credentials
    _Atomic(struct endpoint *) renewed; // to replace the credentials; or NULL
    struct pool *pool;                  // NULL after a failure, until the next request
    struct exchange **slots;            // by the lower half of an id
    size_t n_slots;
    size_t n_exchanges;              // including idle ones
    uint32_t generation;             // upper half of the next id
    struct exchange_queue waiting;   // submitted, not added
    struct exchange_queue cancelled; // to be removed from their pool
    struct exchange *idle;
    size_t n_idle;
    int64_t taken_ns; // when an exchange was last put into use
    struct heap stalls;
    struct pollfd *polled; // all sockets of the last wait
    size_t cap_polled;
    int wake_fd;    // an eventfd: the multi handle may be replaced, so wakeups do not use its own
    int64_t now_ns; // monotonic, of this poll
    bool called;    // a handler ran in this poll
    bool no_files;  // the last socket failed: out of file descriptors
    bool closed;    // the server closed an idle connection in this poll
};

// curl_exchange.c
struct pool *pool_new(struct curl_transport *transport); // NULL when out of memory
void pool_free(struct pool *pool);                       // of no active exchange; NULL is fine
bool pool_add(struct pool *pool, struct exchange *exchange);
void pool_remove(struct exchange *exchange);                                                         // none: fine
struct exchange *exchange_new(struct curl_transport *transport, const struct http_request *request); // NULL: no memory
struct exchange *exchange_find(struct curl_transport *transport, uint64_t id);                       // or NULL
void exchange_recycle(struct exchange *exchange);     // not in any pool or queue
void exchange_trim(struct curl_transport *transport); // frees exchanges that have been idle for a while
void exchange_free_all(struct curl_transport *transport);

// curl_transport.c
extern const struct transport_ops curl_transport_ops;

// curl_setup.c
void curl_transport_free(struct transport *base);

// curl_options.c. False when out of memory or if this libcurl lacks an option.
bool exchange_set_up(struct exchange *exchange);               // once for an easy handle
const char *exchange_verdict(const struct exchange *exchange); // "", or a note on the certificate for the error message
bool exchange_prepare(struct exchange *exchange);              // for the current request, with the current credentials
bool pool_set_up(struct pool *pool);

// curl_events.c
bool events_open(struct curl_transport *transport);
void events_close(struct curl_transport *transport);
bool events_attach(struct pool *pool);                               // a new one; false when out of memory
void events_wait(struct curl_transport *transport, int64_t wait_ns); // and run the ready exchanges
void events_run_due(struct pool *pool);                              // exchanges with a due timeout; none: fine
void events_closed(struct curl_transport *transport, int fd);        // before libcurl closes the socket

// curl_response.c: libcurl callbacks, and completion of an exchange, which calls its handler.
size_t response_on_header(char *bytes, size_t size, size_t count, void *context);
size_t response_on_body(char *bytes, size_t size, size_t count, void *context);
void response_deliver(struct exchange *exchange, CURLcode code);
void response_fail(struct exchange *exchange, const char *problem, bool stalled);
