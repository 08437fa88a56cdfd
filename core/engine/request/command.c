// SPDX-License-Identifier: Apache-2.0
#include "core/engine/request/command.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/status.h"
#include "core/engine/tenancy/tenancy.h"

static const enum verb verbs[] = {[REQUEST_PLACE] = VERB_MERGE_PATCH,  [REQUEST_CREATE] = VERB_CREATE,
                                  [REQUEST_UPDATE] = VERB_MERGE_PATCH, [REQUEST_STATUS] = VERB_STATUS_PATCH,
                                  [REQUEST_DELETE] = VERB_DELETE,      [REQUEST_RELEASE] = VERB_MERGE_PATCH,
                                  [REQUEST_VERIFY] = VERB_GET,         [REQUEST_NAMESPACE] = VERB_CREATE,
                                  [REQUEST_OWNER] = VERB_RAW_GET,      [REQUEST_WRITER] = VERB_RAW_GET,
                                  [REQUEST_READ] = VERB_GET,           [REQUEST_TRIAL] = VERB_CREATE,
                                  [REQUEST_ACTIVE] = VERB_MERGE_PATCH, [REQUEST_PROGRESS] = VERB_STATUS_PATCH,
                                  [REQUEST_CHILDREN] = VERB_RAW_GET,   [REQUEST_CHILD] = VERB_STATUS_PATCH,
                                  [REQUEST_KEEP] = VERB_MERGE_PATCH};

static struct request_in_flight *take_slot(struct engine_requests *table, uint64_t *id) {
    if (table->free_request == 0) {
        if (!array_reserve(&table->requests, &table->cap_requests, table->n_requests + 1, sizeof *table->requests))
            return NULL;
        table->requests[table->n_requests++] = (struct request_in_flight){0};
        table->free_request = (uint32_t)table->n_requests;
    }
    uint32_t place = table->free_request;
    struct request_in_flight *slot = &table->requests[place - 1];
    table->free_request = slot->next_free;
    slot->generation = (slot->generation + 1) & INT32_MAX; // below REQUEST_BESIDE
    *id = ((uint64_t)slot->generation << 32) | place;
    return slot;
}

static bool fill_command(struct command *command, const struct engine *engine, const struct entry *entry,
                         const struct request_in_flight *request, const char *version) {
    const struct kind *kind = engine->kinds[entry->kind];
    char space[254];
    entry_namespace(entry, space);
    bool namespaces = request->type == REQUEST_NAMESPACE, active = request->type == REQUEST_ACTIVE;
    const wharf_child *child = request->type == REQUEST_CHILD ? &kind->abi.children[request->source] : NULL;
    const char *group = namespaces ? "" : active ? "kueue.x-k8s.io" : child ? child->group : kind->abi.group;
    const char *plural = namespaces ? "namespaces" : active ? "workloads" : child ? child->plural : kind->abi.plural;
    const char *name = request->path ? request->path : namespaces ? space : entry_name(entry);
    const char *in = namespaces ? "" : space;
    bool whole = request->type == REQUEST_STATUS && kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE;
    struct request filled = {
        .verb = whole ? VERB_MERGE_PATCH : verbs[request->type],
        .resource = {.group = group,
                     .version = namespaces ? "v1"
                                : active   ? request->version
                                : child    ? child->version
                                           : version,
                     .plural = plural,
                     .cluster_scoped = *in == '\0'},
        .namespace_ = in,
        .name = name,
        .tenant = tenancy_of(engine, request->cluster, in, verbs[request->type]),
        .body = request->body,
        .body_len = request->body_len,
        .metadata = request->type == REQUEST_WRITER && request->source == WRITER_OWNED,
        .dry_run = request->type != REQUEST_TRIAL                   ? DRY_RUN_NO
                   : dropped_required(engine, entry) == REQUIRE_ALL ? DRY_RUN_STRICT
                                                                    : DRY_RUN,
    };
    return command_set_request(command, &filled);
}

bool command_send(struct engine *engine, struct entry *entry, const struct request_in_flight *request) {
    struct update *update = engine->update;
    const struct watch_state *watch = cluster_watch(engine, request->cluster, entry->kind);
    if (!watch->version || !shard_is_held(engine, entry) ||
        !array_reserve(&update->commands, &update->cap_commands, update->n_commands + 1, sizeof *update->commands))
        return false;
    struct command *command = &update->commands[update->n_commands];
    *command = (struct command){.cluster = request->cluster, .shard = shard_of(engine, entry)};
    if (!fill_command(command, engine, entry, request, watch->version))
        return false;
    struct request_in_flight *slot = take_slot(&engine->request, &command->id);
    if (!slot) {
        command_free(command);
        return false;
    }
    uint32_t generation = slot->generation;
    *slot = *request;
    slot->generation = generation;
    slot->entry = entry;
    slot->verb = verbs[request->type];
    slot->path = slot->version = slot->body = NULL;
    slot->record = slot->offered ? TAKE(*slot->offered) : NULL;
    slot->restorations = watch->restorations;
    slot->workload = text_hash(TEXT_HASH, entry->workload->uid);
    struct mirror *mirror = entry_mirror(entry, request->cluster);
    slot->known = text_hash(TEXT_HASH, doc_version(&engine->store, mirror ? &mirror->doc : &entry->workload->doc));
    slot->term = shard_term(engine, entry);
    slot->is_budgeted = request->type == REQUEST_STATUS || (request->type == REQUEST_PLACE && request->attempt > 1);
    if (slot->is_budgeted)
        status_budget_sent(engine, entry);
    update->n_commands++;
    pacing_sent(engine, request->cluster);
    engine->stats.clusters[request->cluster].sent[command->request.verb]++;
    return true;
}

bool command_send_about(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        struct request_in_flight *request) {
    if (mirror) {
        request->cluster = mirror->facts.cluster;
        request->attempt = entry->workload->facts.attempt;
    }
    bool sent = command_send(engine, entry, request);
    if (mirror)
        mirror->facts.busy = sent;
    else
        entry->busy = sent;
    if (!sent)
        queue_retry_soon(engine, mirror ? &mirror->facts.not_before_ns : &entry->workload->facts.not_before_ns);
    return sent;
}

bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *patch,
                        struct request_in_flight request) {
    AUTO_TEXT body = json_text(patch, &request.body_len);
    if (body && request.body_len > REQUEST_BODY_MAX && request.type != REQUEST_CREATE) {
        report_event(engine, entry, true, "TooLarge", mirror ? "CarryChange" : "CopyStatus",
                     "the patch of the %s has %zu bytes, more than the %zu that an API server accepts: the host does "
                     "not send the patch; reduce the workload",
                     mirror ? "mirror" : "status", request.body_len, REQUEST_BODY_MAX);
        return true;
    }
    request.body = body;
    if (!body) {
        queue_retry_soon(engine, mirror ? &mirror->facts.not_before_ns : &entry->workload->facts.not_before_ns);
        return false;
    }
    return command_send_about(engine, entry, mirror, &request);
}
