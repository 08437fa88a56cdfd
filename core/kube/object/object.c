// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

#include "core/json/writer.h"
#include "core/kube/object/span.h"

#define STUB_VALUE_MAX ((size_t)4 << 10) // bytes of the text of a value in a stub
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

static const struct json *metadata_of(const struct json *value) {
    return json_get(value, "metadata");
}

static const char *metadata_text(const struct json *value, const char *key) {
    return json_string_or(json_get(metadata_of(value), key), "");
}

static struct error *missing(const struct json *value, const char *field) {
    const char *name = object_name(value);
    if (name[0] == '\0')
        return error_new(ERROR_INVALID, "an object without %s", field);
    return error_new(ERROR_INVALID, "object %s/%s has no %s", object_namespace(value), name, field);
}

static struct error *check(const struct json *value) {
    if (!json_is(value, JSON_OBJECT))
        return error_new(ERROR_INVALID, "not a JSON object");
    if (!json_is(metadata_of(value), JSON_OBJECT))
        return missing(value, "metadata");
    static const char *const required[] = {"name", "uid", "resourceVersion"};
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
        if (metadata_text(value, required[i])[0] == '\0')
            return missing(value, required[i]);
    return NULL;
}

// True if something was stripped.
static bool strip(struct json *value) {
    struct json *metadata = json_get(value, "metadata");
    bool stripped = json_remove(metadata, "managedFields");
    struct json *annotations = json_get(metadata, "annotations");
    if (json_remove(annotations, LAST_APPLIED)) {
        stripped = true;
        if (json_size(annotations) == 0)
            json_remove(metadata, "annotations");
    }
    return stripped;
}

static bool lacks(const struct json *value, const char *key, const char *text) {
    return text && json_string_or(json_get(value, key), "")[0] == '\0';
}

static bool fill_in(struct json *value, const char *key, const char *text) {
    return !lacks(value, key, text) || json_set(value, key, json_new_string(text));
}

// Takes `text`, the source of `value`; NULL: prints the value.
static struct error *make(struct json *value, char *text, size_t len, const struct object_limits *limits,
                          struct object **out) {
    AUTO_JSON taken = value;
    AUTO_TEXT kept = text;
    TRY(check(taken));
    bool changed =
        strip(taken) || lacks(taken, "apiVersion", limits->api_version) || lacks(taken, "kind", limits->kind);
    if (!fill_in(taken, "apiVersion", limits->api_version) || !fill_in(taken, "kind", limits->kind))
        return error_no_memory();
    // The text is long-lived, the parsed value is not. Allocated last, texts are adjacent and the memory of freed
    // values is reused.
    struct object *object = calloc(1, sizeof(*object));
    AUTO_TEXT own = changed || !kept ? json_text(taken, &len) : strndup(kept, len);
    if (!object || !own) {
        free(object);
        return error_no_memory();
    }
    *object = (struct object){
        .value = TAKE(taken), .text = TAKE(own), .len = len, .size = len, .sensitive = sensitive_section};
    *out = object;
    return NULL;
}

struct error *object_new(struct json *value, const char *api_version, const char *kind, struct object **out) {
    return make(value, NULL, 0, &(const struct object_limits){.api_version = api_version, .kind = kind}, out);
}

// Takes ownership of the text if kept.
static struct error *parse(char **stripped, size_t len, const struct object_limits *limits,
                           const struct json_limits *bounds, struct object **out) {
    struct json *value = NULL;
    TRY(error_wrap(json_parse_limited(*stripped, len, bounds, &value), "invalid JSON"));
    return make(value, TAKE(*stripped), len, limits, out);
}

static char *strip_text(const char *text, size_t len, size_t *stripped) {
    while (len > 0 && scan_is_space(text[len - 1])) // watches and answers end with a newline
        len--;
    return span_strip(text, len, stripped);
}

struct error *object_parse(const char *text, size_t len, const char *api_version, const char *kind,
                           struct object **out) {
    const struct object_limits limits = {.api_version = api_version, .kind = kind};
    AUTO_TEXT stripped = strip_text(text, len, &len);
    return stripped ? parse(&stripped, len, &limits, NULL, out) : error_no_memory();
}

