// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the JobSet adapter.
#pragma once

#include "../job/job.h"

// A mirror counts its restarts from zero. Notes those of earlier attempts in a new mirror, and adds them in the status,
// which also keeps the number of complete Jobs.
wharf_result jobset_note_restarts(const wharf_call *call, const wharf_value *workload, wharf_value *mirror);
wharf_result jobset_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object);

wharf_result jobset_child_progress(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                   wharf_value *object);
