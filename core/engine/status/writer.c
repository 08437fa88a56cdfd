// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/writer.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/request/command.h"

#include <string.h>

#define MANAGER "wharf" // the host's name in managedFields

bool writer_ask(struct engine *engine, struct entry *entry, uint32_t cluster, enum writer_question question) {
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, cluster, entry->kind)->version;
    char space[254];
    entry_namespace(entry, space);
    struct resource resource = {.group = kind->abi.group,
                                .version = version ? version : "",
                                .plural = kind->abi.plural,
                                .cluster_scoped = *space == '\0'};
    AUTO_BUFFER(path, 2048);
    struct error *error = resource_path(&resource, space, entry_name(entry), NULL, &path);
    bool sent = !error && path.data &&
                command_send(engine, entry,
                             &(struct command_spec){.type = REQUEST_WRITER,
                                                    .verb = VERB_RAW_GET,
                                                    .cluster = cluster,
                                                    .source = question,
                                                    .path = path.data});
    entry->lookups += sent;
    error_free(error);
    return sent;
}

static void keep_newest(const char **newest, const char *time) {
    if (strcmp(time, *newest) > 0)
        *newest = time;
}

// Without a subresource the status is among the object's other fields.
static bool is_of_status(const struct json *entry, bool subresource) {
    return strcmp(json_string_or(json_get(entry, "subresource"), ""), "status") == 0 ||
           (!subresource && json_path(entry, "fieldsV1", "f:status", NULL));
}

struct writers writer_read(const struct json *object, bool status, bool subresource) {
    struct writers found = {.other_at = "", .own_at = "", .recorded_at = ""};
    for (const struct json *f = json_first(json_path(object, "metadata", "managedFields", NULL)); f; f = json_next(f)) {
        const char *manager = json_string(json_get(f, "manager")), *time = json_string_or(json_get(f, "time"), "");
        bool of_status = is_of_status(f, subresource);
        if (manager && strcmp(manager, MANAGER) == 0) {
            keep_newest(of_status ? &found.own_at : &found.recorded_at, time);
        } else if (manager && of_status == status && strcmp(time, found.other_at) >= 0) {
            found.other = manager;
            found.other_at = time;
        }
    }
    return found;
}
