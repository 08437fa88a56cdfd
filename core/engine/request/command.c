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

static struct pending *take_pending(struct engine *engine, uint64_t *id) {
    if (engine->free_pending == 0) {
        if (!array_reserve(&engine->pending, &engine->cap_pending, engine->n_pending + 1, sizeof *engine->pending))
            return NULL;
        engine->pending[engine->n_pending++] = (struct pending){0};
        engine->free_pending = (uint32_t)engine->n_pending;
    }
    uint32_t place = engine->free_pending;
    struct pending *pending = &engine->pending[place - 1];
    engine->free_pending = pending->next_free;
    *pending = (struct pending){.generation = pending->generation + 1, .used = true};
    *id = ((uint64_t)pending->generation << 32) | place;
    return pending;
}

static bool fill_command(struct command *command, const struct engine *engine, const struct entry *entry,
                         const struct command_spec *spec, const char *version) {
    const struct kind *kind = engine->kinds[entry->kind];
    bool namespaces = spec->type == PENDING_NAMESPACE;
    char space[254];
    entry_namespace(entry, space);
    bool active = spec->type == PENDING_ACTIVE;
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
        .dry_run = spec->type == PENDING_TRIAL ? DRY_RUN_STRICT : DRY_RUN_NO,
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
    struct pending *pending = take_pending(engine, &id);
    if (!pending) {
        command_free(command);
        return 0;
    }
    pending->type = spec->type;
    pending->entry = entry;
    pending->cluster = spec->cluster;
    pending->rewinds = cluster_watch(engine, spec->cluster, entry->kind)->rewinds;
    pending->workload = text_hash(TEXT_HASH, entry->workload->uid);
    pending->attempt = spec->attempt;
    pending->patch_hash = spec->patch_hash;
    pending->wanted = spec->wanted;
    pending->source = spec->source;
    pending->marks = spec->marks;
    pending->is_final = spec->is_final;
    pending->is_budgeted = spec->type == PENDING_STATUS || (spec->type == PENDING_PLACE && spec->attempt > 1);
    pending->term = shard_term(engine, entry);
    pending->was_clean = spec->was_clean;
    pending->stops = spec->stops;
    pending->piece = spec->piece;
    pending->withdraws = spec->withdraws;
    if (spec->record)
        pending->record = TAKE(*spec->record);
    if (pending->is_budgeted)
        status_budget_sent(engine, entry);
    command->id = id;
    update->n_commands++;
    engine->in_flight++;
    pacing_sent(engine, spec->cluster);
    engine->stats.clusters[spec->cluster].sent[spec->verb]++;
    return id;
}

// Rule 5: the object is busy until the answer.
bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                        struct command_spec spec) {
    size_t len = 0;
    AUTO_TEXT body = json_text(patch, &len);
    if (!body)
        return false;
    if (len > REQUEST_BODY_MAX && spec.type != PENDING_CREATE) {
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
