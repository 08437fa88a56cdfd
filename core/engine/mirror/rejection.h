// SPDX-License-Identifier: Apache-2.0
// A cluster that answers and rejects the host: its credentials, or a right that a kind needs. What was rejected there
// for that reason is tried again at once when it ends.
#pragma once

#include "core/engine/engine_internal.h"

void rejection_contact(struct engine *engine, const struct engine_event *event); // before the contact changes
void rejection_denied(struct engine *engine, const struct engine_event *event);  // EVENT_DENIED
