// SPDX-License-Identifier: Apache-2.0
// Tenants (docs/tenancy.md). With `tenancy: impersonate` the tenant of a workload is the workload's namespace: writes
// in workers are those of user wharf:NAMESPACE, and a namespace of a worker takes part only if its annotation names the
// uid of the namespace in the management cluster. Without the setting, nothing here has an effect.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/kube/client/types.h"

// The tenant of a request to the cluster: `namespace_` itself for a write in a worker, else NULL (the host).
const char *tenancy_of(const struct engine *engine, size_t cluster, const char *namespace_, enum verb verb);

// Whether the worker's namespace of this name, in the names of the management cluster, may get anything new.
bool tenancy_consents(const struct engine *engine, size_t cluster, const char *namespace_);

// The answer to a request with a tenant: remembers a denied impersonation, and puts it in plain words. Other requests
// are ignored.
void tenancy_answered(struct engine *engine, size_t cluster, const char *namespace_, enum verb verb,
                      struct response *response);

// Whether the worker may get anything new of the workload. *until_ns: end of the denial; CLOCK_NEVER: none known.
bool tenancy_permits(const struct engine *engine, const struct entry *entry, size_t cluster, int64_t *until_ns);

// The consent is withdrawn, and the mirror in the worker of the placement has to leave.
bool tenancy_is_withdrawn(const struct engine *engine, const struct entry *entry);

// Why the worker may not get anything new: a few words, and a sentence without subject and end.
void tenancy_explain(const struct engine *engine, const struct entry *entry, size_t cluster, char brief[64],
                     char text[384]);