// NOLINTBEGIN(bugprone-suspicious-missing-comma): two prefixes of keys
const char *const object_stub_fields[] = {"/apiVersion",
                                          "/kind",
                                          "/metadata/name",
                                          "/metadata/namespace",
                                          "/metadata/uid",
                                          "/metadata/resourceVersion",
                                          "/metadata/generation",
                                          "/metadata/deletionTimestamp",
                                          "/metadata/ownerReferences",
                                          "/metadata/labels/" OBJECT_OWN_PREFIX,
                                          "/metadata/annotations/" OBJECT_OWN_PREFIX,
                                          NULL};
// NOLINTEND(bugprone-suspicious-missing-comma)

static struct error *make_stub(const char *text, size_t len, const struct object_limits *limits, const char *why,
                               struct object **out) {
    AUTO_TEXT reason = why ? strdup(why) : NULL;
    AUTO_TEXT stub = prune_text(text, len, object_stub_fields, limits->kept, STUB_VALUE_MAX, &len);
    if (!reason || !stub)
        return reason ? error_new(ERROR_INVALID, "invalid JSON") : error_no_memory();
    TRY(parse(&stub, len, limits, NULL, out));
    if (*out)
        (*out)->too_large = TAKE(reason);
    return NULL;
}

struct error *object_stub(const char *text, size_t len, const char *api_version, const char *kind,
                          const char *const *kept, const char *why, struct object **out) {
    const struct object_limits limits = {.api_version = api_version, .kind = kind, .kept = kept};
    return make_stub(text, len, &limits, why, out);
}

static struct error *parse_bounded(const char *text, size_t len, const struct object_limits *limits,
                                   struct object **out) {
    const struct budget *budget = budget_or_default(limits->budget);
    AUTO_TEXT pruned = limits->only ? prune_text(text, len, limits->only, NULL, 0, &len)
                                    : NULL; // malformed: parsing returns the reason
    AUTO_TEXT stripped = strip_text(pruned ? pruned : text, len, &len);
    if (!stripped)
        return error_no_memory();
    if (len > budget->max_object_size) {
        AUTO_TEXT why = text_format("it has %zu bytes, and maxObjectSize is %zu", len, budget->max_object_size);
        return make_stub(stripped, len, limits, why, out);
    }
    const struct json_limits bounds = {.max_nodes = budget->max_object_nodes, .stop = budget->stop};
    struct error *error = parse(&stripped, len, limits, &bounds, out);
    if (!error && (error = status_limit(*out, budget->max_status_size))) {
        object_free(*out);
        *out = NULL;
    }
    if (!error || error->code != ERROR_TOO_LARGE)
        return error;
    error_free(error);
    AUTO_TEXT why = text_format("it has more than %zu JSON values, which is maxObjectNodes", bounds.max_nodes);
    return make_stub(stripped, len, limits, why, out);
}

struct error *object_parse_bounded(const char *text, size_t len, const struct object_limits *limits,
                                   struct object **out) {
    TRY(parse_bounded(text, len, limits, out));
    if (*out)
        (*out)->size = len;
    return NULL;
}

// In blocks of a fixed size, which compilers make vector instructions of.
#define COUNTED 64

static size_t count_marks(const char *text, size_t len) {
    size_t count = 0, at = 0;
    for (; len - at >= COUNTED; at += COUNTED) {
        unsigned char block = 0;
        for (size_t i = 0; i < COUNTED; i++) {
            char c = text[at + i];
            block = (unsigned char)(block + ((c == ',') | (c == '{') | (c == '[')));
        }
        count += block;
    }
    for (; at < len; at++)
        count += text[at] == ',' || text[at] == '{' || text[at] == '[';
    return count;
}

// Most values come with a comma or a bracket and take about 64 bytes; names and strings are stored twice.
size_t object_text_cost(const char *text, size_t len) {
    return (count_marks(text, len) + 1) * 64 + 2 * len;
}

size_t object_cost(const struct object *object) {
    return object_text_cost(object->text, object->len);
}

void object_free(struct object *object) {
    if (!object)
        return;
    json_free(object->value);
    (object->sensitive ? sensitive_free : free)(object->text);
    free(object->too_large);
    free(object->reduced);
    free(object);
}

const char *object_name(const struct json *value) {
    return metadata_text(value, "name");
}

const char *object_namespace(const struct json *value) {
    return metadata_text(value, "namespace");
}

const char *object_uid(const struct json *value) {
    return metadata_text(value, "uid");
}

