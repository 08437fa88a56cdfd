// SPDX-License-Identifier: Apache-2.0
// The transport over libcurl's multi interface, and the thread that drives it.
#ifndef WHARF_KUBE_CURL_TRANSPORT_H
#define WHARF_KUBE_CURL_TRANSPORT_H

#include "core/base/clock.h"
#include "core/kube/budget.h"
#include "core/kube/kubeconfig.h"
#include "core/kube/transport.h"

// Once per process, before any thread (SIGPIPE is ignored from then on); ERROR_UNSUPPORTED if this libcurl lacks what
// is needed (TLS, threads).
struct error *curl_transport_setup(void);

// Keeps the endpoint, does not own it. `user_agent` is copied.
struct error *curl_transport_new(const struct endpoint *endpoint, const char *user_agent, struct transport **out);

// What all answers that are not complete may take together; not owned. NULL, as at first: no bound.
void curl_transport_limit(struct transport *transport, struct budget *budget);

// Runs transfers and calls handlers; waits up to `wait_ns` for something to happen, and not at all once handlers were
// called. Only on the transport's thread, and not from a handler.
void curl_transport_poll(struct transport *transport, int64_t wait_ns);

// Ends a poll early. From any thread.
void curl_transport_wakeup(struct transport *transport);

#endif
