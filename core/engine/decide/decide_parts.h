// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of decide().
#pragma once

#include "core/engine/decide/decide.h"

struct action action_none(const char *why);
struct action action_in_flight(const char *why);
struct action action_blocked(enum waiting waiting, size_t cluster);
struct action action_wait_until(int64_t at_ns, enum waiting waiting, size_t cluster);
struct action action_on_mirror(enum action_type type, const struct mirror_facts *mirror, const char *why);
// The time to give up a worker that is unreachable since `since_ns`; `worker` NULL: removed from the configuration.
int64_t decide_given_up_ns(const struct decide_facts *f, const struct worker_facts *worker, int64_t since_ns);
// The host may write in the worker.
bool decide_is_usable(const struct decide_facts *f, size_t cluster);
const struct mirror_facts *decide_mirror_in(const struct decide_facts *f, size_t cluster);
// The time of the next request about the mirror.
int64_t decide_request_at_ns(const struct mirror_facts *m);
// The same for a deletion: the last words of a failed mirror are read first, unless the workload goes, too.
int64_t decide_deletion_at_ns(const struct decide_facts *f, const struct mirror_facts *m);
bool decide_is_there(const struct decide_facts *f, const struct mirror_facts *m);
// Removes the host's finalizer at the resourceVersion seen.
struct action decide_release(const struct mirror_facts *m, const char *why);
bool decide_may_release(const struct decide_facts *f, const struct mirror_facts *m);
// Whether a new workload waits for a controller in the management cluster that runs workloads of the kind, or may.
bool decide_waits_for_rival(const struct decide_facts *f, struct action *action);
struct action decide_place(const struct decide_facts *f, size_t cluster, uint32_t attempt, const char *why);
// `write` to the workload, or the reason to wait. Rule 5: one request in flight.
struct action decide_if_writable(const struct decide_facts *f, struct action write);
bool decide_status_is_due(const struct decide_facts *f);
struct action decide_status(const struct decide_facts *f, const char *why);
// The same; with no status to write, the workload waits for this reason.
struct action decide_status_or_blocked(const struct decide_facts *f, const char *why, enum waiting waiting,
                                       size_t cluster);
// `action` for a suspended workload. Without other work, the reason to wait is the state in the management cluster's
// Kueue.
struct action decide_queued(const struct decide_facts *f, struct action action);
// Rule 6: a finished workload does not run again. The host writes the final status even if the mirror is gone.
struct action decide_final_status(const struct decide_facts *f);
// A disputed workload: the host follows the mirror, and neither moves nor replaces the mirror.
struct action decide_for_disputed(const struct decide_facts *f, const struct mirror_facts *current);
struct action decide_for_placed(const struct decide_facts *f, size_t stale_pending);

// Rule P6: before the host deletes a mirror to place the workload elsewhere, the status of the mirror is written.
// Without the newest if the mirror changes all the time, and if the management cluster rejects the status, has no
// status subresource, or another writer takes the status back. `m` NULL: of a mirror that is gone.
bool decide_owes_status(const struct decide_facts *f, const struct mirror_facts *m);
// retryElsewhere: what follows from the failure of the placed mirror. False: the failure is final.
bool decide_retries(const struct decide_facts *f, const struct mirror_facts *m, struct action *action);
// The placed mirror does not start because of the worker, and there is another worker.
bool decide_is_stuck(const struct decide_facts *f);

// Unstarted mirrors, workers already tried, and workloads that no worker accepts.

// The mirror did not start in the worker in this round, or the worker rejected the mirror before the host gave up.
bool decide_is_tried(const struct decide_facts *f, const struct mirror_facts *m);
// Whether a new round may begin, in which workers already tried are candidates again. If not, lowers *next_ns to its
// start.
bool decide_round_begins(const struct decide_facts *f, int64_t *next_ns);
// Gives the workload up, or waits until `next_ns` for the reason in `nowhere`.
struct action decide_gives_up(const struct decide_facts *f, struct action nowhere);
// giveUpAfter has passed, after at least one try of each worker.
bool decide_time_is_up(const struct decide_facts *f);
