// SPDX-License-Identifier: Apache-2.0
// Paths of the Kubernetes API: /api/v1/... for core, /apis/<group>/<version>/... for the rest.
#include "core/base/text.h"
#include "core/kube/client/types.h"

#include <string.h>

// As client-go's IsValidPathSegmentName: anything else would change the meaning of the path.
static bool is_segment(const char *text) {
    return text && text[0] != '\0' && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && !strpbrk(text, "/%");
}

static struct error *append(struct buffer *out, const char *what, const char *segment) {
    if (!is_segment(segment))
        return error_new(ERROR_INVALID, "%s \"%s\" cannot be part of a request path", what, segment ? segment : "");
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
    TRY(append(out, "group", resource->group));
    return append(out, "version", resource->version);
}

struct error *resource_path(const struct resource *resource, const char *namespace_, const char *name,
                            const char *subresource, struct buffer *out) {
    struct error *error = append_version(resource, out);
    if (!error && !resource->cluster_scoped && namespace_ && namespace_[0] != '\0') {
        buffer_text(out, "/namespaces");
        error = append(out, "namespace", namespace_);
    }
    if (!error)
        error = append(out, "resource", resource->plural);
    if (!error && name)
        error = append(out, "name", name);
    if (!error && subresource)
        error = append(out, "subresource", subresource);
    if (!error && out->failed)
        error = error_no_memory();
    return error;
}
