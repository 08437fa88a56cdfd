// SPDX-License-Identifier: Apache-2.0
// A cluster's resourceVersions went backwards: it was restored from a backup, or wiped.
#ifndef WHARF_ENGINE_RESTORED_H
#define WHARF_ENGINE_RESTORED_H

#include "core/engine/engine_internal.h"

struct request_in_flight;

// Before an answer is processed: one to a request from before the rewind has an unknown outcome.
void restored_answer(const struct engine *engine, const struct request_in_flight *request, struct response *response);
// A workload had finished, but the cluster does not know, since it was restored or another writer took that back:
// `text`, its former state, is taken.
void restored_finished(struct engine *engine, struct entry *entry, struct shared_text *text, bool restored);

#endif
