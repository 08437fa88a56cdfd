// SPDX-License-Identifier: Apache-2.0
// Placement within the engine: the rules of the configuration, the view of one workload for decide(), the queue of
// workloads that wait for maxActive, the speed of workers, retries after a change of a namespace, and explanations.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/placement/placement.h"

#define MARK_CLUSTER_SELECTOR "wharf.dev/cluster-selector" // annotation of a workload: a selector of workers
#define MARK_CLUSTER_NAMES "wharf.dev/cluster-names" // annotation of a workload: only these workers, in this order

// Rules: `placement` of the configuration, by kind and namespace.

// Replaces the rules by a copy. ERROR_INVALID: a selector. On failure nothing changes.
struct error *placement_set_rules(struct engine *engine, const struct placement_options *options);

void placement_drop_rules(struct engine *engine);

// The rule for a workload; never NULL. *known (may be NULL): false if the rule depends on unknown labels of the
// namespace. *workers (may be NULL): the parsed selector; the rule itself has no texts of selectors.
const struct placement_rule *placement_rule_of(const struct engine *engine, const struct entry *entry, bool *known,
                                               const struct selector **workers);
// onWorkerLost: whether the workload waits for a lost worker without a time limit; true too for an unknown rule.
bool placement_waits_when_lost(const struct engine *engine, const struct entry *entry);

// retryElsewhere: whether some rule has it.
bool placement_retries_elsewhere(const struct engine *engine);

// True: *labels is "key=value,key=value", or NULL for none. False: unknown labels. A namespace that a complete
// list lacks has none.
bool namespace_labels_of(const struct engine *engine, const struct entry *entry, const char **labels);

// Settings of workers.

void placement_workers_changed(struct engine *engine);
// Updates worker_facts.
void placement_worker_refresh(const struct engine *engine, size_t cluster, size_t kind);

// The view.

// Whether the workload needs a view: false if no setting limits the placement.
bool placement_is_limited(const struct engine *engine, const struct entry *entry);
// False: out of memory. The caller clears the view with placement_view_clear.
bool placement_view_make(struct engine *engine, struct entry *entry, struct placement_view *out);
void placement_view_clear(struct placement_view *view); // also for __attribute__((cleanup))

// maxActive: the limit, of all kinds or of the entry's, whichever is reached, and the number of other workloads in the
// worker. False: an unknown number, since *kind is not listed.
bool placement_limit_of(const struct engine *engine, const struct entry *entry, size_t cluster, size_t *limit,
                        size_t *active, size_t *kind);

// Scores: adapters rate the workers that may get a workload, see wharf_module.score. The policy decides between equal
// sums, and alone without scores.

#define SCORING_LIMIT_NS (200 * CLOCK_MS) // for the calls of one batch, and for waiting for answers in it
#define SCORING_BATCH_NS CLOCK_SECOND     // so long a batch lasts
#define SCORING_AGAIN_NS (5 * CLOCK_MS)   // between two tries while an answer is on its way

// Whether an adapter rates workers for workloads of this kind.
bool scoring_is_used(const struct engine *engine, const struct entry *entry);
// Asks the adapters about a placement, and puts the sums into facts->view. The decision with these scores follows; or a
// wait, while an answer is on its way.
struct action scoring_decide(struct engine *engine, struct entry *entry, struct placement_view *view,
                             const struct decide_facts *facts, struct action action);
// The scores for the last placement, "locality: w2 100, w1 0", with the reasons of missing ones; the caller owns the
// text. NULL: the engine asked no adapter.
char *scoring_take_text(struct entry *entry);

// The queue: workloads wait until others finish, because every worker has reached maxActive. Namespaces and kinds take
// turns, so none waits for all workloads of another; within one the order of arrival counts. The engine tries no more
// workloads than the workers may take.

// The decision for an entry: the entry waits (WANTED, and keeps the turn), or has a worker, with a request not sent yet
// (USED, and keeps the turn), or neither.
enum placement_turn { PLACEMENT_TURN_NONE, PLACEMENT_TURN_USED, PLACEMENT_TURN_WANTED };
void placement_queue_note(struct engine *engine, struct entry *entry, enum placement_turn need);
// The entry would overtake others that wait for this worker: from now on the entry waits in turn.
bool placement_queue_overtakes(struct engine *engine, struct entry *entry, size_t cluster);
// A worker may take more workloads than before.
void placement_queue_retry(struct engine *engine);

// Workloads that a worker rejected because of the namespace or the quota, or did not start: the host tries the worker
// again at once when a Namespace or a ResourceQuota there changes. The host watches both only while a workload waits.

#define NAMESPACE_RETRY_S 20 // between two tries of one workload in one worker, in seconds

// `reason`: of the rejection, as in the Event; or NULL.
void namespace_retry_wait(struct engine *engine, struct entry *entry, uint32_t cluster, const char *reason);

// The speed of workers. A worker that ends every workload at once, by a false status or a failure, never has active
// workloads, and a policy that counts only active ones would always choose that worker. So each workload counts for at
// least a minute. A worker that is far faster than the others with workloads of one kind and namespace is suspect: the
// host reports the worker, and each workload there counts for as long as one takes in the others. Only workloads with
// a choice of workers matter. The host measures the times, from the create or the start to the end.

// The host sends the create; the mirror runs; the workload has finished and still counts as active.
void completions_created(const struct engine *engine, struct entry *entry);
void completions_started(const struct engine *engine, struct entry *entry, size_t cluster);
void completions_finished(struct engine *engine, struct entry *entry);
void completions_end(struct entry *entry); // the workload no longer runs where it did
// How many workloads of a worker began within the last minute.
const struct recent *completions_of(const struct engine *engine, size_t cluster);
void completions_free(struct engine *engine, size_t cluster); // the worker leaves

// Explanations: why a worker would not get a workload now.
struct worker_reason {
    enum worker_obstacle obstacle; // NONE: the workload fits
    char brief[64];                // "quota exceeded"
    char text[384];                // a sentence without an end
    int64_t since_ns;              // monotonic; 0: unknown
    int64_t until_ns;              // monotonic; CLOCK_NEVER: until something changes
    const char *reason;            // of a rejection, static; or NULL
};

// `view` is the entry's present one, or NULL.
void worker_reason_find(struct engine *engine, const struct entry *entry, const struct placement_view *view,
                        size_t cluster, int64_t now_ns, struct worker_reason *out);

// Appends "0/3 workers accept it: w1 quota exceeded; w2 namespace missing; w3 cordoned", or for many workers "0/40
// workers accept it: 38 cordoned; 2 unreachable".
void worker_reasons_put(struct engine *engine, struct entry *entry, int64_t now_ns, struct buffer *out);
