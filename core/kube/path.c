// SPDX-License-Identifier: Apache-2.0
// Paths of the Kubernetes API: /api/v1/... for core, /apis/<group>/<version>/... for the rest.
#include "core/base/text.h"
#include "core/kube/types.h"

#include <string.h>

// What client-go's IsValidPathSegmentName takes: the server would read the rest as something else.
static bool is_segment(const char *text) {
    return text != NULL && text[0] != '\0' && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 &&
           strpbrk(text, "/%") == NULL;
}

static struct error *append(struct buffer *out, const char *what, const char *segment) {
    if (!is_segment(segment)) {
        return error_new(ERROR_INVALID, "%s \"%s\" cannot be part of a request path", what,
                         segment != NULL ? segment : "");
    }
    buffer_char(out, '/');
    text_percent_encode(out, segment);
    return NULL;
}

static struct error *append_version(const struct resource *resource, struct buffer *out) {
    if (resource->group[0] == '\0') {
        buffer_text(out, "/api");
        return append(out, "version", resource->version);
    }
    buffer_text(out, "/apis");
    struct error *error = append(out, "group", resource->group);
    return error != NULL ? error : append(out, "version", resource->version);
}

struct error *resource_path(const struct resource *resource, const char *namespace_, const char *name,
                            const char *subresource, struct buffer *out) {
    struct error *error = append_version(resource, out);
    if (error == NULL && !resource->cluster_scoped && namespace_ != NULL && namespace_[0] != '\0') {
        buffer_text(out, "/namespaces");
        error = append(out, "namespace", namespace_);
    }
    if (error == NULL) {
        error = append(out, "resource", resource->plural);
    }
    if (error == NULL && name != NULL) {
        error = append(out, "name", name);
    }
    if (error == NULL && subresource != NULL) {
        error = append(out, "subresource", subresource);
    }
    if (error == NULL && out->failed) {
        error = error_no_memory();
    }
    return error;
}
