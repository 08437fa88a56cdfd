// SPDX-License-Identifier: Apache-2.0
// Commands, and the table of those in flight.
#include "core/engine/request/command.h"

#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/report/report.h"
#include "core/engine/request/pacing.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/status_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct request_in_flight *take_request_slot(struct engine *engine, uint64_t *id) {
    if (engine->request.free_request == 0) {
        if (!array_reserve(&engine->request.requests, &engine->request.cap_requests, engine->request.n_requests + 1,
                           sizeof *engine->request.requests))
            return NULL;
        engine->request.requests[engine->request.n_requests++] = (struct request_in_flight){0};
        engine->request.free_request = (uint32_t)engine->request.n_requests;
    }
    uint32_t place = engine->request.free_request;
    struct request_in_flight *request = &engine->request.requests[place - 1];
    engine->request.free_request = request->next_free;
    *request = (struct request_in_flight){.generation = request->generation + 1, .used = true};
    *id = ((uint64_t)request->generation << 32) | place;
    return request;
}

static bool fill_command(struct command *command, const struct engine *engine, const struct entry *entry,
                         const struct command_spec *spec, const char *version) {
    const struct kind *kind = engine->kinds[entry->kind];
    bool namespaces = spec->type == REQUEST_NAMESPACE;
    char space[254];
    entry_namespace(entry, space);
    bool active = spec->type == REQUEST_ACTIVE;
    const char *group = namespaces ? "" : active ? "kueue.x-k8s.io" : kind->abi.group;
    const char *plural = namespaces ? "namespaces" : active ? "workloads" : kind->abi.plural;
    const char *name = spec->path ? spec->path : namespaces ? space : entry_name(entry);
    const char *in = namespaces ? "" : space;
    version = namespaces ? "v1" : active ? spec->version : version;
    size_t size = strlen(group) + strlen(plural) + strlen(version) + strlen(name) + strlen(in) + spec->body_len + 6;
    command->memory = malloc(size);
    if (!command->memory)
        return false;
    char *at = command->memory;
    command->request = (struct request){
        .verb = spec->verb,
        .resource = {.group = update_string(&at, group, strlen(group)),
                     .version = update_string(&at, version, strlen(version)),
                     .plural = update_string(&at, plural, strlen(plural)),
                     .cluster_scoped = *in == '\0'},
        .namespace_ = update_string(&at, in, strlen(in)),
        .name = update_string(&at, name, strlen(name)),
        .body = spec->body ? update_string(&at, spec->body, spec->body_len) : NULL,
        .body_len = spec->body_len,
        .dry_run = spec->type == REQUEST_TRIAL ? DRY_RUN_STRICT : DRY_RUN_NO,
    };
    return true;
}

uint64_t command_send(struct engine *engine, struct entry *entry, const struct command_spec *spec) {
    struct update *update = engine->update;
    const char *version = cluster_watch(engine, spec->cluster, entry->kind)->version;
    uint64_t id = 0;
    if (!version || !shard_is_held(engine, entry) ||
        !array_reserve(&update->commands, &update->cap_commands, update->n_commands + 1, sizeof *update->commands))
        return 0;
    struct command *command = &update->commands[update->n_commands];
    *command = (struct command){.cluster = spec->cluster, .shard = shard_of(engine, entry)};
    if (!fill_command(command, engine, entry, spec, version))
        return 0;
    struct request_in_flight *request = take_request_slot(engine, &id);
    if (!request) {
        command_free(command);
        return 0;
    }
    request->type = spec->type;
    request->entry = entry;
    request->cluster = spec->cluster;
    request->restorations = cluster_watch(engine, spec->cluster, entry->kind)->restorations;
    request->workload = text_hash(TEXT_HASH, entry->workload->uid);
    request->attempt = spec->attempt;
    request->patch_hash = spec->patch_hash;
    request->wanted = spec->wanted;
    request->source = spec->source;
    request->marks = spec->marks;
    request->is_final = spec->is_final;
    request->is_budgeted = spec->type == REQUEST_STATUS || (spec->type == REQUEST_PLACE && spec->attempt > 1);
    request->term = shard_term(engine, entry);
    request->was_clean = spec->was_clean;
    request->stops = spec->stops;
    request->piece = spec->piece;
    request->withdraws = spec->withdraws;
    if (spec->record)
        request->record = TAKE(*spec->record);
    if (request->is_budgeted)
        status_budget_sent(engine, entry);
    command->id = id;
    update->n_commands++;
    engine->request.in_flight++;
    pacing_sent(engine, spec->cluster);
    engine->stats.clusters[spec->cluster].sent[spec->verb]++;
    return id;
}

// Rule 5: busy until the answer.
bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                        struct command_spec spec) {
    size_t len = 0;
    AUTO_TEXT body = json_text(patch, &len);
    if (!body)
        return false;
    if (len > REQUEST_BODY_MAX && spec.type != REQUEST_CREATE) {
        report_event(engine, entry, true, "TooLarge", mirror ? "CarryChange" : "CopyStatus",
                     "the patch of its %s has %zu bytes, more than the %zu that an API server accepts, and is not "
                     "sent; reduce the workload",
                     mirror ? "mirror" : "status", len, REQUEST_BODY_MAX);
        return true;
    }
    spec.body = body;
    spec.body_len = len;
    uint64_t id = command_send(engine, entry, &spec);
    if (mirror)
        mirror->facts.busy = id;
    else
        entry->busy = id;
    return id != 0;
}
