// SPDX-License-Identifier: Apache-2.0
// Which cluster an API server belongs to: the uid of its namespace kube-system, which is never recreated.
#ifndef WHARF_KUBE_API_CLUSTER_ID_H
#define WHARF_KUBE_API_CLUSTER_ID_H

#include "core/kube/client/types.h"

#define CLUSTER_ID_PATH "/api/v1/namespaces/kube-system"

// Reads that namespace; not rate limited.
struct request cluster_id_request(void);

// The uid and the resourceVersion in the response to that request; "" if it failed.
const char *cluster_id_uid(const struct response *response);
const char *cluster_id_version(const struct response *response);

// One sentence on why it failed; NULL when out of memory. free().
char *cluster_id_problem(const struct response *response);

#endif
