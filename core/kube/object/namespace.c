// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

#include "core/base/sensitive.h"
#include "core/kube/object/span.h"

// The value of metadata.namespace in the text.
static bool find_namespace(const char *text, size_t len, struct span *out) {
    struct span metadata;
    if (!span_member(text, len, "metadata", &metadata) ||
        !span_member(text + metadata.value, metadata.end - metadata.value, "namespace", out))
        return false;
    out->value += metadata.value;
    out->end += metadata.value;
    return true;
}

char *object_text_in(const char *text, size_t len, const char *namespace_, size_t *out_len) {
    struct span at;
    bool found = find_namespace(text, len, &at);
    if (!found)
        at.value = at.end = len;
    size_t name_len = found ? strlen(namespace_) + 2 : 0, size = at.value + name_len + (len - at.end);
    char *out = malloc(size + 1);
    if (!out)
        return NULL;
    memcpy(out, text, at.value);
    if (found) {
        out[at.value] = out[at.value + name_len - 1] = '"';
        memcpy(out + at.value + 1, namespace_, name_len - 2);
    }
    memcpy(out + at.value + name_len, text + at.end, len - at.end);
    out[size] = '\0';
    *out_len = size;
    return out;
}

// The former text may have secrets.
bool object_move(struct object *object, const char *namespace_) {
    size_t len = 0;
    char *text = object_text_in(object->text, object->len, namespace_, &len);
    if (!text || !json_set(json_get(object->value, "metadata"), "namespace", json_new_string(namespace_))) {
        sensitive_free(text);
        return false;
    }
    sensitive_free(object->text);
    object->text = text;
    object->len = len;
    return true;
}
