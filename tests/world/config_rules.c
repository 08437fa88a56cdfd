// SPDX-License-Identifier: Apache-2.0
#include "tests/world/rules.h"
#include "tests/world/shape.h"

#include <stdio.h>
#include <string.h>

#define CONTENT_MAX (1 << 20)
#define KEY_MAX 253

static const struct shape config_map_shape[] = {{"apiVersion", SHAPE_STRING, false}, {"kind", SHAPE_STRING, false},
                                                {"metadata", SHAPE_OBJECT, false},   {"data", SHAPE_OBJECT, false},
                                                {"binaryData", SHAPE_OBJECT, false}, {"immutable", SHAPE_BOOL, false},
                                                {NULL, SHAPE_INT32, false}};

static const struct shape secret_shape[] = {{"apiVersion", SHAPE_STRING, false}, {"kind", SHAPE_STRING, false},
                                            {"metadata", SHAPE_OBJECT, false},   {"data", SHAPE_OBJECT, false},
                                            {"stringData", SHAPE_OBJECT, false}, {"immutable", SHAPE_BOOL, false},
                                            {"type", SHAPE_STRING, true},        {NULL, SHAPE_INT32, false}};

static const struct shape account_shape[] = {{"apiVersion", SHAPE_STRING, false},
                                             {"kind", SHAPE_STRING, false},
                                             {"metadata", SHAPE_OBJECT, false},
                                             {"secrets", SHAPE_ARRAY, true},
                                             {"imagePullSecrets", SHAPE_ARRAY, true},
                                             {"automountServiceAccountToken", SHAPE_BOOL, false},
                                             {NULL, SHAPE_INT32, false}};

static bool decode_bytes(const char *text, struct buffer *bytes) {
    struct error *error = text_base64_decode(text, bytes);
    bool fine = !error;
    error_free(error);
    return fine;
}

// map[string]string, or map[string][]byte with base64.
static bool decode_map(struct json *value, const char *name, bool bytes, char message[256]) {
    struct json *map = json_get(value, name);
    for (const struct json *member = json_first(map); member; member = json_next(member)) {
        const char *text = json_string(member);
        AUTO_BUFFER(content, CONTENT_MAX * 4);
        if (!text || (bytes && !decode_bytes(text, &content))) {
            snprintf(message, 256,
                     text ? "illegal base64 data in %s"
                          : "json: cannot unmarshal value into Go struct "
                            "field .%s of type string",
                     name);
            return false;
        }
    }
    if (map && json_size(map) == 0)
        json_remove(value, name);
    return true;
}

// What is written as stringData is read as data (Convert_v1_Secret_To_core_Secret).
static bool merge_strings(struct json *secret) {
    AUTO_JSON strings = json_detach(secret, "stringData");
    for (const struct json *member = json_first(strings); member; member = json_next(member)) {
        AUTO_BUFFER(text, CONTENT_MAX * 4);
        const char *given = json_string_or(member, "");
        if (!text_base64_encode(given, strlen(given), &text))
            return false;
        world_set_text(world_json_child(secret, "data"), json_key(member), text.data ? text.data : "");
    }
    return true;
}

bool config_decode(const struct kind *kind, struct json *value, char message[256]) {
    const struct shape *shape = kind->special == SPECIAL_CONFIGMAP ? config_map_shape
                                : kind->special == SPECIAL_SECRET  ? secret_shape
                                                                   : account_shape;
    if (!shape_apply(value, shape, kind->kind, message) ||
        !decode_map(value, "data", kind->special == SPECIAL_SECRET, message) ||
        !decode_map(value, "binaryData", true, message) || !decode_map(value, "stringData", false, message))
        return false;
    if (kind->special == SPECIAL_SECRET && !merge_strings(value))
        world_oom();
    if (kind->special == SPECIAL_SECRET && !json_get(value, "type"))
        world_set_text(value, "type", "Opaque");
    return true;
}

