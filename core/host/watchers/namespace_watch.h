// SPDX-License-Identifier: Apache-2.0
// Watches the namespaces of the management cluster and tells the engine their labels, as long as a namespaceSelector is
// configured. A guest of the management cluster's thread.
#ifndef WHARF_HOST_WATCHERS_NAMESPACE_WATCH_H
#define WHARF_HOST_WATCHERS_NAMESPACE_WATCH_H

#include "core/host/host.h"

struct namespace_watch;
struct error *namespace_watch_new(struct host *host, struct namespace_watch **out);
void namespace_watch_free(struct namespace_watch *watch); // after the host's threads have ended; NULL is allowed

// Begins, once the engine takes events.
struct error *namespace_watch_attach(struct namespace_watch *watch);
// From any thread: whether labels are needed.
void namespace_watch_set(struct namespace_watch *watch, bool on);

#endif
