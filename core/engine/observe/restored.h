// SPDX-License-Identifier: Apache-2.0
// A cluster's resourceVersions went backwards: the cluster was restored from a backup, or wiped.
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;

// Called before an answer is processed: a request from before the restoration has an unknown outcome.
void restored_answer(const struct engine *engine, const struct request_in_flight *request, struct response *response);
// A finished workload is unfinished in the cluster, after a restoration or a write by another client. Takes `text`,
// the former state.
void restored_finished(struct engine *engine, struct entry *entry, struct shared_text *text, bool restored);
