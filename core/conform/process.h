// SPDX-License-Identifier: Apache-2.0
// The kit's side of its children: one after the other, until all trials were made; how each ended is a finding if it
// did not end as it should.
#ifndef WHARF_CONFORM_PROCESS_H
#define WHARF_CONFORM_PROCESS_H

#include "core/conform/child.h"
#include "core/conform/report.h"

#include <stdio.h>

// Makes all trials, or with `again` the part of them that is made twice. `task` needs no board, no pipe and no place to
// begin. Lines of the children's own go to `out`.
struct error *process_trials(const struct child_task *task, struct board *board, struct report *report, FILE *out);

#endif
