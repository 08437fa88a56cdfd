// SPDX-License-Identifier: Apache-2.0
#include "tests/world/meta.h"
#include "core/base/clock.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANNOTATIONS_MAX 262144

static const char suffix_letters[] = "bcdfghjklmnpqrstvwxz2456789"; // apimachinery util/rand

void meta_stamp_time(struct json *object, const char *key, int64_t now_ns) {
    char text[CLOCK_RFC3339_MAX];
    clock_rfc3339(now_ns, text);
    world_set_text(object, key, text);
}

static void make_uid(struct world_cluster *cluster, char out[37]) {
    struct random random = {cluster->options.seed ^ (++cluster->uids * UINT64_C(0x9E3779B97F4A7C15))};
    uint64_t a = random_next(&random), b = random_next(&random);
    snprintf(out, 37, "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, a >> 32,
             (a >> 16) & 0xffff, a & 0xfff, ((b >> 48) & 0x3fff) | 0x8000, b & UINT64_C(0xffffffffffff));
}

static void generate_name(struct op *op, struct json *metadata) {
    const char *base = json_string(json_get(metadata, "generateName"));
    if (!base || !*base || *json_string_or(json_get(metadata, "name"), ""))
        return;
    char suffix[6];
    for (size_t i = 0; i < 5; i++)
        suffix[i] = suffix_letters[random_below(&op->cluster->random, sizeof suffix_letters - 1)];
    suffix[5] = '\0';
    AUTO_TEXT name = text_format("%.58s%s", base, suffix);
    world_set_text(metadata, "name", name);
}

void meta_create(struct op *op, struct json *value) {
    struct json *metadata = world_json_child(value, "metadata");
    char uid[37];
    generate_name(op, metadata);
    op->name = json_string_or(json_get(metadata, "name"), "");
    if (op->kind->cluster_scoped)
        json_remove(metadata, "namespace");
    else
        world_set_text(metadata, "namespace", op->namespace_);
    make_uid(op->cluster, uid);
    world_set_text(metadata, "uid", uid);
    meta_stamp_time(metadata, "creationTimestamp", op->cluster->now_ns);
    json_remove(metadata, "resourceVersion");
    json_remove(metadata, "deletionTimestamp");
    json_remove(metadata, "deletionGracePeriodSeconds");
    json_remove(metadata, "managedFields");
    json_remove(metadata, "selfLink");
    json_remove(metadata, "generation");
    if (op->kind->has_generation)
        world_set_int(metadata, "generation", 1);
}

