// SPDX-License-Identifier: Apache-2.0
// The final status of a deleted mirror, kept until it is written.
#pragma once

#include "core/engine/engine_internal.h"

// Whether a mirror's status is final; `phase` (may be NULL) is what its adapter says, without texts.
bool final_status_reached(const struct engine *engine, const struct entry *entry, const struct json *mirror,
                          wharf_phase *phase);
void final_status_keep(struct engine *engine, struct entry *entry, struct mirror *mirror); // takes the mirror's text
void final_status_put(struct entry *entry, struct shared_text text); // takes the text of the workload as it was
void final_status_drop(struct entry *entry);
struct json *final_status_tree(const struct entry *entry); // owned by the caller; NULL when out of memory
