// SPDX-License-Identifier: Apache-2.0
// Commands and notes: what a step asks for, and the table of what is in flight.
#include "core/engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void command_free(struct command *command) {
    free(command->memory);
    *command = (struct command){0};
}

void note_free(struct note *note) {
    free(note->memory);
    free(note->text);
    *note = (struct note){0};
}

void remark_free(struct remark *remark) {
    free(remark->text);
    *remark = (struct remark){0};
}

void update_clear(struct update *update) {
    for (size_t i = 0; i < update->n_commands; i++)
        command_free(&update->commands[i]);
    for (size_t i = 0; i < update->n_notes; i++)
        note_free(&update->notes[i]);
    for (size_t i = 0; i < update->n_remarks; i++)
        remark_free(&update->remarks[i]);
    update->n_commands = update->n_notes = update->n_remarks = update->n_relists = 0;
}

void update_free(struct update *update) {
    update_clear(update);
    free(update->commands);
    free(update->notes);
    free(update->remarks);
    free(update->relists);
    *update = (struct update){0};
}

static bool grow(void **list, size_t count, size_t *capacity, size_t item) {
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *grown = realloc(*list, wanted * item);
    if (!grown)
        return false;
    *list = grown;
    *capacity = wanted;
    return true;
}

static struct pending *take_pending(struct engine *engine, uint64_t *id) {
    if (engine->free_pending == 0) {
        if (!grow((void **)&engine->pending, engine->n_pending, &engine->cap_pending, sizeof *engine->pending))
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

// Copies the strings that make up a request into one block; `at` moves along.
static const char *keep(char **at, const char *text, size_t len) {
    char *start = *at;
    if (len)
        memcpy(start, text, len);
    start[len] = '\0';
    *at = start + len + 1;
    return start;
}

static bool fill_command(struct command *command, const struct engine *engine, const struct entry *entry,
                         const struct command_spec *spec, const char *version) {
    const struct kind *kind = engine->kinds[entry->kind];
    bool namespaces = spec->type == PENDING_NAMESPACE;
    char space[254];
    entry_namespace(entry, space);
    const char *group = namespaces ? "" : kind->abi.group, *plural = namespaces ? "namespaces" : kind->abi.plural;
    const char *name = spec->path ? spec->path : namespaces ? space : entry_name(entry);
    const char *in = namespaces ? "" : space;
    version = namespaces ? "v1" : version;
    size_t size = strlen(group) + strlen(plural) + strlen(version) + strlen(name) + strlen(in) + spec->body_len + 6;
    command->memory = malloc(size);
    if (!command->memory)
        return false;
    char *at = command->memory;
    command->request = (struct request){
        .verb = spec->verb,
        .resource = {.group = keep(&at, group, strlen(group)),
                     .version = keep(&at, version, strlen(version)),
                     .plural = keep(&at, plural, strlen(plural)),
                     .cluster_scoped = *in == '\0'},
        .namespace_ = keep(&at, in, strlen(in)),
        .name = keep(&at, name, strlen(name)),
        .body = spec->body ? keep(&at, spec->body, spec->body_len) : NULL,
        .body_len = spec->body_len,
    };
    return true;
}

uint64_t command_send(struct engine *engine, struct entry *entry, const struct command_spec *spec) {
    struct update *update = engine->update;
    const char *version = engine_feed(engine, spec->cluster, entry->kind)->version;
    uint64_t id = 0;
    if (!version ||
        !grow((void **)&update->commands, update->n_commands, &update->cap_commands, sizeof *update->commands))
        return 0;
    struct command *command = &update->commands[update->n_commands];
    *command = (struct command){.cluster = spec->cluster};
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
    pending->rewinds = engine_feed(engine, spec->cluster, entry->kind)->rewinds;
    pending->attempt = spec->attempt;
    pending->patch_hash = spec->patch_hash;
    pending->wanted = spec->wanted;
    pending->source = spec->source;
    pending->marks = spec->marks;
    pending->was_clean = spec->was_clean;
    pending->stops = spec->stops;
    pending->stop_only = spec->stop_only;
    if (spec->record) {
        pending->record = *spec->record;
        *spec->record = NULL;
    }
    command->id = id;
    update->n_commands++;
    engine->in_flight++;
    engine->stats.clusters[spec->cluster].sent[spec->verb]++;
    return id;
}

void engine_remark(struct engine *engine, bool warning, size_t cluster, size_t kind, const char *format, ...) {
    struct update *update = engine->update;
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        return;
    if (!grow((void **)&update->remarks, update->n_remarks, &update->cap_remarks, sizeof *update->remarks)) {
        free(text);
        return;
    }
    update->remarks[update->n_remarks++] =
        (struct remark){.cluster = cluster, .kind = kind, .warning = warning, .text = text};
}

void command_note(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) {
    struct update *update = engine->update;
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        return;
    entry->told = true;
    // The same sentence again about the same workload tells nothing new.
    uint64_t wide = text_hash(TEXT_HASH, text);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    if (hash == entry->last_note || !*entry->uid ||
        !grow((void **)&update->notes, update->n_notes, &update->cap_notes, sizeof *update->notes)) {
        free(text);
        return;
    }
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = engine_feed(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    char space[254], api_version[320];
    entry_namespace(entry, space);
    snprintf(api_version, sizeof api_version, "%s%s%s", kind->abi.group, *kind->abi.group ? "/" : "",
             version ? version : "v1");
    char *memory = malloc(strlen(api_version) + strlen(space) + strlen(entry_name(entry)) + strlen(entry->uid) +
                          strlen(reason) + 5);
    if (!memory) {
        free(text);
        return;
    }
    char *at = memory;
    struct note *note = &update->notes[update->n_notes++];
    *note = (struct note){.kind = entry->kind, .warning = warning, .action = action, .text = text, .memory = memory};
    note->reason = keep(&at, reason, strlen(reason));
    note->api_version = keep(&at, api_version, strlen(api_version));
    note->namespace_ = keep(&at, space, strlen(space));
    note->name = keep(&at, entry_name(entry), strlen(entry_name(entry)));
    note->uid = keep(&at, entry->uid, strlen(entry->uid));
    entry->last_note = hash;
    engine->stats.notes++;
}

void engine_relist(struct engine *engine, size_t cluster, size_t kind) {
    struct update *update = engine->update;
    if (grow((void **)&update->relists, update->n_relists, &update->cap_relists, sizeof *update->relists))
        update->relists[update->n_relists++] = (struct relist){cluster, kind};
}