static bool name_characters(const char *text, size_t len) {
    if (len == 0 || len > 63 || !isalnum((unsigned char)text[0]) || !isalnum((unsigned char)text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    return true;
}

// apimachinery validation.IsQualifiedName
static bool is_qualified_name(const char *text) {
    const char *slash = strchr(text, '/');
    if (!slash)
        return name_characters(text, strlen(text));
    char domain[254];
    size_t len = (size_t)(slash - text);
    if (len >= sizeof domain)
        return false;
    memcpy(domain, text, len);
    domain[len] = '\0';
    return text_is_dns_subdomain(domain) && name_characters(slash + 1, strlen(slash + 1));
}

static void check_labels(const struct json *labels, struct field_problems *problems) {
    for (const struct json *label = json_first(labels); label; label = json_next(label)) {
        const char *value = json_string_or(label, "\n");
        if (!is_qualified_name(json_key(label))) {
            AUTO_JSON key = json_new_string(json_key(label));
            problem_invalid(problems, "metadata.labels", key, "name part must consist of alphanumeric characters");
        }
        if (*value && !name_characters(value, strlen(value)))
            problem_invalid(problems, "metadata.labels", label,
                            "a valid label must be an empty string or consist of alphanumeric characters");
    }
}

static void check_annotations(const struct json *annotations, struct field_problems *problems) {
    size_t total = 0;
    for (const struct json *note = json_first(annotations); note; note = json_next(note)) {
        char key[320];
        text_copy(key, sizeof key, json_key(note));
        for (char *c = key; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        if (!is_qualified_name(key)) {
            AUTO_JSON shown = json_new_string(json_key(note));
            problem_invalid(problems, "metadata.annotations", shown,
                            "name part must consist of alphanumeric characters");
        }
        total += strlen(json_key(note)) + strlen(json_string_or(note, ""));
    }
    if (total > ANNOTATIONS_MAX)
        problem_too_long(problems, "metadata.annotations", ANNOTATIONS_MAX);
}

static void check_owners(const struct json *owners, struct field_problems *problems) {
    size_t controllers = 0;
    for (const struct json *owner = json_first(owners); owner; owner = json_next(owner)) {
        static const char *const needed[] = {"apiVersion", "kind", "name", "uid"};
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
            if (!*json_string_or(json_get(owner, needed[i]), "")) {
                AUTO_TEXT field = text_format("metadata.ownerReferences.%s", needed[i]);
                problem_invalid(problems, field, json_get(owner, needed[i]), "must not be empty");
            }
        controllers += json_bool(json_get(owner, "controller"), false);
    }
    if (controllers > 1)
        problem_invalid(problems, "metadata.ownerReferences", owners,
                        "Only one reference can have Controller set to true");
}

void meta_check(const struct op *op, const struct json *value, struct field_problems *problems) {
    const struct json *metadata = json_get(value, "metadata"), *name = json_get(metadata, "name");
    const char *text = json_string_or(name, "");
    if (!*text)
        problem_required(problems, "metadata.name", "name or generateName is required");
    else if (op->kind->special == SPECIAL_NAMESPACE ? !text_is_dns_label(text) : !text_is_dns_subdomain(text))
        problem_invalid(
            problems, "metadata.name", name,
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character");
    check_labels(json_get(metadata, "labels"), problems);
    check_annotations(json_get(metadata, "annotations"), problems);
    check_owners(json_get(metadata, "ownerReferences"), problems);
}

// Fields that an update may leave out, and may not change (ValidateObjectMetaUpdate).
static void keep_immutable(struct json *metadata, const struct json *old, const char *key,
                           struct field_problems *problems) {
    struct json *now = json_get(metadata, key);
    const struct json *before = json_get(old, key);
    if (now && !json_is(now, JSON_NULL) && !json_equal(now, before)) {
        AUTO_TEXT field = text_format("metadata.%s", key);
        problem_invalid(problems, field, now, "field is immutable");
    }
    json_remove(metadata, key);
    if (before)
        world_json_set(metadata, key, world_json_copy(before));
}

static void keep(struct json *metadata, const struct json *old, const char *key) {
    json_remove(metadata, key);
    const struct json *before = json_get(old, key);
    if (before)
        world_json_set(metadata, key, world_json_copy(before));
}

// ValidateNoNewFinalizers
static void check_finalizers(const struct json *value, const struct json *old, struct field_problems *problems) {
    if (!meta_deleting(old))
        return;
    for (const struct json *item = json_first(json_path(value, "metadata", "finalizers", NULL)); item;
         item = json_next(item))
        if (!meta_has_finalizer(old, json_string_or(item, "")))
            problem_forbidden(problems, "metadata.finalizers",
                              "no new finalizers can be added if the object is being deleted");
}

void meta_update(const struct op *op, struct json *value, const struct json *old, struct field_problems *problems) {
    struct json *metadata = world_json_child(value, "metadata");
    const struct json *before = json_get(old, "metadata");
    static const char *const immutable[] = {"uid", "deletionTimestamp", "deletionGracePeriodSeconds"};
    for (size_t i = 0; i < sizeof immutable / sizeof *immutable; i++)
        keep_immutable(metadata, before, immutable[i], problems);
    keep(metadata, before, "generation");
    keep(metadata, before, "creationTimestamp");
    keep(metadata, before, "resourceVersion");
    keep(metadata, before, "managedFields");
    keep(metadata, before, "namespace");
    keep(metadata, before, "generateName");
    json_remove(metadata, "selfLink");
    if (json_size(json_get(metadata, "finalizers")) == 0)
        json_remove(metadata, "finalizers");
    if (json_size(json_get(metadata, "ownerReferences")) == 0)
        json_remove(metadata, "ownerReferences");
    check_finalizers(value, old, problems);
    meta_check(op, value, problems);
}

static struct json *find_finalizer(const struct json *value, const char *name) {
    struct json *item = json_first(json_path(value, "metadata", "finalizers", NULL));
    while (item && strcmp(json_string_or(item, ""), name) != 0)
        item = json_next(item);
    return item;
}

bool meta_has_finalizer(const struct json *value, const char *name) {
    return find_finalizer(value, name);
}

void meta_add_finalizer(struct json *value, const char *name) {
    struct json *metadata = world_json_child(value, "metadata");
    if (find_finalizer(value, name))
        return;
    if (!json_is(json_get(metadata, "finalizers"), JSON_ARRAY))
        world_json_set(metadata, "finalizers", json_new_array());
    if (!json_append(json_get(metadata, "finalizers"), json_new_string(name)))
        world_oom();
}

void meta_remove_finalizer(struct json *value, const char *name) {
    struct json *metadata = json_get(value, "metadata"), *list = json_get(metadata, "finalizers");
    struct json *item = find_finalizer(value, name);
    if (item)
        json_remove_child(list, item);
    if (list && json_size(list) == 0)
        json_remove(metadata, "finalizers");
}

bool meta_deleting(const struct json *value) {
    return json_is(json_path(value, "metadata", "deletionTimestamp", NULL), JSON_STRING);
}

static const char job_fields[] =
    "{\"f:metadata\":{\"f:labels\":{\".\":{}}},\"f:spec\":{\"f:backoffLimit\":{},\"f:template\":{\"f:spec\":{"
    "\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\".\":{},\"f:image\":{}}}}}}}";

static bool is_of_manager(const struct json *entry, const char *manager, const char *subresource) {
    return strcmp(json_string_or(json_get(entry, "manager"), ""), manager) == 0 &&
           strcmp(json_string_or(json_get(entry, "subresource"), ""), subresource) == 0;
}

// There is one entry for each manager and subresource: those of all others. *has_status: the former entry has the
// status.
static struct json *without_manager(const struct json *entries, const char *manager, const char *subresource,
                                    bool *has_status) {
    struct json *list = json_new_array();
    for (const struct json *e = json_first(entries); e && list; e = json_next(e))
        if (is_of_manager(e, manager, subresource))
            *has_status = *has_status || json_path(e, "fieldsV1", "f:status", NULL);
        else if (!json_append(list, json_copy(e)))
            world_oom();
    return list;
}

void meta_managed_fields(const struct op *op, struct json *value, const struct json *old) {
    if (!op->cluster->options.managed_fields)
        return;
    const char *manager = op->internal ? "kube-controller-manager" : op->manager ? op->manager : "client";
    struct json *metadata = json_get(value, "metadata"), *entry = json_new_object();
    const struct json *status = json_get(value, "status"), *before = json_get(old, "status");
    // Without a subresource the status is one of the object's fields.
    bool has_status = !op->kind->has_status && status && !(before && json_equal(status, before));
    struct json *list = without_manager(json_get(metadata, "managedFields"), manager, op->subresource, &has_status);
    struct json *fields = NULL;
    if (!entry || !list || json_parse(job_fields, sizeof job_fields - 1, &fields))
        world_oom();
    if (has_status)
        world_json_set(fields, "f:status", json_new_object());
    world_set_text(entry, "manager", manager);
    world_set_text(entry, "operation", "Update");
    AUTO_TEXT version = text_format("%s%s%s", op->kind->group, *op->kind->group ? "/" : "", op->version);
    world_set_text(entry, "apiVersion", version);
    meta_stamp_time(entry, "time", op->cluster->now_ns);
    world_set_text(entry, "fieldsType", "FieldsV1");
    world_json_set(entry, "fieldsV1", fields);
    if (*op->subresource)
        world_set_text(entry, "subresource", op->subresource);
    if (!json_append(list, entry))
        world_oom();
    world_json_set(metadata, "managedFields", list);
}
