// SPDX-License-Identifier: Apache-2.0
// Adapters in processes that fail, in some trials: a process takes time to start, is busy, hangs or ends, for all its
// calls or for some objects, and comes back. SIM_BROKEN set: in all trials that can have it. Rule 12: nothing happens
// for lack of a result, the host neither asks without a pause nor tells the same twice, and other kinds do not notice.
#pragma once

#include "tests/simulation/trial.h"

// All calls of the kind's functions pass here from now on; those of engines may fail.
void breaks_wrap(struct kind *kind);

struct breaks *breaks_new(struct trial *trial);
void breaks_free(struct breaks *breaks);
void breaks_started(struct trial *trial); // a process of the host
int64_t breaks_due(const struct trial *trial);
void breaks_act(struct trial *trial);
void breaks_end(struct trial *trial); // all adapters work from now on
// An engine has decided to write an Event.
void breaks_event(struct trial *trial, const struct workload_event *event);
// Some call of the kind had no result in this process of the host.
bool breaks_failed(const struct trial *trial, size_t kind);