const char *object_version(const struct json *value) {
    return metadata_text(value, "resourceVersion");
}

int64_t object_generation(const struct json *value) {
    return json_int64(json_get(metadata_of(value), "generation"), 0);
}

const char *object_label(const struct json *value, const char *key) {
    return json_string(json_get(json_get(metadata_of(value), "labels"), key));
}

const char *object_annotation(const struct json *value, const char *key) {
    return json_string(json_get(json_get(metadata_of(value), "annotations"), key));
}

bool object_kind_is_list(const char *kind, size_t *item_kind_len) {
    if (!text_has_suffix(kind, "List"))
        return false;
    *item_kind_len = strlen(kind) - strlen("List");
    return true;
}

bool object_is_list(const struct json *value) {
    size_t len;
    const struct json *items = json_get(value, "items");
    return object_kind_is_list(json_string_or(json_get(value, "kind"), ""), &len) &&
           (json_is(items, JSON_ARRAY) || json_is(items, JSON_NULL));
}

// Only presence matters: the time may be in the future (metav1.ObjectMeta.deletionTimestamp). Old servers write null if
// unset.
bool object_is_being_deleted(const struct json *value) {
    return json_is(json_get(metadata_of(value), "deletionTimestamp"), JSON_STRING);
}

const struct json *object_controller(const struct json *value) {
    const struct json *owners = json_get(metadata_of(value), "ownerReferences");
    if (!json_is(owners, JSON_ARRAY))
        return NULL;
    for (const struct json *owner = json_first(owners); owner; owner = json_next(owner))
        if (json_bool(json_get(owner, "controller"), false))
            return owner;
    return NULL;
}

// The format of apimachinery's resourceversion: decimal digits without a leading 0.
static bool is_decimal(const char *version) {
    return version[0] >= '1' && version[0] <= '9' && version[strspn(version, "0123456789")] == '\0';
}

int object_version_compare(const char *a, const char *b, bool *comparable) {
    int order = strcmp(a, b);
    *comparable = order == 0 || (is_decimal(a) && is_decimal(b));
    if (order == 0 || !*comparable)
        return 0;
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return order < 0 ? -1 : 1;
}

bool object_version_is_older(const char *a, const char *b) {
    bool comparable;
    return object_version_compare(a, b, &comparable) < 0;
}

// The shares of all memory of a cluster.
#define SHARES(all)                                                                                                    \
    .max_answer = (all) / 4, .max_frame = (all) / 8, .max_buffered = (all) / 2, .max_queued = (all) / 8,               \
    .max_kept = (all) / 4

static const struct budget defaults = {
    .max_object_size = BUDGET_OBJECT_SIZE, .max_object_nodes = BUDGET_OBJECT_NODES, SHARES(BUDGET_DEFAULT)};

void budget_init(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes,
                 const atomic_bool *stop) {
    *budget = (struct budget){.max_object_size = max_object_size > 0 ? max_object_size : BUDGET_OBJECT_SIZE,
                              .max_object_nodes = max_object_nodes > 0 ? max_object_nodes : BUDGET_OBJECT_NODES,
                              SHARES(per_cluster > 0 ? per_cluster : BUDGET_DEFAULT),
                              .stop = stop};
}

void budget_resize(struct budget *budget, size_t per_cluster, size_t max_object_size, size_t max_object_nodes) {
    size_t buffered = budget->buffered, kept = budget->kept;
    budget_init(budget, per_cluster, max_object_size, max_object_nodes, budget->stop);
    budget->buffered = buffered;
    budget->kept = kept;
}

const struct budget *budget_or_default(const struct budget *budget) {
    return budget ? budget : &defaults;
}

bool budget_take(struct budget *budget, size_t bytes) {
    if (!budget)
        return true;
    if (budget->buffered > budget->max_buffered || bytes > budget->max_buffered - budget->buffered)
        return false;
    budget->buffered += bytes;
    return true;
}

void budget_give(struct budget *budget, size_t bytes) {
    if (budget)
        budget->buffered -= bytes < budget->buffered ? bytes : budget->buffered;
}

bool budget_keep(struct budget *budget, size_t before, size_t bytes) {
    if (!budget)
        return true;
    size_t others = budget->kept - size_least(before, budget->kept);
    if (bytes > before && (others > budget->max_kept || bytes > budget->max_kept - others))
        return false;
    budget->kept = others + bytes;
    return true;
}
