// SPDX-License-Identifier: Apache-2.0
#include "tests/world/protobuf.h"
#include "tests/world/model.h"

#include <stdio.h>
#include <string.h>

enum type { TEXT, NUMBER, BOOLEAN, TEXTS, MAP, MESSAGE, MESSAGES };

// A field of a message, as in the generated.proto of k8s.io/api and k8s.io/apimachinery.
struct field {
    unsigned number; // 0 ends a list
    enum type type;
    const char *name;
    const struct field *message;
};

static const struct field owner[] = {
    {1, TEXT, "kind", NULL},       {3, TEXT, "name", NULL},          {4, TEXT, "uid", NULL},
    {5, TEXT, "apiVersion", NULL}, {6, BOOLEAN, "controller", NULL}, {7, BOOLEAN, "blockOwnerDeletion", NULL},
    {0, TEXT, NULL, NULL}};
static const struct field metadata[] = {{1, TEXT, "name", NULL},         {2, TEXT, "generateName", NULL},
                                        {3, TEXT, "namespace", NULL},    {4, TEXT, "selfLink", NULL},
                                        {5, TEXT, "uid", NULL},          {6, TEXT, "resourceVersion", NULL},
                                        {7, NUMBER, "generation", NULL}, {11, MAP, "labels", NULL},
                                        {12, MAP, "annotations", NULL},  {13, MESSAGES, "ownerReferences", owner},
                                        {14, TEXTS, "finalizers", NULL}, {0, TEXT, NULL, NULL}};
static const struct field env[] = {{1, TEXT, "name", NULL}, {2, TEXT, "value", NULL}, {0, TEXT, NULL, NULL}};
static const struct field container[] = {{1, TEXT, "name", NULL},
                                         {2, TEXT, "image", NULL},
                                         {3, TEXTS, "command", NULL},
                                         {4, TEXTS, "args", NULL},
                                         {5, TEXT, "workingDir", NULL},
                                         {7, MESSAGES, "env", env},
                                         {13, TEXT, "terminationMessagePath", NULL},
                                         {14, TEXT, "imagePullPolicy", NULL},
                                         {16, BOOLEAN, "stdin", NULL},
                                         {17, BOOLEAN, "stdinOnce", NULL},
                                         {18, BOOLEAN, "tty", NULL},
                                         {20, TEXT, "terminationMessagePolicy", NULL},
                                         {0, TEXT, NULL, NULL}};
static const struct field pod_spec[] = {{2, MESSAGES, "containers", container},
                                        {3, TEXT, "restartPolicy", NULL},
                                        {4, NUMBER, "terminationGracePeriodSeconds", NULL},
                                        {5, NUMBER, "activeDeadlineSeconds", NULL},
                                        {6, TEXT, "dnsPolicy", NULL},
                                        {7, MAP, "nodeSelector", NULL},
                                        {8, TEXT, "serviceAccountName", NULL},
                                        {9, TEXT, "serviceAccount", NULL},
                                        {10, TEXT, "nodeName", NULL},
                                        {11, BOOLEAN, "hostNetwork", NULL},
                                        {12, BOOLEAN, "hostPID", NULL},
                                        {13, BOOLEAN, "hostIPC", NULL},
                                        {16, TEXT, "hostname", NULL},
                                        {17, TEXT, "subdomain", NULL},
                                        {19, TEXT, "schedulerName", NULL},
                                        {20, MESSAGES, "initContainers", container},
                                        {24, TEXT, "priorityClassName", NULL},
                                        {0, TEXT, NULL, NULL}};
static const struct field template[] = {
    {1, MESSAGE, "metadata", metadata}, {2, MESSAGE, "spec", pod_spec}, {0, TEXT, NULL, NULL}};
static const struct field selector[] = {{1, MAP, "matchLabels", NULL}, {0, TEXT, NULL, NULL}};
static const struct field job_spec[] = {{1, NUMBER, "parallelism", NULL},
                                        {2, NUMBER, "completions", NULL},
                                        {3, NUMBER, "activeDeadlineSeconds", NULL},
                                        {4, MESSAGE, "selector", selector},
                                        {5, BOOLEAN, "manualSelector", NULL},
                                        {6, MESSAGE, "template", template},
                                        {7, NUMBER, "backoffLimit", NULL},
                                        {8, NUMBER, "ttlSecondsAfterFinished", NULL},
                                        {9, TEXT, "completionMode", NULL},
                                        {10, BOOLEAN, "suspend", NULL},
                                        {12, NUMBER, "backoffLimitPerIndex", NULL},
                                        {13, NUMBER, "maxFailedIndexes", NULL},
                                        {14, TEXT, "podReplacementPolicy", NULL},
                                        {15, TEXT, "managedBy", NULL},
                                        {0, TEXT, NULL, NULL}};
