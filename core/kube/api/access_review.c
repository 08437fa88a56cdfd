// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/access_review.h"

#include "core/json/writer.h"

bool access_review_write(const struct access_review *review, struct buffer *out) {
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_string(&writer, "apiVersion", "authorization.k8s.io/v1");
    writer_string(&writer, "kind", "SelfSubjectAccessReview");
    writer_object(&writer, "spec");
    writer_object(&writer, "resourceAttributes");
    writer_string(&writer, "group", review->group);
    writer_string(&writer, "resource", review->resource);
    if (review->subresource)
        writer_string(&writer, "subresource", review->subresource);
    writer_string(&writer, "verb", review->verb);
    if (review->name)
        writer_string(&writer, "name", review->name);
    if (review->namespace_)
        writer_string(&writer, "namespace", review->namespace_);
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    writer_end(&writer, '}');
    return !out->failed;
}

struct request access_review_request(const struct buffer *body) {
    return (struct request){.verb = VERB_CREATE,
                            .resource = {.group = "authorization.k8s.io",
                                         .version = "v1",
                                         .plural = "selfsubjectaccessreviews",
                                         .cluster_scoped = true},
                            .namespace_ = "",
                            .body = body->data,
                            .body_len = body->len};
}
