// SPDX-License-Identifier: Apache-2.0
// Whether the caller may do something (authorization.k8s.io/v1 SelfSubjectAccessReview).
#ifndef WHARF_KUBE_API_ACCESS_REVIEW_H
#define WHARF_KUBE_API_ACCESS_REVIEW_H

#include "core/base/buffer.h"
#include "core/kube/client/client.h"

#define ACCESS_REVIEW_MAX ((size_t)16 << 10) // bytes of one

struct access_review { // subresource, name and namespace_ may be NULL: none, or all
    const char *group, *resource, *subresource, *verb, *name, *namespace_;
};

// Appends the object to be created. False: it does not fit, or no memory.
bool access_review_write(const struct access_review *review, struct buffer *out);
// The request that creates it; `body` has the object, and outlives the request.
struct request access_review_request(const struct buffer *body);

#endif
