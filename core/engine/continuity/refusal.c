// SPDX-License-Identifier: Apache-2.0
#include "core/engine/continuity/refusal.h"

#include "core/base/text.h"
#include "core/engine/engine_internal.h"

#define FAILURES_MAX 10 // answers in a row that say that the worker fails, about a minute and a half

bool continuity_is_on(const struct engine *engine, const struct entry *entry, const struct json *workload) {
    const struct kind *kind = engine->kinds[entry->kind];
    return (kind->abi.progress || kind->abi.children) && continuity_is_wanted(kind, workload);
}

void progress_refuse(struct mirror *mirror, const char *format, ...) {
    va_list args;
    va_start(args, format);
    free(mirror->progress.problem);
    mirror->progress.problem = text_vformat(format, args);
    va_end(args);
    mirror->progress.refused = true;
}

static const char *advice_for(enum reason reason) {
    return reason == REASON_FORBIDDEN
               ? "; if the host lacks the right to patch the status there, run `wharf join` again for this worker"
               : "";
}

bool continuity_rejected(struct mirror *mirror, const struct response *response) {
    enum reason reason = response->reason;
    // A read by name comes first: the mirror may be gone. Nothing else could be written either.
    bool all = reason == REASON_UNAUTHORIZED || reason == REASON_NOT_TENANT || reason == REASON_NAMESPACE_TERMINATING;
    bool counts = reason == REASON_SERVER_ERROR || reason == REASON_NOT_FOUND || all;
    if (counts && mirror->progress.failures < UINT8_MAX)
        mirror->progress.failures++;
    bool absent = reason == REASON_NOT_FOUND && mirror->progress.failures > 1;
    bool permanent = reason_is_permanent(reason) && !all;
    if (!permanent && !absent && mirror->progress.failures < FAILURES_MAX)
        return false;
    progress_refuse(mirror, "the worker rejected it: %s%s", response->message, advice_for(reason));
    return true;
}
