// SPDX-License-Identifier: Apache-2.0
// The RBAC objects for the host's rights in one cluster, as YAML with comments.
#pragma once

#include "core/base/buffer.h"
#include "core/base/namespace_map.h"
#include "core/cmd/setup.h"
#include "core/host/check/rights.h"

#define RBAC_TEXT_MAX ((size_t)1 << 20)
#define RBAC_NAMESPACES_MAX 256
#define FLAG_OBJECTS                                                                                                   \
    FLAG("objects", 0, "RESOURCE/NAME,..",                                                                             \
         "with dependencies.watch: names: of these resources only these objects, as in\n"                              \
         "secrets/registry,configmaps/train")

struct rbac_options {
    bool management;        // else a worker
    bool guard;             // of `wharf guard`, in a worker
    const char *report;     // of its report, in the management cluster: the name of the ConfigMap; or NULL
    bool with_logs;         // worker
    bool with_exec;         // worker
    const char *namespace_; // the host's own
    const char *account;    // the ServiceAccount, after which the roles are named
    const char *user;       // is bound too; NULL: only the ServiceAccount
    // Limits writes to these namespaces; no limit for reads, as the host watches a kind in all namespaces. None: no
    // limit.
    char *namespaces[RBAC_NAMESPACES_MAX];
    char *tenants[RBAC_NAMESPACES_MAX]; // with tenancy: the names in the management cluster
    size_t n_namespaces;
    char **words;               // has the texts of both
    const char *objects;        // of `dependencies`, see rights_wanted; NULL: no limit
    const struct rights *given; // of a worker, instead of the configured ones; not owned; or NULL
};

// "a,b" or "a=there,b" into options->namespaces; free with rbac_options_clear.
struct error *rbac_read_namespaces(const char *text, struct rbac_options *options);
// --objects of the call, if any, into options->objects.
struct error *rbac_read_objects(const struct call *call, const struct setup *enabled, struct rbac_options *options);
void rbac_options_clear(struct rbac_options *options); // also for __attribute__((cleanup))

#define RBAC_NAME_MAX 320
// The name of the role with the rights of a scope.
void rbac_role_name(const struct rbac_options *options, enum right_scope scope, char out[RBAC_NAME_MAX]);

struct rbac_tenant { // zero-initialised before the first one
    char name[NAMESPACE_SIZE], there[NAMESPACE_SIZE];
    size_t index;
    const char *rest;
};
// The next tenant of a worker; false: no more.
bool rbac_next_tenant(const struct rbac_options *options, const struct config *config, struct rbac_tenant *tenant);
bool rbac_has_tenants(const struct rights *rights);
// With tenancy, adds the rights to impersonate the tenants. ERROR_USAGE: no tenant has a name.
struct error *rbac_add_tenants(const struct rbac_options *options, const struct config *config, struct rights *rights);

// The rights that the host needs there with this configuration; those of scope RIGHT_TENANT are for the tenants.
struct error *rbac_rights(const struct rbac_options *options, const struct setup *enabled, struct rights *out);

struct error *rbac_print(const struct rbac_options *options, const struct setup *enabled, struct buffer *out);
