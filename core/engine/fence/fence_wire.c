// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence_wire.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fence_part_print(struct fence_part part, char out[FENCE_PART_MAX]) {
    snprintf(out, FENCE_PART_MAX, "%u-of-%u", part.shard % 1000, part.count % 1000);
}

static bool read_number(const char **at, uint32_t most, uint32_t *out) {
    char *end = NULL;
    unsigned long value = **at >= '0' && **at <= '9' ? strtoul(*at, &end, 10) : most + 1UL;
    if (value > most)
        return false;
    *out = (uint32_t)value;
    *at = end;
    return true;
}

bool fence_part_read(const char *text, struct fence_part *part, const char **end) {
    static const char between[] = "-of-";
    const char *at = text;
    if (!read_number(&at, SHARDS_MAX - 1, &part->shard) || !text_has_prefix(at, between))
        return false;
    at += sizeof between - 1;
    bool read = read_number(&at, SHARDS_MAX, &part->count) && part->shard < part->count;
    *end = at;
    return read;
}

void fence_name_print(const char *origin, struct fence_part part, char out[FENCE_NAME_MAX]) {
    char shard[FENCE_PART_MAX];
    fence_part_print(part, shard);
    snprintf(out, FENCE_NAME_MAX, FENCE_LEASE "%s%s%s", origin, part.count > 1 ? "." : "", part.count > 1 ? shard : "");
}

bool fence_list_add(char list[FENCE_LIST_MAX], struct fence_part part) {
    size_t len = strlen(list);
    char text[FENCE_PART_MAX];
    fence_part_print(part, text);
    if (len + strlen(text) + 2 > FENCE_LIST_MAX)
        return false;
    snprintf(list + len, FENCE_LIST_MAX - len, "%s%s", len > 0 ? " " : "", text);
    return true;
}

bool fence_list_has(const char *list, struct fence_part part) {
    struct fence_part other;
    while (fence_list_next(&list, &other))
        if (other.shard == part.shard && other.count == part.count)
            return true;
    return false;
}

bool fence_list_next(const char **list, struct fence_part *part) {
    while (**list) {
        const char *at = *list + strspn(*list, " "), *end = at;
        *list = at + strcspn(at, " ");
        if (fence_part_read(at, part, &end) && end == *list)
            return true;
    }
    return false;
}

void fence_annotation_add(char *out, size_t size, const char *key, const char *value) {
    size_t len = strlen(out);
    const char *quote = value ? "\"" : "";
    snprintf(out + len, size - len, "%s\"%s\":%s%s%s", len > 0 ? "," : "", key, quote, value ? value : "null", quote);
}

void fence_body_print(const struct fence_body *body, char *out, size_t size) {
    char time[CLOCK_RFC3339_MAX], names[2 * FENCE_NAME_MAX + 32] = "", labels[128] = "";
    clock_rfc3339_micro(body->wall_ns, time);
    if (body->name)
        snprintf(names, sizeof names, "\"name\":\"%s\",\"namespace\":\"%s\",", body->name, body->namespace_);
    if (body->origin)
        snprintf(labels, sizeof labels, "\"labels\":{\"" MARK_ORIGIN "\":\"%s\"},", body->origin);
    snprintf(out, size,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{%s%s\"annotations\":{%s}},"
             "\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%lld,\"renewTime\":\"%s\"}}",
             names, labels, body->annotations, body->holder, (long long)(body->after_ns / CLOCK_SECOND), time);
}

int64_t fence_lease_after_ns(const struct json *lease) {
    int64_t seconds = json_int64(json_path(lease, "spec", "leaseDurationSeconds", NULL), 0);
    return seconds > 0 && seconds <= INT32_MAX ? seconds * CLOCK_SECOND : 0;
}

bool fence_lease_is_held(const struct json *lease) {
    return *json_string_or(json_path(lease, "spec", "holderIdentity", NULL), "");
}
