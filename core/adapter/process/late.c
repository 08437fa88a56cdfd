// SPDX-License-Identifier: Apache-2.0
// Answers that came after their call had stopped to wait. The functions of an adapter depend on their arguments alone,
// so a second call with the same arguments has the same answer; only its time is a little older.
#include "core/adapter/process/process_parts.h"
#include "core/base/memory.h"

void late_free(struct late *late) {
    if (!late)
        return;
    buffer_free(&late->question);
    buffer_free(&late->answer);
    free(late);
}

void lates_clear(struct lates *lates) {
    while (lates->first) {
        struct late *next = lates->first->next;
        late_free(lates->first);
        lates->first = next;
    }
    lates->count = 0;
}

static size_t bytes_of(const struct late *late) {
    return late->question.len + late->answer.len;
}

// Frees those from `place` on.
static void cut(struct lates *lates, struct late **place) {
    struct lates rest = {.first = *place};
    for (const struct late *late = *place; late; late = late->next)
        lates->count--;
    *place = NULL;
    lates_clear(&rest);
}

void late_keep(struct lates *lates, struct late *late) {
    late->next = lates->first;
    lates->first = late;
    lates->count++;
    size_t count = 0, bytes = 0;
    for (struct late **place = &lates->first; *place; place = &(*place)->next) {
        bytes += bytes_of(*place);
        if (++count > PROCESS_LATE_MAX || (count > 1 && bytes > PROCESS_LATE_BYTES)) {
            cut(lates, place);
            return;
        }
    }
}

struct late *late_find(struct lates *lates, const struct call_question *question, int64_t now_ns) {
    AUTO_BUFFER(whole, SIZE_MAX / 4);
    for (struct late **place = &lates->first; *place; place = &(*place)->next) {
        struct late *late = *place;
        if (now_ns - late->at_ns > PROCESS_LATE_NS) {
            cut(lates, place);
            return NULL;
        }
        if (late->kind != question->kind || late->function != question->function)
            continue;
        if (whole.len == 0)
            call_write(&whole, question, NULL);
        if (whole.failed || whole.len != late->question.len || memcmp(whole.data, late->question.data, whole.len) != 0)
            continue;
        *place = late->next;
        lates->count--;
        return late;
    }
    return NULL;
}
