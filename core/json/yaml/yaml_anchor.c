// SPDX-License-Identifier: Apache-2.0
// Anchors and aliases (yaml_reader.h).
#include "core/json/yaml/yaml_reader.h"

#include <stdlib.h>
#include <string.h>

// Limit on the expansion of all aliases of a stream.
#define EXPANDED_VALUES_MAX 100000
#define EXPANDED_BYTES_MAX ((size_t)16 * 1024 * 1024)

static const char *event_anchor(const yaml_event_t *event) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return (const char *)event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return (const char *)event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return (const char *)event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

bool reader_open_anchor(struct yaml_reader *reader, struct anchor **out) {
    const char *name = event_anchor(&reader->event);
    *out = NULL;
    if (!name)
        return true;
    struct anchor *anchor = map_get(&reader->anchors, name);
    if (anchor) {
        anchor->node = NULL;
        *out = anchor;
        return true;
    }
    anchor = calloc(1, sizeof *anchor);
    if (anchor)
        anchor->name = strdup(name);
    if (!anchor || !anchor->name || !map_put(&reader->anchors, anchor->name, anchor)) {
        if (anchor)
            free(anchor->name);
        free(anchor);
        reader_no_memory(reader);
        return false;
    }
    *out = anchor;
    return true;
}

void reader_drop_anchors(struct yaml_reader *reader) {
    size_t cursor = 0;
    for (struct anchor *anchor; (anchor = map_next(&reader->anchors, &cursor));) {
        free(anchor->name);
        free(anchor);
    }
    map_free(&reader->anchors);
}

// Counts the values that a copy adds; false if too many, or nested too deeply.
static bool count_expanded(struct yaml_reader *reader, const cJSON *node, size_t depth) {
    reader->expanded_values++;
    reader->expanded_bytes += node_text(node) ? strlen(node_text(node)) : 0;
    reader->expanded_bytes += node->string ? strlen(node->string) : 0;
    if (reader->expanded_values > EXPANDED_VALUES_MAX || reader->expanded_bytes > EXPANDED_BYTES_MAX) {
        reader_fail(reader, ERROR_LIMIT, "the aliases of this document expand to too many values (too many aliases)");
        return false;
    }
    if (node_is_container(node) && depth >= JSON_MAX_DEPTH) {
        reader_fail(reader, ERROR_LIMIT, "an alias makes the document nested too deeply");
        return false;
    }
    for (const cJSON *child = node->child; child; child = child->next)
        if (!count_expanded(reader, child, depth + 1))
            return false;
    return true;
}

cJSON *reader_alias(struct yaml_reader *reader, size_t depth) {
    const struct anchor *anchor = map_get(&reader->anchors, (const char *)reader->event.data.alias.anchor);
    if (!anchor)
        return reader_fail(reader, ERROR_INVALID, "an alias without an anchor of that name before it");
    if (!anchor->node)
        return reader_fail(reader, ERROR_INVALID, "an alias within its own anchor");
    if (!count_expanded(reader, anchor->node, depth))
        return NULL;
    cJSON *copy = node_of(json_copy(node_json_const(anchor->node)));
    return copy ? copy : reader_no_memory(reader);
}
