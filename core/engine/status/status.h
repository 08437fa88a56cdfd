// SPDX-License-Identifier: Apache-2.0
// What other parts have to say of the statuses that are written.
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;
struct response;

// Nothing is known of earlier writes of the status.
void status_forget_writes(struct workload *workload);
// The mirror changed: a status that was rejected may be accepted now.
void status_mirror_changed(struct workload *workload);

// The status was rejected: a different one may be sent sooner.
void status_denied(struct engine *engine, struct entry *entry, uint64_t patch_hash);
// After an accepted status patch; takes the object. If the status is as intended and nothing else changed, the status
// is no longer due; otherwise the next comparison shows whether the server keeps it.
void status_accepted(struct engine *engine, struct entry *entry, const struct request_in_flight *pending,
                     struct object *object);
