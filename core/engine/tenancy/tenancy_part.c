// SPDX-License-Identifier: Apache-2.0
// The part: news of namespaces, denials of the impersonation, and workloads whose consent changes.
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/tenancy/consent.h"
#include "core/engine/tenancy/tenancy.h"

#define PASS_NS (200 * CLOCK_MS) // between two passes over all entries
#define DENIED_BASE_NS (5 * CLOCK_SECOND)
#define DENIED_MAX_NS (10 * CLOCK_MINUTE)

// News ------------------------------------------------------------------------------------------------------------

static void decide_soon(struct engine *engine) {
    if (engine->tenancy.due_ns == CLOCK_NEVER)
        engine->tenancy.due_ns = clock_later(engine->now.mono_ns, engine->tenancy.passed_ns + PASS_NS);
}

static void decide_on_all(struct engine *engine) {
    engine->tenancy.all = true;
    decide_soon(engine);
}

// The workloads of the namespace.
static void changed(struct engine *engine, const char *name) {
    struct tenant *here = map_get(&tenants_of(engine, ENGINE_MANAGEMENT)->map, name);
    if (!here)
        return;
    here->changed = true;
    decide_soon(engine);
}

static struct tenant *tenant_new(const char *name, const char *uid) {
    size_t name_size = strlen(name) + 1, uid_size = strlen(uid) + 1;
    struct tenant *tenant = malloc(sizeof *tenant + name_size + uid_size);
    if (!tenant)
        return NULL;
    *tenant = (struct tenant){.seen = true};
    memcpy(tenant->name, name, name_size);
    tenant->uid = memcpy(tenant->name + name_size, uid, uid_size);
    return tenant;
}

static void remove_tenant(struct engine *engine, struct tenants *tenants, const char *name) {
    struct tenant *old = map_remove(&tenants->map, name);
    if (old)
        changed(engine, old->name); // of a worker
    free(old);
}

// Without memory there is no consent, and a namespace of the management cluster is unknown.
static void set_tenant(struct engine *engine, size_t cluster, const char *name, const char *uid) {
    struct tenants *tenants = tenants_of(engine, cluster);
    struct tenant *old = map_get(&tenants->map, name);
    const char *former = old ? old->uid : "", *wanted = uid ? uid : "";
    if (old)
        old->seen = true;
    if (strcmp(former, wanted) == 0)
        return;
    remove_tenant(engine, tenants, name);
    struct tenant *made = *wanted ? tenant_new(name, wanted) : NULL;
    if (made && !map_put(&tenants->map, made->name, made))
        free(made);
    changed(engine, name);
}

static void begin_list(struct tenants *tenants) {
    size_t cursor = 0;
    for (struct tenant *t; (t = map_next(&tenants->map, &cursor));)
        t->seen = false;
}

static void end_list(struct engine *engine, struct tenants *tenants) {
    size_t cursor = 0;
    for (struct tenant *t; (t = map_next(&tenants->map, &cursor));)
        if (!t->seen)
            remove_tenant(engine, tenants, t->name);
    tenants->listed = true;
}

static void set_lost(struct engine *engine, struct tenants *tenants, bool lost, const char *problem) {
    if (tenants->lost != lost)
        decide_on_all(engine);
    tenants->lost = lost;
    text_copy(tenants->problem, sizeof tenants->problem, problem ? problem : "");
}

static void clear(struct tenants *tenants) {
    map_free_values(&tenants->map);
    *tenants = (struct tenants){.listed = false};
}

static void on_news(struct engine *engine, const struct engine_event *event) {
    struct tenants *tenants = tenants_of(engine, event->cluster);
    switch (event->tenant.news) {
    case TENANTS_LISTING:
        begin_list(tenants);
        break;
    case TENANTS_LISTED:
        if (!tenants->listed)
            decide_on_all(engine);
        end_list(engine, tenants);
        set_lost(engine, tenants, false, NULL);
        break;
    case TENANT_SEEN:
        set_tenant(engine, event->cluster, event->tenant.name, event->tenant.uid);
        break;
    case TENANT_GONE:
        remove_tenant(engine, tenants, event->tenant.name);
        break;
    case TENANTS_LOST:
        set_lost(engine, tenants, true, event->tenant.problem);
        break;
    case TENANTS_OPEN:
        set_lost(engine, tenants, false, NULL);
        break;
    case TENANTS_OFF:
        clear(tenants);
        break;
    }
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (event->type == EVENT_TENANT)
        on_news(engine, event);
    else if (event->worker.policy == WORKER_LEFT && !cluster_is_vacant(engine, event->cluster))
        clear(&engine->clusters[event->cluster].tenancy);
}

// The host may not impersonate -------------------------------------------------------------------------------------

