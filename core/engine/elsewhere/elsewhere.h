// SPDX-License-Identifier: Apache-2.0
// Failures that are the worker's (placement.retryElsewhere): the workload runs in another worker. The host holds the
// final status of a failed mirror back until the pods' reasons are known, for a few seconds at most. If one of them is
// listed, the placement in another worker is written with the failed worker's name in the annotation wharf.dev/retried,
// in one patch; only then is the failed mirror deleted. So each step may happen in another process than the one before.
// A mirror that does not start for such a reason is withdrawn as after pendingTimeout. A worker in which several
// workloads fail for the same reason within minutes gets no new work for a while (docs/lifecycle.md, rules E1 to E6).
#pragma once

#include "core/engine/elsewhere/retried.h"

#define ELSEWHERE_HOLD_NS (5 * CLOCK_SECOND)     // a final status waits so long for the pods' reasons
#define ELSEWHERE_SUSPECTS 3                     // workloads that fail in a worker for one reason
#define ELSEWHERE_WINDOW_NS (5 * CLOCK_MINUTE)   // within this time
#define ELSEWHERE_SUSPEND_NS (10 * CLOCK_MINUTE) // the worker gets no new work

// Marks the workers in which it failed as the last choice.
void elsewhere_avoid(struct engine *engine, const struct entry *entry, struct placement_view *view);

// The mirror of this attempt has failed, or fails, because of its worker, and the workload leaves.
bool elsewhere_moves(const struct entry *entry, uint32_t attempt);
// A copy of the mirror without the failure, for the last status before that. NULL: out of memory.
struct json *elsewhere_without_failure(struct engine *engine, struct mirror *mirror);
// The host is about to leave the present attempt for another one because of its worker.
bool elsewhere_leaves(const struct entry *entry, uint32_t attempt);
// The members of the annotations to write with that placement: ",\"wharf.dev/retried\":\"w1\"", or "".
void elsewhere_put_mark(struct engine *engine, struct entry *entry, uint32_t attempt, struct buffer *out);
// A copy of the workload with that annotation, for what depends on it before the placement. NULL: the host does not
// leave the attempt, or is out of memory.
struct json *elsewhere_marked(struct engine *engine, const struct entry *entry);
// Reports the placement, once sent. False: the host leaves the attempt for another reason.
bool elsewhere_report_placed(struct engine *engine, struct entry *entry, const struct action *action);
// The mirror is withdrawn because it does not start for such a reason: the reason. NULL: for another one.
const char *elsewhere_stuck_reason(const struct entry *entry);
// The same, once the delete is sent: reports the withdrawal.
void elsewhere_withdrawn(struct engine *engine, struct entry *entry, const struct mirror *mirror);

// Suspension of workers, see suspects.c.

// The workload failed in the worker for this reason.
void suspects_note(struct engine *engine, struct entry *entry, size_t cluster, const char *reason);
// The workload failed in another worker too: the failure says nothing about the workers before.
void suspects_forget(struct engine *engine, const struct entry *entry);
// An operator trusts the worker again.
void suspects_trust(struct engine *engine, size_t cluster);
