// SPDX-License-Identifier: Apache-2.0
// Mirrors that wait to be started, and workloads that workers reject: for how long, what has been tried, and why it did
// not help. What follows from that is decided in decide_unstarted.c. Forgotten once a mirror has run for as long as
// pendingTimeout: one that is evicted before that has not succeeded. Kept in memory, and only for such workloads: a
// restarted host begins to count anew, but for a mirror that has never started.
#ifndef WHARF_ENGINE_UNSTARTED_H
#define WHARF_ENGINE_UNSTARTED_H

#include "core/engine/decide/decide_unstarted.h"
#include "core/engine/engine_internal.h"

#define UNSTARTED_ROUND_NS (30 * CLOCK_SECOND) // between two rounds over all workers, doubling
#define UNSTARTED_ROUND_MAX_NS (10 * CLOCK_MINUTE)

// A mirror was seen. `phase` NULL: it has no status. `same`: it is the object that was known.
void unstarted_observe(const struct engine *engine, struct entry *entry, struct mirror *mirror,
                       const wharf_phase *phase, bool same);
// The workload is suspended no longer: its mirror has the whole time again.
void unstarted_resumed(const struct engine *engine, struct entry *entry);
// Something was told about the mirror's pods.
void unstarted_pod_report(struct entry *entry, const char *text);

void unstarted_drop(struct entry *entry);

// The mirror is withdrawn: the body of the request, in `out`. False: not now.
bool unstarted_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror, struct buffer *out);
// It is sent; reports it.
void unstarted_withdrawn(struct engine *engine, struct entry *entry, const struct mirror *mirror);
// Its answer: it was certainly not deleted, with CONFLICT because it has another state than the one that was seen.
void unstarted_kept(struct entry *entry, struct mirror *mirror, enum reason reason);
// A worker was chosen: begins another round if it was tried before.
void unstarted_placed(struct engine *engine, struct entry *entry, size_t cluster);

#endif
