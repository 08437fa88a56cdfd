// SPDX-License-Identifier: Apache-2.0
// Trouble of one kind that stays: in some trials, once all else is over, one cluster, a permission or a third party is
// bad for a quarter of an hour, and the host's requests a minute are counted (docs/reliability.md).
#pragma once

#include "tests/simulation/trial.h"

// Requests a minute about one workload, in all clusters, and about a cluster as such (lists, watches, probes).
#define STEADY_WORKLOAD_MAX 6
#define STEADY_CLUSTER_MAX 30
#define STEADY_WATCH_MAX 6
#define STEADY_PROBES_MAX 60 // where answers are lost: one that fails at once is followed by the next a second later

struct steady *steady_new(struct trial *trial); // NULL when out of memory; does nothing without plan.steady
int64_t steady_begin(struct trial *trial);      // returns when it ends
void steady_end(struct trial *trial);
int64_t steady_due(const struct trial *trial);
void steady_act(struct trial *trial);

// The host sends a request about an object (`name`), or about the cluster as such (NULL).
void steady_request(struct trial *trial, size_t cluster, size_t kind, const char *namespace_, const char *name);
void steady_probe(struct trial *trial, size_t cluster);
// A controller changed an object: the host may have to write.
void steady_change(struct trial *trial, size_t kind, const char *namespace_, const char *name);
// A mirror that does not start is withdrawn, or placed elsewhere: so many Events tell it, which is once a
// pendingTimeout.
void steady_moved(struct trial *trial, const char *uid, unsigned events);
// The webhook of a worker. An HTTP status that refuses the request, or 0.
int steady_admit(const struct trial *trial, size_t cluster, enum world_verb verb, struct json *object);
// There a policy takes marks, as pests_rule.
bool steady_strips(const struct trial *trial, size_t cluster);
// For so long a request to the cluster may be in flight at most, as it does not answer; 0: it does.
int64_t steady_answer_ns(const struct trial *trial, size_t cluster);
// No steady trouble keeps the host from lists, watches or writes there, nor has for so long.
bool steady_is_calm(const struct trial *trial, size_t cluster, int64_t calm_ns);
