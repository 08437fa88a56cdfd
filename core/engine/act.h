// SPDX-License-Identifier: Apache-2.0
// Reconciles one entry: turns what decide() returns into commands.
#ifndef WHARF_ENGINE_ACT_H
#define WHARF_ENGINE_ACT_H

struct engine;
struct entry;

void act_reconcile(struct engine *engine, struct entry *entry);

#endif
