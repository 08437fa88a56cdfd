// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/refusal.h"

#include "core/base/text.h"
#include "core/engine/store/store.h"

void progress_refuse(struct mirror *mirror, const char *format, ...) {
    va_list args;
    va_start(args, format);
    free(mirror->progress.problem);
    mirror->progress.problem = text_vformat(format, args);
    va_end(args);
    mirror->progress.refused = true;
}
