// SPDX-License-Identifier: Apache-2.0
// How fast workers finish what they get. A worker whose workloads end at once, whether it says so falsely or fails all
// of them, never has active ones, and a policy that counts those alone would give it everything: so workloads that have
// finished within a window count as well. A worker that is far faster than the others with workloads of one kind and
// namespace is suspect: it is reported, and its window is as long as the others take, so that it gets no more than
// they. Only workloads that could have gone to several workers are compared. Times are the host's own, from the create
// or the start that was seen to the end.
#ifndef WHARF_ENGINE_COMPLETIONS_H
#define WHARF_ENGINE_COMPLETIONS_H

#include "core/base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPLETIONS_WINDOW_NS CLOCK_MINUTE
#define COMPLETIONS_WINDOW_MAX_NS (60 * CLOCK_MINUTE) // of a suspect worker

// Of one worker: numbers of the present window and the one before.
struct completions {
    int64_t window_ns; // 0: COMPLETIONS_WINDOW_NS
    int64_t begun_ns;
    uint32_t now, before;
};

void completions_add(struct completions *completions, int64_t now_ns);
// Those within the last window, in thousandths: the window before counts as far as it overlaps.
uint64_t completions_recent(const struct completions *completions, int64_t now_ns);

struct engine;
struct entry;
struct durations;

// A create is sent, in the worker that it is placed in; its mirror was seen running; it has finished, and still counts
// as active; it is active there no longer.
void completions_created(const struct engine *engine, struct entry *entry);
void completions_started(const struct engine *engine, struct entry *entry, size_t cluster);
void completions_finished(struct engine *engine, struct entry *entry);
void completions_ended(struct entry *entry);

#endif
