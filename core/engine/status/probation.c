// SPDX-License-Identifier: Apache-2.0
// Before the first workload of a kind is placed: some versions of the kind's controller ignore managedBy, and the
// version in the management cluster is not known to be a later one. The first workload waits for the signs of such a
// controller (rival.c), which acts on a new object within seconds. Where the configuration names the objects that a
// controller makes, the host then lists those. Without a sign the kind is trusted from then on.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"

#define PROBATION_NS (10 * CLOCK_SECOND)
#define AGAIN_NS CLOCK_SECOND // after a list that could not be sent, or failed
#define LISTED 500            // objects of a namespace

static struct probation *probation_of(const struct engine *engine, size_t kind) {
    return &cluster_watch(engine, ENGINE_MANAGEMENT, kind)->probation;
}

static bool is_doubted(const struct engine *engine, const struct entry *entry) {
    const struct kind *kind = engine->kinds[entry->kind];
    return (kind->doubted_until || kind->owned.plural) && kind->hybrid != HYBRID_ALLOW &&
           !probation_of(engine, entry->kind)->settled;
}

static void event(struct engine *engine, struct engine_event *event) {
    struct probation *probation = probation_of(engine, event->kind);
    probation->settled = event->field.settled;
    if (probation->settled)
        cluster_queue_blocked(engine, event->kind, SIZE_MAX);
}

static void ask(struct engine *engine, struct entry *entry, struct probation *probation) {
    const struct owned_objects *owned = &engine->kinds[entry->kind]->owned;
    char space[254];
    entry_namespace(entry, space);
    struct resource resource = {.group = owned->group, .version = owned->version, .plural = owned->plural};
    AUTO_BUFFER(path, 2048);
    struct error *error = resource_path(&resource, space, NULL, NULL, &path);
    buffer_printf(&path, "?limit=%d", LISTED);
    struct request_in_flight request = {.type = REQUEST_WRITER, .source = WRITER_OWNED, .path = path.data};
    probation->asked = !error && !path.failed && command_send(engine, entry, &request);
    entry->lookups += probation->asked;
    error_free(error);
}

static void before(struct engine *engine, struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    struct probation *probation = probation_of(engine, entry->kind);
    if (!is_doubted(engine, entry) || !w->exists || w->attempt > 0 || w->suspended || w->finished || w->being_deleted)
        return;
    if (!probation->until_ns)
        probation->until_ns = engine->now.mono_ns + PROBATION_NS;
    else if (engine->kinds[entry->kind]->owned.plural && !probation->asked &&
             probation->until_ns <= engine->now.mono_ns)
        ask(engine, entry, probation);
}

void probation_answered(struct engine *engine, struct entry *entry, const struct response *response) {
    struct probation *probation = probation_of(engine, entry->kind);
    const char *plural = engine->kinds[entry->kind]->owned.plural;
    bool refused = reason_is_refusal(response->reason), listed = response->reason == REASON_OK;
    probation->answered =
        listed || refused || response->reason == REASON_NOT_FOUND || response->reason == REASON_KIND_NOT_FOUND;
    probation->asked = probation->answered;
    if (!probation->answered)
        probation->until_ns = engine->now.mono_ns + AGAIN_NS;
    if (refused)
        report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, entry->kind,
                   "cannot list %s, which the configuration names as ownedObjects: %s; wharf rbac prints the rights",
                   plural, response->message);
    for (const struct json *item = listed ? json_first(json_get(response->value, "items")) : NULL; item;
         item = json_next(item))
        rival_seen(engine, item, plural);
    cluster_queue_blocked(engine, entry->kind, SIZE_MAX);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    const struct probation *probation = probation_of(engine, entry->kind);
    if (!is_doubted(engine, entry))
        return;
    bool asks = probation->until_ns && engine->kinds[entry->kind]->owned.plural && !probation->answered;
    facts->probation_until_ns =
        asks ? clock_later(probation->until_ns, engine->now.mono_ns + AGAIN_NS) : probation->until_ns;
}

const struct part part_probation = {
    .name = "probation", .events = PART_EVENT(EVENT_FIELD), .event = event, .before = before, .facts = facts};
