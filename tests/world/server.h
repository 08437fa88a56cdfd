// SPDX-License-Identifier: Apache-2.0
// The parts of the API server, as the dispatcher calls them.
#pragma once

#include "tests/world/answer.h"
#include "tests/world/route.h"

struct world_watch *world_watch_open(const struct op *op, const struct route *route, void (*notify)(void *ctx),
                                     void *ctx);

void world_watch_core(struct world_watch *watch); // its Events are those of the core group

// discovery.c: /version, /api, /apis and below. False: not such a path.
bool world_discover(struct world_cluster *cluster, const struct route *route, struct world_response *response);

// openapi.c: /openapi/v3 and below. False: not such a path.
bool world_openapi(const struct world_cluster *cluster, const struct route *route, struct world_response *response);

// review.c
bool world_allowed(const struct world_cluster *cluster, const char *user, const char *verb, const char *resource,
                   bool named);
// False: answered, since the caller may not impersonate the user of the request.
bool world_impersonates(const struct world_cluster *cluster, const struct world_request *request,
                        struct world_response *response);
void world_review(struct world_cluster *cluster, const struct world_request *request, struct world_response *response);

// write.c: take `body`.
void world_create(struct op *op, struct json *body);
void world_update(struct op *op, struct json *body, bool patch);

// delete.c
void world_remove(struct op *op, const struct json *options, const char *propagation);
// By a controller of the cluster; `propagation` as in DeleteOptions.
void world_remove_stored(struct stored *object, const char *propagation, bool internal);
