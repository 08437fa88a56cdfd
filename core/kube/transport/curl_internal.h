// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the curl transport: curl_transport.c (construction, submit, cancel, poll), curl_multi.c (the
// multi handle, and waiting for sockets), curl_memory.c (libcurl's memory), curl_options.c (libcurl options,
// certificate verification), curl_exchange.c (requests and their responses).
#pragma once

#include "core/base/clock.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/object/object.h"
#include "core/kube/transport/transport.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdatomic.h>

struct curl_transport;

// True if libcurl took the value of an option.
#define SET(easy, option, value) (curl_easy_setopt(easy, option, value) == CURLE_OK)

// One request and its response. Exchanges are reused, with their easy handle.
struct exchange {
    struct curl_transport *transport;
    struct exchange *other; // in the list of all
    struct exchange *next;  // in a queue or the idle list
    bool added;             // to the multi handle
    CURL *easy;
    struct pem_set *pem_set; // used by `easy`
    uint64_t id;             // 0: idle or cancelled
    uint64_t generation;     // of the credential plugin's credential that was sent
    struct http_handler handler;
    struct http_request request; // without its texts: `easy` has copies
    struct curl_slist *headers;
    struct timer stall;
    int64_t last_byte_ns;
    bool has_tenant;
    bool sent;      // the request may have been sent
    bool headed;    // the headers of the response are complete
    bool too_large; // the body was over max_body, or all bodies over the budget
    char *problem;  // why this side ended the exchange; NULL: it did not
    int status;
    size_t head_bytes; // of headers and trailers, including interim responses
    size_t charged;    // to the budget, for `received`
    struct buffer received;
    char detail[CURL_ERROR_SIZE];
};

// curl_global_init with the memory of curl_memory.c; from now on all freed memory of libcurl is overwritten.
CURLcode curl_memory_init(void);
void curl_memory_overwrite(void);

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
    CURLM *multi;                       // with its connections; NULL after a failure, until the next request
    bool failed;                        // the multi handle is unusable
    struct pollfd *sockets;             // libcurl's, and idle connections (IDLE_EVENTS)
    size_t n_sockets, cap_sockets;
    struct exchange *all; // including idle ones
    uint64_t last_id;
    struct exchange_queue waiting;   // submitted, not added
    struct exchange_queue cancelled; // to be removed from the multi handle
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
struct exchange *exchange_new(struct curl_transport *transport, const struct http_request *request); // NULL: no memory
struct exchange *exchange_find(struct curl_transport *transport, uint64_t id);                       // or NULL
bool exchange_add(struct exchange *exchange);         // to the multi handle
void exchange_remove(struct exchange *exchange);      // from it; not added: fine
void exchange_recycle(struct exchange *exchange);     // not added, not in any queue
void exchange_trim(struct curl_transport *transport); // frees exchanges that have been idle for a while
void exchange_free_all(struct curl_transport *transport);
// libcurl callbacks, and completion of an exchange, which calls its handler.
size_t exchange_on_header(char *bytes, size_t size, size_t count, void *context);
size_t exchange_on_body(char *bytes, size_t size, size_t count, void *context);
void exchange_deliver(struct exchange *exchange, CURLcode code);
void exchange_report_failure(struct exchange *exchange, const char *problem, bool stalled);

// curl_options.c. False when out of memory or if this libcurl lacks an option.
bool options_of_transport(struct exchange *exchange); // once for an easy handle
bool options_of_request(struct exchange *exchange, const struct http_request *request);
bool options_of_credentials(struct exchange *exchange);        // the current ones, once for a request
const char *certificate_note(const struct exchange *exchange); // for the error message, or ""

// curl_multi.c
bool multi_open(struct curl_transport *transport); // unless it is open; false when out of memory
void multi_close(struct curl_transport *transport);
void multi_wait(struct curl_transport *transport, int64_t wait_ns); // and run the ready exchanges
void multi_run_due(struct curl_transport *transport);               // exchanges with a due timeout
void multi_forget(struct curl_transport *transport, int fd);        // before libcurl closes the socket
