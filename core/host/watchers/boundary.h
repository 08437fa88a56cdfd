// SPDX-License-Identifier: Apache-2.0
// The boundary between the engine and a worker where namespaces have other names (namespace_map.h). The engine speaks
// of the workloads' namespaces only: requests are translated on the way to the worker, events on the way back. That
// includes metadata.namespace of objects and patches, and the namespaces in their specs of which the kinds' references
// (wharf_reference) know. Watchers use the worker's names. Without a map nothing is copied.
#pragma once

#include "core/base/namespace_map.h"
#include "core/host/watchers/watcher.h"

// The name of the workload's namespace in the worker, and the other way round. False: there is none.
bool boundary_there(const struct cluster_scope *scope, const char *here, char out[NAMESPACE_SIZE]);
bool boundary_here(const struct cluster_scope *scope, const char *there, char out[NAMESPACE_SIZE]);

// `name` is memory for the event's text. False: the event is about a namespace of the worker that belongs to no
// namespace of the management cluster; or out of memory.
bool boundary_event(const struct cluster_scope *scope, struct engine_event *event, char name[NAMESPACE_SIZE]);

// The same for the object or the value of a response. False: no such namespace, or out of memory.
bool boundary_response(const struct cluster_scope *scope, struct response *response);

// A request as the worker gets it, with the memory of its texts.
struct boundary_request {
    struct request request;
    char namespace_[NAMESPACE_SIZE], name[NAMESPACE_SIZE];
    char *path, *body;
    bool sensitive;
};
// ERROR_INVALID: a namespace has no name in the worker.
struct error *boundary_request(const struct cluster_scope *scope, const struct request *request,
                               struct boundary_request *out);
void boundary_request_clear(struct boundary_request *request);
