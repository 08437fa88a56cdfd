// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/cluster_id.h"

#include "core/base/text.h"

struct request cluster_id_request(void) {
    return (struct request){.verb = VERB_GET,
                            .resource = {.group = "", .version = "v1", .plural = "namespaces", .cluster_scoped = true},
                            .namespace_ = "",
                            .name = "kube-system"};
}

static const struct json *namespace_of(const struct response *response) {
    return response->reason == REASON_OK && response->object ? response->object->value : NULL;
}

const char *cluster_id_uid(const struct response *response) {
    return object_uid(namespace_of(response));
}

const char *cluster_id_version(const struct response *response) {
    return object_version(namespace_of(response));
}

char *cluster_id_problem(const struct response *response) {
    return text_format("cannot read the cluster's identity from " CLUSTER_ID_PATH ": %s",
                       response->message ? response->message : "the response has no uid");
}
