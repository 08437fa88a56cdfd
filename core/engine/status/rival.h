// SPDX-License-Identifier: Apache-2.0
// Rule 10. A controller of the management cluster that ignores managedBy, and runs delegated workloads there too: it
// writes their status, and makes objects of its own from them.
//
// A workload is over when its mirror has finished. A final status that another writer left there, while the mirror
// runs, ends nothing: it is disputed until managedFields say who wrote it.
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;

// An object of a watched kind was seen in the management cluster: its controller may be a delegated workload.
void rival_seen(struct engine *engine, const struct json *object);

// After the workload was read; `had`: it was known before.
void rival_observed(struct engine *engine, struct entry *entry, bool had);
// Its status became final: false while the mirror runs, in which case the end is reported once it is certain.
bool rival_believes_end(struct engine *engine, struct entry *entry, wharf_phase_kind end, bool had);
// Before the answer to a write of the status is read.
void rival_status_answered(struct entry *entry, const struct json *object);
void rival_retried(struct engine *engine, struct entry *entry); // an operator has looked after it
