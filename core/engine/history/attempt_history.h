// SPDX-License-Identifier: Apache-2.0
// The attempts of a workload and their outcomes, for the API. Not stored: after a restart the host knows only the
// present attempt, with the times from its objects.
#pragma once

#include "core/engine/engine_internal.h"

// Updates the history from the facts; level-triggered.
void attempt_history_follow(struct engine *engine, struct entry *entry);
// The cause of the next attempt.
void attempt_history_leaves(struct entry *entry, enum outcome outcome);
// Records why the present attempt failed. OUTCOME_NONE: the attempt is not over yet. `reason` is static.
void attempt_history_failed(struct engine *engine, struct entry *entry, enum outcome outcome, const char *reason,
                            const char *message);
// The workload has finished.
void attempt_history_finished(struct engine *engine, struct entry *entry, const struct wharf_phase *phase);
// Reads times from a mirror.
void attempt_history_read_mirror(struct mirror *mirror, const struct json *object);

struct attempt *attempt_history_newest(const struct entry *entry); // NULL: none
