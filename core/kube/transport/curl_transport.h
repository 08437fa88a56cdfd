// SPDX-License-Identifier: Apache-2.0
// The transport over libcurl's multi interface, and the thread that drives it.
#pragma once

#include "core/kube/client/types.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "core/kube/transport/transport.h"

#include <stdatomic.h>

// Once per process, before any thread (SIGPIPE is ignored from then on); ERROR_UNSUPPORTED if libcurl lacks a required
// feature (TLS, threads).
struct error *curl_transport_setup(void);

// Keeps a pointer to the endpoint, without owning it. `user_agent` is copied. The transport checks the endpoint's
// kubeconfig and its files every minute and after a 401, and uses new credentials without a new connection where
// possible (not with a new client certificate). The credential plugin runs in a thread of its own.
struct error *curl_transport_new(const struct endpoint *endpoint, const char *user_agent, struct transport **out);

// Limits the memory of all incomplete responses together; not owned. NULL, the default: no limit.
void curl_transport_limit(struct transport *transport, struct budget *budget);

// Sends a further header ("Name: value", copied) with every request, also over http; replaces the one set before. False
// when out of memory.
bool curl_transport_header(struct transport *transport, const char *header);

// A header of the response to an exchange with an open stream, for its handler; NULL: absent. Valid during the call of
// the handler.
const char *curl_transport_response_header(struct transport *transport, uint64_t id, const char *name);

// Runs transfers and calls handlers; waits up to `wait_ns` for events, but not once a handler was called. Only on the
// transport's thread, not from a handler.
void curl_transport_poll(struct transport *transport, int64_t wait_ns);

// Ends a poll early. From any thread.
void curl_transport_wakeup(struct transport *transport);

// Checks the files of the credentials at once. From any thread.
void curl_transport_recheck(struct transport *transport);

// When the client certificate in use expires, in nanoseconds since 1970; 0: there is none. Only on the transport's
// thread.
int64_t curl_transport_expiry(struct transport *transport);

// The kind of the credentials in use, and the bearer token, or NULL; valid until the next call of any function. Returns
// a number that changes with the credentials. Only on the transport's thread.
uint64_t curl_transport_credentials(struct transport *transport, enum credentials_kind *kind, const char **token);

// Uses the credentials of `fresh`, which has the same address (endpoint_same_address), from the next request on. Takes
// ownership. From any thread.
void curl_transport_renew(struct transport *transport, struct endpoint *fresh);

// Whether the kubeconfig file now names another address: that needs a new transport. The old address and credentials
// stay in use here. From any thread.
bool curl_transport_moved(struct transport *transport);

// A thread that drives one curl transport and its users: runs posted functions, then `tick`, then polls until the time
// that tick returned.

struct loop;

// `transport` is from curl_transport_new and remains owned by the caller; `tick` returns the monotonic time of its next
// call.
struct error *loop_start(const char *name, struct transport *transport, int64_t (*tick)(void *ctx, struct moment now),
                         void *ctx, struct loop **out);

// Runs `run(arg)` on the loop's thread, in the order of posting. From any thread, the loop's own too. False: out of
// memory, or the loop is stopping; `run` will not be called.
bool loop_post(struct loop *loop, void (*run)(void *arg), void *arg);

// Runs the functions already posted, then ends and joins the thread. Later posts fail. Must not be called from the
// loop's own thread.
void loop_stop(struct loop *loop);

// A connection to a server after an upgrade of the protocol (RFC 9110 section 7.8): bytes in both directions.

struct tunnel;

struct tunnel_answer {  // to the upgrade
    int status;         // 101: accepted
    char *headers;      // lines, with their ends; see tunnel_header
    struct buffer body; // of another status
};
void tunnel_answer_clear(struct tunnel_answer *answer);
// The value of a header, free(); NULL: absent.
char *tunnel_header(const struct tunnel_answer *answer, const char *name);

// Connects with the address, credentials and trust of `transport`, which is from curl_transport_new, has no other
// poller, and stays open as long as the tunnel. `headers` are the lines of the upgrade, each with its end. Blocks;
// *stop ends the wait. On success *out is NULL unless the status is 101. `answer` is filled on success.
struct error *tunnel_open(struct transport *transport, const char *path, const char *tenant, const char *headers,
                          const atomic_bool *stop, struct tunnel **out, struct tunnel_answer *answer);
void tunnel_close(struct tunnel *tunnel); // NULL is fine

int tunnel_socket(const struct tunnel *tunnel);
// Bytes read or written; 0: none now; -1: the connection is over. poll(2) does not see bytes that were already read:
// read until 0 first.
ptrdiff_t tunnel_read(struct tunnel *tunnel, void *bytes, size_t len);
ptrdiff_t tunnel_write(struct tunnel *tunnel, const void *bytes, size_t len);