static const struct field job[] = {
    {1, MESSAGE, "metadata", metadata}, {2, MESSAGE, "spec", job_spec}, {0, TEXT, NULL, NULL}};
static const struct field cronjob_spec[] = {{1, TEXT, "schedule", NULL},
                                            {2, NUMBER, "startingDeadlineSeconds", NULL},
                                            {3, TEXT, "concurrencyPolicy", NULL},
                                            {4, BOOLEAN, "suspend", NULL},
                                            {5, MESSAGE, "jobTemplate", job},
                                            {6, NUMBER, "successfulJobsHistoryLimit", NULL},
                                            {7, NUMBER, "failedJobsHistoryLimit", NULL},
                                            {8, TEXT, "timeZone", NULL},
                                            {0, TEXT, NULL, NULL}};
static const struct field cronjob[] = {
    {1, MESSAGE, "metadata", metadata}, {2, MESSAGE, "spec", cronjob_spec}, {0, TEXT, NULL, NULL}};
static const struct field namespace_spec[] = {{1, TEXTS, "finalizers", NULL}, {0, TEXT, NULL, NULL}};
static const struct field namespace_[] = {
    {1, MESSAGE, "metadata", metadata}, {2, MESSAGE, "spec", namespace_spec}, {0, TEXT, NULL, NULL}};
static const struct field attributes[] = {
    {1, TEXT, "namespace", NULL}, {2, TEXT, "verb", NULL},        {3, TEXT, "group", NULL}, {4, TEXT, "version", NULL},
    {5, TEXT, "resource", NULL},  {6, TEXT, "subresource", NULL}, {7, TEXT, "name", NULL},  {0, TEXT, NULL, NULL}};
static const struct field review_spec[] = {{1, MESSAGE, "resourceAttributes", attributes}, {0, TEXT, NULL, NULL}};
static const struct field review[] = {
    {1, MESSAGE, "metadata", metadata}, {2, MESSAGE, "spec", review_spec}, {0, TEXT, NULL, NULL}};
static const struct {
    const char *kind;
    const struct field *message;
} known[] = {{"Job", job}, {"CronJob", cronjob}, {"Namespace", namespace_}, {"SelfSubjectAccessReview", review}};

struct reader {
    const unsigned char *at, *end;
    char *message; // the first error; "" if none
};

static bool wrong(struct reader *reader, const char *what) {
    if (!*reader->message)
        snprintf(reader->message, 256, "protobuf: %.200s", what);
    reader->at = reader->end;
    return false;
}

static uint64_t read_varint(struct reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        unsigned char byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return value;
    }
    wrong(reader, "a number has no end");
    return 0;
}

static struct reader read_bytes(struct reader *reader) {
    uint64_t len = read_varint(reader);
    struct reader inner = {.at = reader->at, .message = reader->message};
    if (len > (uint64_t)(reader->end - reader->at)) {
        wrong(reader, "a field is longer than what contains it");
        len = 0;
        inner.at = reader->end;
    }
    reader->at = inner.end = inner.at + len;
    return inner;
}

static struct json *text_of(struct reader *reader, const struct reader *bytes) {
    struct json *text = json_new_string_len((const char *)bytes->at, (size_t)(bytes->end - bytes->at));
    if (!text)
        wrong(reader, "a text is not UTF-8");
    return text;
}

static void append(struct json *object, const char *name, struct json *item) {
    if (!json_get(object, name))
        world_json_set(object, name, json_new_array());
    if (item && !json_append(json_get(object, name), item))
        world_oom();
}

