// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence_wire.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"

#include <stdio.h>

bool fence_part_equal(struct fence_part a, struct fence_part b) {
    return a.shard == b.shard && a.count == b.count;
}

void fence_part_print(struct fence_part part, char out[FENCE_PART_MAX]) {
    snprintf(out, FENCE_PART_MAX, "%u-of-%u", part.shard % 1000, part.count % 1000);
}

static bool read_number(const char **at, int64_t most, int64_t *out) {
    char *end = NULL;
    unsigned long long number = **at >= '0' && **at <= '9' ? strtoull(*at, &end, 10) : UINT64_MAX;
    if (number > (unsigned long long)most)
        return false;
    *out = (int64_t)number;
    *at = end;
    return true;
}

bool fence_part_read(const char *text, struct fence_part *part, const char **end) {
    static const char between[] = "-of-";
    int64_t shard, count;
    if (!read_number(&text, SHARDS_MAX - 1, &shard) || !text_has_prefix(text, between))
        return false;
    text += sizeof between - 1;
    if (!read_number(&text, SHARDS_MAX, &count) || shard >= count)
        return false;
    *part = (struct fence_part){(uint32_t)shard, (uint32_t)count};
    *end = text;
    return true;
}

void fence_name_print(const char *origin, struct fence_part part, char out[FENCE_NAME_MAX]) {
    char shard[FENCE_PART_MAX];
    fence_part_print(part, shard);
    snprintf(out, FENCE_NAME_MAX, FENCE_LEASE "%s%s%s", origin, part.count > 1 ? "." : "", part.count > 1 ? shard : "");
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

void fence_list_add(char list[FENCE_LIST_MAX], struct fence_part part) {
    size_t len = strlen(list);
    char text[FENCE_PART_MAX];
    struct fence_part other;
    for (const char *at = list; fence_list_next(&at, &other);)
        if (fence_part_equal(other, part))
            return;
    fence_part_print(part, text);
    if (len + strlen(text) + 2 <= FENCE_LIST_MAX)
        snprintf(list + len, FENCE_LIST_MAX - len, "%s%s", len > 0 ? " " : "", text);
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

void guard_record_print(const struct guard_record *record, char out[GUARD_RECORD_MAX]) {
    snprintf(out, GUARD_RECORD_MAX, "%llu %lld %lld", (unsigned long long)record->beat,
             (long long)(clock_later(record->wall_ns, 0) / CLOCK_MS), (long long)(record->after_ns / CLOCK_SECOND));
}

bool guard_record_add(char out[GUARD_RECORD_MAX], const struct guard_watched *watched) {
    size_t len = strlen(out);
    char part[FENCE_PART_MAX], text[64];
    fence_part_print(watched->part, part);
    int size = snprintf(text, sizeof text, " %s:%08x:%lld%s", part, (unsigned)watched->version,
                        (long long)(watched->age_ns / CLOCK_MS), watched->stops ? "!" : "");
    if (len + (size_t)size >= GUARD_RECORD_MAX)
        return false;
    text_copy(out + len, GUARD_RECORD_MAX - len, text);
    return true;
}

// A number, and after the number the character `end`, or the end of the text.
static bool read_field(const char **at, int64_t most, char end, int64_t *out) {
    if (!read_number(at, most, out) || (**at && **at != end))
        return false;
    *at += **at == end;
    return true;
}

bool guard_record_read(const struct json *annotation, struct guard_record *record) {
    const char *key = json_key(annotation), *identity = key + sizeof GUARD_RECORD - 1, *at = json_string(annotation);
    int64_t beat, wall_ms, after_s;
    if (!text_has_prefix(key, GUARD_RECORD) || !*identity || strlen(identity) >= GUARD_IDENTITY_MAX ||
        strpbrk(identity, " /\"\\") || !at || !read_field(&at, INT64_MAX - 1, ' ', &beat) ||
        !read_field(&at, INT64_MAX / CLOCK_MS, ' ', &wall_ms) || !read_field(&at, INT32_MAX, ' ', &after_s))
        return false;
    *record = (struct guard_record){(uint64_t)beat, wall_ms * CLOCK_MS, after_s * CLOCK_SECOND, identity, at};
    return true;
}

static bool read_watched(const char *at, struct guard_watched *watched) {
    char *end = NULL;
    int64_t age_ms;
    if (!fence_part_read(at, &watched->part, &at) || *at != ':')
        return false;
    watched->version = (uint32_t)strtoul(at + 1, &end, 16);
    at = end + 1;
    if (*end != ':' || !read_field(&at, INT32_MAX * INT64_C(1000), '!', &age_ms))
        return false;
    watched->stops = at[-1] == '!';
    watched->age_ns = age_ms * CLOCK_MS;
    return true;
}

bool guard_record_next(struct guard_record *record, struct guard_watched *watched) {
    while (*record->leases) {
        char text[64];
        size_t len = strcspn(record->leases, " ");
        text_copy(text, len < sizeof text ? len + 1 : sizeof text, record->leases);
        record->leases += len + strspn(record->leases + len, " ");
        if (read_watched(text, watched))
            return true;
    }
    return false;
}

uint32_t guard_record_version(const char *resource_version) {
    uint64_t hash = text_hash(TEXT_HASH, resource_version);
    return (uint32_t)(hash ^ hash >> 32);
}
