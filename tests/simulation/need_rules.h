// SPDX-License-Identifier: Apache-2.0
// The rules of docs/lifecycle.md, "Objects that a workload refers to" (D1 to D12), against the clusters as they are.
#pragma once

#include "tests/simulation/needs.h"
#include "tests/simulation/rules.h"

struct need_rules *need_rules_new(void); // NULL when out of memory

// The engine has decided to create this mirror, or to record this placement of the workload.
void need_rules_create(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror);
void need_rules_place(struct trial *trial, size_t cluster, size_t kind, const struct json *workload);
// A request is about to be sent, about this object of needs.h.
void need_rules_request(struct trial *trial, size_t cluster, const struct http_request *request,
                        const struct json *body, size_t index);
// Any write, by anybody. True: it is the host's, and of one of the resources.
bool need_rules_hook(struct trial *trial, size_t cluster, const struct world_write *write);
void need_rules_went_back(struct trial *trial, size_t cluster);
void need_rules_restarted(struct trial *trial); // the host: the wait for a deletion begins again
// A text for people: an Event or a line of the log.
void need_rules_text(struct trial *trial, const char *text);
void need_rules_check(struct trial *trial); // often
// What has not converged yet, or NULL. The text is owned by the caller.
char *need_rules_missing(struct trial *trial);