static void note_denial(struct engine *engine, size_t cluster, struct tenant *there) {
    bool known = there->denials > 0;
    if (there->denials < UINT16_MAX)
        there->denials++;
    there->denied_until_ns = engine->now.mono_ns + backoff_ns(engine, there->denials, DENIED_BASE_NS, DENIED_MAX_NS);
    changed(engine, there->name);
    if (!known)
        report_log(engine, LOG_WARN, cluster, LOG_NO_KIND,
                   "the host may not act as user " TENANT_USER_PREFIX
                   "%s there, so nothing of namespace %s is created, "
                   "changed or deleted there; apply \"wharf rbac --for worker\" there again",
                   there->name, there->name);
}

void tenancy_answered(struct engine *engine, size_t cluster, const char *namespace_, enum verb verb,
                      struct response *response) {
    if (!tenancy_of(engine, cluster, namespace_, verb))
        return;
    struct tenant *there = tenant_of(engine, cluster, namespace_, strlen(namespace_));
    if (response->reason == REASON_NOT_TENANT) {
        char *plain = text_format("the host may not act as user " TENANT_USER_PREFIX "%s there: %s", namespace_,
                                  response->message);
        if (plain) {
            free(response->message);
            response->message = plain;
        }
        // Requests in flight together are one denial.
        if (there && there->denied_until_ns <= engine->now.mono_ns)
            note_denial(engine, cluster, there);
    } else if (there && there->denials && response->reason == REASON_OK) {
        there->denials = 0;
        there->denied_until_ns = 0;
        changed(engine, namespace_);
        report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the host may act as user " TENANT_USER_PREFIX "%s there",
                   namespace_);
    }
}

static void answered(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response) {
    char namespace_[254];
    entry_namespace(entry, namespace_);
    tenancy_answered(engine, request->cluster, namespace_, request->verb, response);
}

// Entries -----------------------------------------------------------------------------------------------------------

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    uint32_t cluster = facts_placed_cluster(entry);
    if (!engine->settings.tenancy.impersonate || !cluster)
        return;
    enum consent consent = consent_of(engine, entry, cluster);
    facts->consent_unknown = consent == CONSENT_UNKNOWN;
    facts->no_consent = consent != CONSENT_GIVEN && consent != CONSENT_UNKNOWN;
    facts->leaves = tenancy_is_withdrawn(engine, entry);
}

// Once, when the consent ends.
static void report_withdrawal(struct engine *engine, struct entry *entry) {
    uint32_t cluster = entry->workload->facts.cluster;
    const struct mirror *placed = facts_placed_mirror(entry);
    if (!placed || entry->workload->facts.finished || consent_of(engine, entry, cluster) != CONSENT_MISSING)
        return;
    report_event(engine, entry, true, "ConsentWithdrawn", "Place",
                 "the consent of namespace %.*s in cluster %s is gone (annotation " MARK_TENANT
                 "): nothing new is created "
                 "there, and the host %s the mirror",
                 entry->name_at - 1, entry->key, engine->clusters[cluster].name,
                 engine->settings.tenancy.remove_withdrawn ? "deletes" : "keeps");
}

static bool is_changed(const struct engine *engine, const struct entry *entry) {
    const struct tenant *here = tenant_of_entry(engine, ENGINE_MANAGEMENT, entry);
    return engine->tenancy.all || (here && here->changed);
}

static void tick(struct engine *engine) {
    if (engine->tenancy.due_ns > engine->now.mono_ns)
        return;
    struct store_cursor at = {0};
    for (struct entry *e; (e = store_next(&engine->store, &at));) {
        if (!is_changed(engine, e))
            continue;
        report_withdrawal(engine, e);
        queue_entry(engine, e);
    }
    size_t cursor = 0;
    for (struct tenant *t; (t = map_next(&engine->clusters[ENGINE_MANAGEMENT].tenancy.map, &cursor));)
        t->changed = false;
    engine->tenancy.all = false;
    engine->tenancy.passed_ns = engine->now.mono_ns;
    engine->tenancy.due_ns = CLOCK_NEVER;
}

static int64_t due_ns(struct engine *engine) {
    return engine->tenancy.due_ns;
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    (void)options;
    engine->tenancy.due_ns = CLOCK_NEVER;
    return NULL;
}

static void end(struct engine *engine) {
    for (size_t c = 0; engine->clusters && c < engine->n_clusters; c++)
        clear(&engine->clusters[c].tenancy);
}

#define WRITES                                                                                                         \
    (PART_REQUEST(REQUEST_CREATE) | PART_REQUEST(REQUEST_TRIAL) | PART_REQUEST(REQUEST_UPDATE) |                       \
     PART_REQUEST(REQUEST_DELETE) | PART_REQUEST(REQUEST_RELEASE) | PART_REQUEST(REQUEST_ACTIVE))

const struct part part_tenancy = {.name = "tenancy",
                                  .begin = begin,
                                  .end = end,
                                  .events = PART_EVENT(EVENT_TENANT) | PART_EVENT(EVENT_WORKER),
                                  .event = on_event,
                                  .tick = tick,
                                  .due_ns = due_ns,
                                  .facts = facts,
                                  .requests = WRITES,
                                  .answered = answered};
