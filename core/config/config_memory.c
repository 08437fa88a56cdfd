// SPDX-License-Identifier: Apache-2.0
// memory: {perCluster, maxObjectSize, maxObjectNodes, maxStatusSize}.
#include "core/base/text.h"
#include "core/config/config_reader.h"
#include "core/kube/object/budget.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PER_CLUSTER_MAX ((size_t)64 << 30)
#define OBJECT_SIZE_MIN ((size_t)64 << 10)
#define OBJECT_NODES_MIN ((size_t)1000)
#define NODE_BYTES 64 // see json.h

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

bool config_size(const char *text, size_t *size) {
    static const struct {
        const char *unit;
        size_t bytes;
    } units[] = {{"KiB", KIB}, {"MiB", MIB}, {"GiB", GIB}};
    char number[16];
    size_t digits = text ? strspn(text, "0123456789") : 0;
    int64_t count = 0;
    if (digits == 0 || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        if (!text_to_int64(number, &count) || count > (int64_t)(PER_CLUSTER_MAX / units[i].bytes))
            return false;
        *size = (size_t)count * units[i].bytes;
        return true;
    }
    return false;
}

static void read_per_cluster(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    size_t size = 0;
    if (config_size(json_string(value), &size) && size >= BUDGET_LEAST)
        *(size_t *)target = size;
    else
        config_wrong(reader, place, value, "a size from 32MiB to 64GiB, such as 64MiB");
}

static void read_object_size(struct config_reader *reader, const struct config_place *place, const struct json *value,
                             void *target) {
    size_t size = 0;
    if (config_size(json_string(value), &size) && size >= OBJECT_SIZE_MIN)
        *(size_t *)target = size;
    else
        config_wrong(reader, place, value, "a size of 64KiB or more, such as 1MiB");
}

static void read_object_nodes(struct config_reader *reader, const struct config_place *place, const struct json *value,
                              void *target) {
    int64_t count = json_int64(value, 0);
    if (json_is(value, JSON_NUMBER) && count >= (int64_t)OBJECT_NODES_MIN)
        *(size_t *)target = (size_t)count;
    else
        config_wrong(reader, place, value, "a whole number of 1000 or more");
}

static void read_workloads(struct config_reader *reader, const struct config_place *place, const struct json *value,
                           void *target) {
    int64_t count = json_int64(value, -1);
    if (json_is(value, JSON_NUMBER) && count >= 0)
        *(size_t *)target = (size_t)count;
    else
        config_wrong(reader, place, value, "a whole number; 0: no limit");
}

// An object must fit into its share of the memory budget of a cluster.
static void check(struct config_reader *reader, const struct config_place *place, const struct config *config) {
    size_t share = config->memory_per_cluster / 8;
    if (config->max_object_size > share)
        config_problem(reader, place,
                       "maxObjectSize: found %zu bytes, expected at most an eighth of perCluster, %zu bytes",
                       config->max_object_size, share);
    if (config->max_object_nodes > 2 * share / NODE_BYTES)
        config_problem(reader, place, "maxObjectNodes: found %zu, expected at most %zu with this perCluster",
                       config->max_object_nodes, 2 * share / NODE_BYTES);
}

void config_read_memory(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    static const struct config_field fields[] = {
        {"perCluster", read_per_cluster, offsetof(struct config, memory_per_cluster), false, "Default 64MiB."},
        {"maxObjectSize", read_object_size, offsetof(struct config, max_object_size), false,
         "Default 2MiB. Larger objects are not handled."},
        {"maxObjectNodes", read_object_nodes, offsetof(struct config, max_object_nodes), false,
         "Default 100000. Objects with more JSON values are not handled."},
        {"maxStatusSize", read_object_size, offsetof(struct config, max_status_size), false,
         "Default 256KiB. The largest parts of larger statuses are not copied from workers."},
        {"maxWorkloads", read_workloads, offsetof(struct config, engine.max_workloads), false,
         "Default 0: no limit. Further workloads are not handled until others are deleted."},
    };
    if (config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]), target))
        check(reader, place, target);
}
