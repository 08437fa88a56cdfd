// SPDX-License-Identifier: Apache-2.0
// Requests of Kubernetes APIs and their answers: the identity of a cluster, SelfSubjectAccessReview, TokenRequest,
// ConfigMaps.
#pragma once

#include "core/kube/client/types.h"

// The identity of an API server's cluster: the uid of its namespace kube-system, which is never recreated.
#define CLUSTER_ID_PATH "/api/v1/namespaces/kube-system"

// Reads that namespace; not rate limited.
struct request cluster_id_request(void);

// The uid and the resourceVersion in the response to that request; "" after a failure.
const char *cluster_id_uid(const struct response *response);
const char *cluster_id_version(const struct response *response);

// The reason of the failure, one sentence; NULL when out of memory. free().
char *cluster_id_problem(const struct response *response);

// Whether the caller may do something (authorization.k8s.io/v1 SelfSubjectAccessReview).
#define ACCESS_REVIEW_MAX ((size_t)16 << 10) // bytes of one

struct access_review { // subresource, name and namespace_ may be NULL: none, or all
    const char *group, *resource, *subresource, *verb, *name, *namespace_;
};

// "create pods/exec in namespace a", or of one object "get secrets \"b\"". free(); NULL: out of memory.
char *access_review_text(const struct access_review *review);
// Appends the object to create. False: too large, or out of memory.
bool access_review_write(const struct access_review *review, struct buffer *out);
// The request that creates the object in `body`, which outlives the request.
struct request access_review_request(const struct buffer *body);

// Bound tokens of service accounts (authentication.k8s.io/v1 TokenRequest).
struct token_request {
    struct request request; // for client_submit or ask; strings belong to the caller and `body`
    char *body;
};

// `seconds`: the wanted life, which the server may change; at least 600. `audience` NULL: the API server's.
struct error *token_request_make(const char *namespace_, const char *service_account, int64_t seconds,
                                 const char *audience, struct token_request *out);
void token_request_clear(struct token_request *request);

// The token of the answer, free(), and its expiry (wall clock; 0: not given). Errors quote the server's message.
struct error *token_request_read(const struct response *response, char **token, int64_t *expires_wall_ns);

// Discovery: the resources that a server serves for one group and version (metav1.APIResourceList).

// Path of the list: "/api/v1", "/apis/batch/v1". NULL when out of memory.
char *api_resources_path(const char *group, const char *version);

// The same of an unchecked apiVersion ("batch/v1") from an owner reference: NULL also for a version that no API server
// serves, such as "../x/v1".
char *api_resources_version_path(const char *api_version);

// The plural of a namespaced kind; NULL: not served.
const char *api_resources_plural(const struct json *list, const char *kind);

// The resource of this name ("jobs", "jobs/status") in a list; NULL: not served.
const struct json *api_resources_find(const struct json *list, const char *name);

// Whether a resource has a verb ("watch").
bool api_resource_has_verb(const struct json *resource, const char *verb);

// A request about one ConfigMap; the strings and `body` outlive the request.
struct request config_map_request(enum verb verb, const char *namespace_, const char *name, const char *body,
                                  size_t len);
// Appends the body of an apply that creates a ConfigMap without entries (an apply replaces those of an earlier apply).
// `label` NULL: none; `about`, for people, becomes the annotation wharf.dev/about. False: out of memory.
bool config_map_write_empty(const char *name, const char *label, const char *label_value, const char *about,
                            struct buffer *out);
