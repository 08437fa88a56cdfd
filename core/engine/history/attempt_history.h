// SPDX-License-Identifier: Apache-2.0
// What became of a workload, attempt by attempt, for people who ask. It is not stored anywhere: a host that restarts
// knows the present attempt only, with the times that its objects show.
#ifndef WHARF_ENGINE_ATTEMPT_HISTORY_H
#define WHARF_ENGINE_ATTEMPT_HISTORY_H

#include "core/engine/engine_internal.h"

// Brings it up to date with the facts; level-triggered.
void attempt_history_follow(struct engine *engine, struct entry *entry);
// A next attempt is asked for, and why.
void attempt_history_leaves(struct entry *entry, enum outcome outcome);
// A worker rejected the mirror of the present attempt. `reason` is static.
void attempt_history_rejected(struct engine *engine, struct entry *entry, const struct mirror *mirror,
                              const char *reason, const char *message);
// The mirror of the present attempt is withdrawn. `reason` is static.
void attempt_history_withdrawn(struct engine *engine, struct entry *entry, const char *reason, const char *message);
// The workload has finished.
void attempt_history_finished(struct engine *engine, struct entry *entry, const struct wharf_phase *phase);
// Takes times from a mirror.
void attempt_history_read_mirror(struct mirror *mirror, const struct json *object);

#endif
