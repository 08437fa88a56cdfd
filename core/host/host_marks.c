// SPDX-License-Identifier: Apache-2.0
// Marks that former processes left (core/adapter/services/net.h), from the start of the engine until they count no
// more.
#include "core/adapter/services/net.h"
#include "core/base/text.h"
#include "core/engine/aside/aside.h"
#include "core/host/host_internal.h"

#define CHECK_NS (5 * CLOCK_SECOND)

void host_use_marks(struct host *host, const struct marks *marks) {
    host->marks.of = marks;
}

bool host_marks_begin(struct host *host) {
    const struct marks *marks = host->marks.of;
    for (size_t i = 0; marks && i < marks->count; i++) {
        const struct mark *mark = marks->list[i];
        AUTO_TEXT text = text_format("adapter %s, function %s: %s", mark->adapter, mark->function, mark->reason);
        if (!text || !aside_mark(host->turn.engine, mark->kind, mark->object, mark->uid, text))
            return false;
        host->marks.left |= UINT64_C(1) << i;
    }
    return true;
}

int64_t host_marks_next_ns(const struct host *host) {
    return host->marks.left != 0 ? host->marks.checked_ns + CHECK_NS : CLOCK_NEVER;
}

void host_marks_check(struct host *host, int64_t now_ns, bool force) {
    if (host->marks.left == 0 || (!force && now_ns < host_marks_next_ns(host)))
        return;
    host->marks.checked_ns = now_ns;
    for (size_t i = 0; i < host->marks.of->count; i++) {
        const struct mark *mark = host->marks.of->list[i];
        uint64_t bit = UINT64_C(1) << i;
        if ((host->marks.left & bit) == 0 || aside_has_mark(host->turn.engine, mark->kind, mark->object))
            continue;
        mark_remove(mark);
        host->marks.left &= ~bit;
    }
}