// An entry of a map is a message of key and value.
static void add_entry(struct reader *reader, struct reader entry, struct json *map) {
    char key[512] = "";
    struct json *value = json_new_string("");
    while (entry.at < entry.end && !*reader->message) {
        uint64_t tag = read_varint(&entry);
        struct reader bytes = read_bytes(&entry);
        if (tag == (1U << 3 | 2)) {
            snprintf(key, sizeof key, "%.*s", (int)(bytes.end - bytes.at), (const char *)bytes.at);
        } else {
            json_free(value);
            value = text_of(reader, &bytes);
        }
    }
    bool readable = text_utf8_valid(key, strlen(key)) == strlen(key);
    if (!readable)
        wrong(reader, "the key of an entry is not UTF-8, or too long");
    if (value && readable)
        world_json_set(map, key, value);
    else
        json_free(value);
}

static struct json *read_message(struct reader reader, const struct field *fields);

static void add_bytes(struct reader *reader, const struct field *field, struct reader bytes, struct json *object) {
    bool empty = bytes.at == bytes.end;
    if (field->type == MESSAGE)
        world_json_set(object, field->name, read_message(bytes, field->message));
    else if (field->type == MESSAGES)
        append(object, field->name, read_message(bytes, field->message));
    else if (field->type == MAP)
        add_entry(reader, bytes, world_json_child(object, field->name));
    else if (field->type == TEXTS)
        append(object, field->name, text_of(reader, &bytes));
    else if (!empty && field->type == TEXT) {
        struct json *text = text_of(reader, &bytes);
        if (text)
            world_json_set(object, field->name, text);
    } else if (!empty) {
        wrong(reader, field->name);
    }
}

static void read_field(struct reader *reader, const struct field *fields, struct json *object) {
    uint64_t tag = read_varint(reader);
    const struct field *field = fields;
    while (field->number && field->number != tag >> 3)
        field++;
    if ((tag & 7) == 0) {
        uint64_t value = read_varint(reader);
        if (field->number && field->type == BOOLEAN)
            world_json_set(object, field->name, json_new_bool(value != 0));
        else if (field->number && field->type == NUMBER)
            world_set_int(object, field->name, (int64_t)value);
        else if (value != 0)
            wrong(reader, "found a number that is not known here; send JSON");
        return;
    }
    if ((tag & 7) != 2) {
        wrong(reader, "found a field of an unexpected type");
        return;
    }
    struct reader bytes = read_bytes(reader);
    if (field->number)
        add_bytes(reader, field, bytes, object);
    else if (bytes.at < bytes.end && fields != job && fields != cronjob && fields != namespace_ && fields != review)
        wrong(reader, "found a field that is not known here; send JSON");
}

static struct json *read_message(struct reader reader, const struct field *fields) {
    struct json *object = json_new_object();
    if (!object)
        world_oom();
    while (reader.at < reader.end && !*reader.message)
        read_field(&reader, fields, object);
    return object;
}

static const struct field type_fields[] = {
    {1, TEXT, "apiVersion", NULL}, {2, TEXT, "kind", NULL}, {0, TEXT, NULL, NULL}};

struct json *protobuf_read(const char *data, size_t len, char message[256]) {
    static const char magic[4] = "k8s";
    struct reader reader = {.at = (const unsigned char *)data + sizeof magic, .message = message};
    struct reader raw = {.message = message};
    AUTO_JSON type = NULL;
    *message = '\0';
    reader.end = (const unsigned char *)data + len;
    if (len < sizeof magic || memcmp(data, magic, sizeof magic) != 0) {
        wrong(&raw, "found no k8s object");
        return NULL;
    }
    while (reader.at < reader.end && !*message) { // runtime.Unknown
        uint64_t tag = read_varint(&reader);
        struct reader bytes = read_bytes(&reader);
        if (tag >> 3 == 1) {
            json_free(type);
            type = read_message(bytes, type_fields);
        } else if (tag >> 3 == 2) {
            raw = bytes;
        }
    }
    const char *kind = json_string_or(json_get(type, "kind"), "");
    for (size_t i = 0; i < sizeof known / sizeof *known && !*message; i++)
        if (strcmp(known[i].kind, kind) == 0) {
            struct json *object = read_message(raw, known[i].message);
            world_set_text(object, "apiVersion", json_string_or(json_get(type, "apiVersion"), ""));
            world_set_text(object, "kind", kind);
            if (!*message)
                return object;
            json_free(object);
        }
    if (!*message)
        wrong(&raw, "found a kind that is not known here; send JSON");
    return NULL;
}
