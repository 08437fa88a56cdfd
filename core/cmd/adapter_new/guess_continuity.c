// SPDX-License-Identifier: Apache-2.0
// Guesses about values of the status that the pods of a later attempt need: checkpoints and steps, by their names.
#include "core/cmd/adapter_new/description.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <ctype.h>
#include <strings.h>

#define OWN_DEPTH 3       // deeper fields are those of contained objects
#define NAME_MAX_BYTES 40 // as the host accepts
#define ROWS_MAX 16

// A checkpoint, and not a fact about one.
static bool is_checkpoint(const char *name) {
    static const char *const others[] = {"time",   "timestamp", "at",       "count",   "number", "status",
                                         "state",  "phase",     "size",     "message", "reason", "enabled",
                                         "policy", "interval",  "duration", "counts"};
    bool saved = strcasestr(name, "checkpoint") || strcasestr(name, "savepoint");
    for (size_t i = 0; saved && i < COUNT(others); i++) {
        size_t len = strlen(name), end = strlen(others[i]);
        saved = len < end || strcasecmp(name + len - end, others[i]) != 0;
    }
    return saved;
}

// "lastStep", or for the path of a checkpoint "checkpoint_path". NULL: another value.
static const char *name_of(struct description *d, const struct schema_place *place) {
    static const char *const steps[] = {"step",           "lastStep",        "currentStep", "globalStep",
                                        "completedSteps", "stepsCompleted",  "epoch",       "lastEpoch",
                                        "currentEpoch",   "completedEpochs", NULL};
    static const char *const parts[] = {"path", "uri", "url", "location", "name", "id", "step", NULL};
    if (is_checkpoint(place->name) || text_is_one_of(place->name, steps))
        return place->name;
    bool is_part = place->up && is_checkpoint(place->up->name) && text_is_one_of(place->name, parts);
    return is_part ? description_text(d, "%s_%s", place->up->name, place->name) : NULL;
}

static bool is_scalar(const struct json *schema) {
    return schema_is(schema, "string") || schema_is(schema, "integer") || schema_is(schema, "number");
}

// "checkpointURI": "CHECKPOINT_URI". NULL: too long.
static const char *variable_of(struct description *d, const char *name) {
    AUTO_BUFFER(out, 256);
    for (const char *c = name; *c; c++) {
        bool upper = isupper((unsigned char)*c), after_lower = c > name && !isupper((unsigned char)c[-1]);
        if (upper && after_lower && c[-1] != '_')
            buffer_char(&out, '_');
        buffer_char(&out, isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_');
    }
    return out.failed || out.len > NAME_MAX_BYTES ? NULL : description_text(d, "%s", out.data);
}

static bool is_taken(const struct guess_rows *rows, const char *name) {
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->list[i].value, name) == 0)
            return true;
    return false;
}

void guess_continuity(struct description *d) {
    const struct guess_rows *rows = &d->members[CONTINUITY];
    for (size_t i = 0; i < d->status.count && rows->count < ROWS_MAX; i++) {
        const struct schema_place *place = d->status.list[i];
        if (place->depth == 0 || place->depth > OWN_DEPTH || place->in_list || !is_scalar(place->schema) ||
            !name_of(d, place))
            continue;
        const char *name = variable_of(d, name_of(d, place));
        if (!name || is_taken(rows, name))
            continue;
        const char *why = description_text(
            d, "By its name a value that the application goes on from: WHARF_PREVIOUS_%s of the next attempt's pods.",
            name);
        description_add(d, CONTINUITY, place->pointer, why)->value = name;
    }
}
