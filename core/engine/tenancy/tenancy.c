// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tenancy/tenancy.h"

#include "core/engine/mirror/mirror.h"
#include "core/engine/tenancy/consent.h"

#include <stdio.h>

// The table -------------------------------------------------------------------------------------------------------

struct tenants *tenants_of(struct engine *engine, size_t cluster) {
    struct tenants *tenants = &engine->clusters[cluster].tenancy;
    if (tenants->map.capacity == 0)
        map_init(&tenants->map, engine->seed);
    return tenants;
}

struct tenant *tenant_of(const struct engine *engine, size_t cluster, const char *namespace_, size_t len) {
    return map_get_len(&engine->clusters[cluster].tenancy.map, namespace_, len);
}

struct tenant *tenant_of_entry(const struct engine *engine, size_t cluster, const struct entry *entry) {
    return tenant_of(engine, cluster, entry->key, entry->name_at - 1U);
}

static bool is_known(const struct engine *engine, size_t cluster) {
    const struct tenants *tenants = &engine->clusters[cluster].tenancy;
    return tenants->listed && !tenants->lost;
}

static enum consent judge(const struct engine *engine, size_t cluster, const char *namespace_, size_t len) {
    if (!engine->settings.tenancy.impersonate)
        return CONSENT_GIVEN;
    if (len == 0)
        return CONSENT_NO_TENANT;
    const struct tenant *here = tenant_of(engine, ENGINE_MANAGEMENT, namespace_, len);
    const struct tenant *there = tenant_of(engine, cluster, namespace_, len);
    if (!here || !is_known(engine, ENGINE_MANAGEMENT) || !is_known(engine, cluster))
        return CONSENT_UNKNOWN;
    if (!there || !text_list_has(there->uid, here->uid)) // management clusters may share a namespace
        return CONSENT_MISSING;
    return there->denied_until_ns > engine->now.mono_ns ? CONSENT_DENIED : CONSENT_GIVEN;
}

enum consent consent_of(const struct engine *engine, const struct entry *entry, size_t cluster) {
    return judge(engine, cluster, entry->key, entry->name_at - 1U);
}

// What others ask -------------------------------------------------------------------------------------------------

const char *tenancy_of(const struct engine *engine, size_t cluster, const char *namespace_, enum verb verb) {
    bool writes = verb != VERB_GET && verb != VERB_RAW_GET;
    bool acts = engine->settings.tenancy.impersonate && writes && cluster != ENGINE_MANAGEMENT;
    return acts && namespace_ && *namespace_ ? namespace_ : NULL;
}

bool tenancy_consents(const struct engine *engine, size_t cluster, const char *namespace_) {
    return judge(engine, cluster, namespace_, strlen(namespace_)) == CONSENT_GIVEN;
}

bool tenancy_permits(const struct engine *engine, const struct entry *entry, size_t cluster, int64_t *until_ns) {
    enum consent consent = consent_of(engine, entry, cluster);
    *until_ns = consent == CONSENT_DENIED ? tenant_of_entry(engine, cluster, entry)->denied_until_ns : CLOCK_NEVER;
    return consent == CONSENT_GIVEN;
}

bool tenancy_is_withdrawn(const struct engine *engine, const struct entry *entry) {
    uint32_t cluster = facts_placed_cluster(entry);
    return engine->settings.tenancy.remove_withdrawn && cluster &&
           consent_of(engine, entry, cluster) == CONSENT_MISSING;
}

void tenancy_explain(const struct engine *engine, const struct entry *entry, size_t cluster, char brief[64],
                     char text[384]) {
    static const char *const briefs[] = {[CONSENT_GIVEN] = "fit",
                                         [CONSENT_UNKNOWN] = "consent unknown",
                                         [CONSENT_MISSING] = "namespace does not consent",
                                         [CONSENT_DENIED] = "host may not act as the tenant",
                                         [CONSENT_NO_TENANT] = "no tenant"};
    enum consent consent = consent_of(engine, entry, cluster);
    const struct tenant *here = tenant_of_entry(engine, ENGINE_MANAGEMENT, entry);
    const struct tenants *lost = &engine->clusters[is_known(engine, cluster) ? ENGINE_MANAGEMENT : cluster].tenancy;
    int len = entry->name_at - 1;
    text_copy(brief, 64, briefs[consent]);
    if (consent == CONSENT_UNKNOWN)
        snprintf(text, 384, "has unknown consents, so nothing new is created there%s%.200s", *lost->problem ? ": " : "",
                 lost->problem);
    else if (consent == CONSENT_MISSING)
        snprintf(text, 384,
                 "has no consent of the namespace: expected annotation " MARK_TENANT ": %.40s on namespace %.*s there",
                 here->uid, len, entry->key);
    else if (consent == CONSENT_DENIED)
        snprintf(text, 384, "does not let the host act as user " TENANT_USER_PREFIX "%.*s; apply wharf rbac there", len,
                 entry->key);
    else
        snprintf(text, 384, "gets no workloads without a namespace, since these have no tenant");
}
