// SPDX-License-Identifier: Apache-2.0
#include "tests/world/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// {"metadata":{"resourceVersion":" always comes first, so that another version can be put in without parsing.
static const char prefix[] = "{\"metadata\":{\"resourceVersion\":\"";

static bool print_member(struct buffer *out, const struct json *member) {
    const char *key = json_key(member);
    return buffer_char(out, ',') && buffer_json_string(out, key, strlen(key)) && buffer_char(out, ':') &&
           json_print(member, out);
}

static bool print_metadata(struct buffer *out, const struct json *metadata, uint64_t version) {
    buffer_printf(out, "%s%" PRIu64 "\"", prefix, version);
    for (const struct json *member = json_first(metadata); member; member = json_next(member))
        if (strcmp(json_key(member), "resourceVersion") != 0)
            print_member(out, member);
    return buffer_char(out, '}');
}

static bool print_rest(struct buffer *out, const struct json *value, const struct blob *same_spec, struct blob *marks) {
    for (const struct json *member = json_first(value); member; member = json_next(member)) {
        const char *key = json_key(member);
        if (strcmp(key, "metadata") == 0)
            continue;
        if (strcmp(key, "spec") != 0) {
            print_member(out, member);
            continue;
        }
        buffer_text(out, ",\"spec\":");
        marks->spec_at = out->len;
        if (same_spec && same_spec->spec_at)
            buffer_append(out, same_spec->text + same_spec->spec_at, same_spec->spec_len);
        else
            json_print(member, out);
        marks->spec_len = out->len - marks->spec_at;
    }
    return buffer_char(out, '}');
}

static void print_labels(struct buffer *out, const struct json *labels) {
    for (const struct json *label = json_first(labels); label; label = json_next(label)) {
        const char *key = json_key(label), *value = json_string_or(label, "");
        buffer_append(out, key, strlen(key) + 1);
        buffer_append(out, value, strlen(value) + 1);
    }
    buffer_append(out, "", 1);
}

struct blob *world_blob_new(struct world_cluster *cluster, const struct stored *object, const struct blob *same_spec) {
    struct buffer *out = &cluster->scratch;
    struct blob marks = {0};
    const struct json *metadata = json_get(object->value, "metadata");
    buffer_reset(out);
    print_metadata(out, metadata, cluster->version);
    print_rest(out, object->value, same_spec, &marks);
    size_t len = out->len;
    buffer_append(out, "", 1);
    buffer_append(out, object->key, strlen(object->key) + 1);
    size_t labels_at = out->len;
    print_labels(out, json_get(metadata, "labels"));
    if (out->failed)
        world_oom();
    struct blob *blob = malloc(sizeof *blob + out->len);
    if (!blob)
        world_oom();
    *blob = (struct blob){.refs = 1, .version = cluster->version, .len = len};
    blob->spec_at = marks.spec_at;
    blob->spec_len = marks.spec_len;
    memcpy(blob->text, out->data, out->len);
    blob->key = blob->text + len + 1;
    blob->namespace_len = strlen(object->namespace_);
    blob->labels = blob->text + labels_at;
    return blob;
}

static size_t labels_size(const char *labels) {
    size_t size = 0;
    while (labels[size])
        size += strlen(labels + size) + 1;
    return size + 1;
}

struct blob *world_blob_stamp(const struct blob *from, uint64_t version) {
    char text[32];
    size_t digits = (size_t)snprintf(text, sizeof text, "%" PRIu64, version);
    size_t at = sizeof prefix - 1;
    size_t old_digits = strspn(from->text + at, "0123456789");
    size_t tail = (size_t)(from->labels - from->text) + labels_size(from->labels) - at - old_digits;
    struct blob *blob = malloc(sizeof *blob + at + digits + tail);
    if (!blob)
        world_oom();
    *blob = (struct blob){.refs = 1, .version = version, .namespace_len = from->namespace_len};
    memcpy(blob->text, from->text, at);
    memcpy(blob->text + at, text, digits);
    memcpy(blob->text + at + digits, from->text + at + old_digits, tail);
    blob->len = from->len - old_digits + digits;
    blob->spec_at = from->spec_at ? from->spec_at - old_digits + digits : 0;
    blob->spec_len = from->spec_len;
    blob->key = blob->text + blob->len + 1;
    blob->labels = blob->text + (size_t)(from->labels - from->text) - old_digits + digits;
    return blob;
}

struct blob *world_blob_ref(struct blob *blob) {
    if (blob)
        blob->refs++;
    return blob;
}

void world_blob_unref(struct blob *blob) {
    if (blob && --blob->refs == 0)
        free(blob);
}

void world_blob_print(const struct blob *blob, const struct kind *kind, const char *version, struct buffer *out) {
    buffer_text(out, "{\"kind\":\"");
    buffer_text(out, kind->kind);
    buffer_text(out, "\",\"apiVersion\":\"");
    if (*kind->group) {
        buffer_text(out, kind->group);
        buffer_char(out, '/');
    }
    buffer_text(out, version);
    buffer_text(out, "\",");
    buffer_append(out, blob->text + 1, blob->len - 1);
}
