// SPDX-License-Identifier: Apache-2.0
// Internal to core/engine/tenancy/: the table of namespaces, and the consent for a workload.
#pragma once

#include "core/engine/engine_internal.h"

// A namespace of the management cluster, or of a worker that consents or denies the impersonation.
struct tenant {
    const char *uid; // after the name; of a worker: the annotation
    bool seen;       // in the present list
    bool changed;    // of the management cluster: decide on its workloads anew
    uint16_t denials;
    int64_t denied_until_ns; // of the impersonation; 0: not denied
    char name[];
};

enum consent {
    CONSENT_GIVEN,
    CONSENT_UNKNOWN, // not listed yet, or the watch is lost
    CONSENT_MISSING,
    CONSENT_DENIED, // the host may not impersonate the tenant
    CONSENT_NO_TENANT
};

struct tenants *tenants_of(struct engine *engine, size_t cluster);
// NULL: not in the table.
struct tenant *tenant_of(const struct engine *engine, size_t cluster, const char *namespace_, size_t len);
// That of the entry's namespace.
struct tenant *tenant_of_entry(const struct engine *engine, size_t cluster, const struct entry *entry);
enum consent consent_of(const struct engine *engine, const struct entry *entry, size_t cluster);
