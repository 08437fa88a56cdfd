// SPDX-License-Identifier: Apache-2.0
// Reconciles an entry: decides, and performs actions until there is nothing to do but wait.
#pragma once

#include "core/engine/engine_internal.h"

void act_reconcile(struct engine *engine, struct entry *entry);

// The actions. True: decide again.
bool act_place(struct engine *engine, struct entry *entry, const struct action *action);
bool act_create(struct engine *engine, struct entry *entry, const struct action *action);
bool act_status(struct engine *engine, struct entry *entry);
bool act_delete(struct engine *engine, struct entry *entry, struct mirror *mirror);
bool act_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror); // of an unstarted mirror
bool act_verify(struct engine *engine, struct entry *entry, size_t cluster);
bool act_release(struct engine *engine, struct entry *entry, struct mirror *mirror); // the host's finalizer
