// SPDX-License-Identifier: Apache-2.0
// How fast workers finish what they get. A worker whose workloads end at once, whether it says so falsely or fails all
// of them, never has active ones, and a policy that counts those alone would give it everything: so each workload
// counts for a minute at least. A worker that is far faster than the others with workloads of one kind and namespace is
// suspect: it is reported, and each of its workloads counts for as long as the others take, so that it gets no more
// than they. Only workloads that could have gone to several workers matter. Times are the host's own, from the create
// or the start that was seen to the end.
#ifndef WHARF_ENGINE_COMPLETIONS_H
#define WHARF_ENGINE_COMPLETIONS_H

#include <stddef.h>

struct engine;
struct entry;

// A create is sent, in the worker that it is placed in; its mirror was seen running; it has finished, and still counts
// as active.
void completions_created(const struct engine *engine, struct entry *entry);
void completions_started(const struct engine *engine, struct entry *entry, size_t cluster);
void completions_finished(struct engine *engine, struct entry *entry);

#endif
