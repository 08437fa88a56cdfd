// SPDX-License-Identifier: Apache-2.0
// Events about where a workload runs: its worker is lost or back, it is rescheduled, it has finished. docs/events.md
// lists all Events.
#ifndef WHARF_ENGINE_NEWS_H
#define WHARF_ENGINE_NEWS_H

#include "core/engine/engine_internal.h"

// It is about to be placed again, in another worker or the same one.
void news_rescheduled(struct engine *engine, struct entry *entry, const struct action *action);
// It has finished just now.
void news_finished(struct engine *engine, struct entry *entry);

#endif
