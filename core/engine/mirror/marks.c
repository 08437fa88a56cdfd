// SPDX-License-Identifier: Apache-2.0
// Mirrors that lose their marks: a policy in the worker strips or changes them on creation. Watches do not show such a
// mirror, and a restarted host would not recognise it. So it counts as rejected: it is deleted by its uid, once, and
// the workload is rescheduled.
#include "core/engine/mirror/marks.h"

#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"

#include <string.h>

// The first mark that differs, or NULL.
static const char *lost_mark(const struct engine *engine, const struct entry *entry, const struct mirror *mirror,
                             uint32_t attempt, const struct json *object) {
    const struct kind *kind = engine->kinds[entry->kind];
    if (!text_equal(object_label(object, MARK_ORIGIN), engine->origin))
        return MARK_ORIGIN;
    if (!text_equal(object_label(object, MARK_UID), entry->workload->uid))
        return MARK_UID;
    if (!text_equal(object_label(object, MARK_KIND), kind->plural_group))
        return MARK_KIND;
    if (mirror_attempt(object) != attempt)
        return MARK_ATTEMPT;
    if (!seal_keys_any(engine->seals))
        return NULL;
    enum seal_verdict verdict = mirror_seal(kind, engine->seals, engine->clusters[mirror->facts.cluster].name, object);
    return verdict == SEAL_VALID || verdict == SEAL_OLD_KEY ? NULL : MARK_SEAL;
}

const char *marks_lost(struct engine *engine, const struct entry *entry, struct mirror *mirror, uint32_t attempt) {
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    return object ? lost_mark(engine, entry, mirror, attempt, object) : NULL;
}

void marks_adopt(struct entry *entry, struct mirror *mirror, uint32_t attempt) {
    text_copy(mirror->workload_uid, sizeof mirror->workload_uid, entry->workload->uid);
    mirror->facts.attempt = attempt;
    mirror->facts.of_workload = mirror->was_of_workload = mirror->facts.proven = mirror->unmarked =
        mirror->facts.marks_stripped = true;
}