// apimachinery validation.IsConfigMapKey
static bool is_key(const char *key) {
    size_t len = strlen(key);
    return len > 0 && len <= KEY_MAX && strcmp(key, ".") != 0 && !text_has_prefix(key, "..") &&
           strspn(key, "-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == len;
}

static size_t check_map(const struct json *value, const char *name, bool bytes, struct field_problems *problems) {
    size_t total = 0;
    for (const struct json *member = json_first(json_get(value, name)); member; member = json_next(member)) {
        AUTO_TEXT field = text_format("%s[%s]", name, json_key(member));
        AUTO_JSON key = json_new_string(json_key(member));
        AUTO_BUFFER(content, CONTENT_MAX * 4);
        if (!is_key(json_key(member)))
            problem_invalid(problems, field, key, "a valid config key must consist of alphanumeric characters");
        if (strcmp(name, "data") == 0 && json_path(value, "binaryData", json_key(member), NULL))
            problem_invalid(problems, field, key, "duplicate of key present in binaryData");
        (void)(bytes && decode_bytes(json_string_or(member, ""), &content));
        total += bytes ? content.len : strlen(json_string_or(member, ""));
    }
    return total;
}

static void require(const struct json *secret, const char *key, struct field_problems *problems) {
    AUTO_TEXT field = text_format("data[%s]", key);
    if (!json_path(secret, "data", key, NULL))
        problem_required(problems, field, "");
}

static void check_docker(const struct json *secret, const char *key, struct field_problems *problems) {
    AUTO_TEXT field = text_format("data[%s]", key);
    const char *text = json_string(json_path(secret, "data", key, NULL));
    AUTO_BUFFER(content, CONTENT_MAX * 4);
    AUTO_JSON parsed = NULL;
    if (!text) {
        problem_required(problems, field, "");
        return;
    }
    (void)decode_bytes(text, &content);
    error_free(json_parse(content.data ? content.data : "", content.len, &parsed));
    if (!json_is(parsed, JSON_OBJECT))
        problem_invalid(problems, field, NULL, "<secret contents redacted>: invalid character");
}

static void check_type(const struct json *secret, struct field_problems *problems) {
    const char *type = json_string_or(json_get(secret, "type"), "");
    const char *account =
        json_string(json_path(secret, "metadata", "annotations", "kubernetes.io/service-account.name", NULL));
    if (strcmp(type, "kubernetes.io/service-account-token") == 0 && (!account || !*account))
        problem_required(problems, "metadata.annotations[kubernetes.io/service-account.name]", "");
    else if (strcmp(type, "kubernetes.io/dockercfg") == 0)
        check_docker(secret, ".dockercfg", problems);
    else if (strcmp(type, "kubernetes.io/dockerconfigjson") == 0)
        check_docker(secret, ".dockerconfigjson", problems);
    else if (strcmp(type, "kubernetes.io/ssh-auth") == 0)
        require(secret, "ssh-privatekey", problems);
    else if (strcmp(type, "kubernetes.io/basic-auth") == 0 && !json_path(secret, "data", "username", NULL) &&
             !json_path(secret, "data", "password", NULL)) {
        require(secret, "username", problems);
        require(secret, "password", problems);
    } else if (strcmp(type, "kubernetes.io/tls") == 0) {
        require(secret, "tls.crt", problems);
        require(secret, "tls.key", problems);
    }
}

static void check_immutable(const struct json *value, const struct json *old, struct field_problems *problems) {
    static const char *const maps[] = {"data", "binaryData"};
    static const char detail[] = "field is immutable when `immutable` is set";
    if (!json_bool(json_get(old, "immutable"), false))
        return;
    if (!json_bool(json_get(value, "immutable"), false))
        problem_forbidden(problems, "immutable", detail);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (!json_equal(json_get(value, maps[i]), json_get(old, maps[i])))
            problem_forbidden(problems, maps[i], detail);
}

void config_check(const struct kind *kind, struct json *value, const struct json *old,
                  struct field_problems *problems) {
    bool secret = kind->special == SPECIAL_SECRET;
    if (old && secret && !json_equal(json_get(value, "type"), json_get(old, "type")))
        problem_invalid(problems, "type", json_get(value, "type"), "field is immutable");
    check_immutable(value, old, problems);
    size_t total = check_map(value, "data", secret, problems) + check_map(value, "binaryData", true, problems);
    if (total > CONTENT_MAX)
        problem_too_long(problems, secret ? "data" : "[]", CONTENT_MAX);
    if (secret)
        check_type(value, problems);
}
