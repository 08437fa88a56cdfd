// SPDX-License-Identifier: Apache-2.0
// The tenants of a worker, which RBAC needs by name: those of --namespaced, else the namespaces that the configuration
// permits by name.
#include "core/cmd/rbac/rbac.h"

#include "core/kube/transport/tenant.h"

bool rbac_has_tenants(const struct rights *rights) {
    for (size_t i = 0; i < rights->count; i++)
        if (rights->list[i].scope == RIGHT_TENANT)
            return true;
    return false;
}

// The next "+name" of a rule (core/engine/decide/decide.h); patterns are left out.
static bool next_literal(const char **rule, char out[NAMESPACE_SIZE]) {
    while (*rule && **rule) {
        const char *line = *rule;
        size_t len = strcspn(line, "\n");
        *rule += len + (line[len] == '\n');
        if (*line != '+' || len > NAMESPACE_SIZE - 1)
            continue;
        text_copy(out, len, line + 1);
        if (text_is_dns_label(out))
            return true;
    }
    return false;
}

bool rbac_next_tenant(const struct rbac_options *options, const struct config *config, struct rbac_tenant *tenant) {
    if (options->n_namespaces == 0) {
        const char *rule = tenant->rest ? tenant->rest : config->engine.namespaces;
        bool found = next_literal(&rule, tenant->name);
        tenant->rest = rule;
        text_copy(tenant->there, sizeof tenant->there, tenant->name);
        return found;
    }
    if (tenant->index == options->n_namespaces)
        return false;
    size_t i = tenant->index++;
    text_copy(tenant->there, sizeof tenant->there, options->namespaces[i]);
    text_copy(tenant->name, sizeof tenant->name, options->tenants[i]);
    return true;
}

struct error *rbac_add_tenants(const struct rbac_options *options, const struct config *config, struct rights *rights) {
    AUTO_BUFFER(users, RBAC_TEXT_MAX);
    struct rbac_tenant tenant = {.index = 0};
    if (!rbac_has_tenants(rights))
        return NULL;
    while (rbac_next_tenant(options, config, &tenant))
        buffer_printf(&users, "%s" TENANT_USER_PREFIX "%s", users.len > 0 ? ", " : "", tenant.name);
    if (users.failed)
        return error_no_memory();
    if (users.len == 0)
        return error_new(ERROR_USAGE, "tenancy: impersonate: found no namespace by name in namespaces.allow, expected "
                                      "--namespaced A,B with the tenants: RBAC limits an impersonation to names, and "
                                      "knows no patterns");
    return rights_add_impersonation(rights, users.data);
}
