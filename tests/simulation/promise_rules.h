// SPDX-License-Identifier: Apache-2.0
// What docs/lifecycle.md and docs/events.md promise beside the rules of rules.h: the record of a placement, the
// identity of clusters, what Events name and how many there are, and how often a cluster is asked for lists.
#pragma once

#include "tests/simulation/rules.h"

struct promises *promises_new(void);
// Another process of the host starts; or a cluster gets another connection.
void promises_restarted(struct trial *trial);
void promises_connected(struct trial *trial, size_t cluster);

// The engine is told a uid, "" where it cannot be read; or that a worker left.
void promises_identity(struct trial *trial, size_t cluster, const char *uid);
void promises_left(struct trial *trial, size_t cluster);
// The engine has decided to send this.
void promises_command(struct trial *trial, const struct command *command, size_t kind, const struct json *body);
// The engine has decided to tell this.
void promises_event(struct trial *trial, const struct workload_event *event);

// The host's write to a workload, other than of its status, or of an Event, was accepted.
void promises_placed(struct trial *trial, const struct tracked_workload *job, const struct world_write *write);
void promises_told(struct trial *trial, const struct json *event);
// A request that is about no single object is sent.
void promises_request(struct trial *trial, size_t cluster, const struct http_request *request);
