// SPDX-License-Identifier: Apache-2.0
// Progress: a second or later attempt goes on where the former one was. The new mirror is created suspended, gets the
// status that the adapter derives from the workload's (wharf_kind.progress), and is resumed by the patch that records
// the result. The mirror's annotation wharf.dev/progress says which step is next, so each step may happen in another
// process than the one before (docs/lifecycle.md, rules P1 to P8).
#pragma once

#include "core/engine/mirror/mirror.h"

enum progress_mark {
    PROGRESS_NONE,   // no annotation: there was nothing to give
    PROGRESS_OWED,   // the mirror is suspended, and gets the progress
    PROGRESS_GIVEN,  // the mirror had the progress when it was resumed
    PROGRESS_REFUSED // the worker refused or reset the progress: the attempt started from nothing
};

enum progress_mark progress_mark_of(const struct json *mirror);
