// SPDX-License-Identifier: Apache-2.0
// Requests: what they are made of, and the table of those in flight.
#ifndef WHARF_ENGINE_COMMAND_H
#define WHARF_ENGINE_COMMAND_H

#include "core/engine/engine_internal.h"

enum pending_type {
    PENDING_PLACE,
    PENDING_CREATE,
    PENDING_UPDATE,
    PENDING_STATUS,
    PENDING_DELETE,
    PENDING_VERIFY,
    PENDING_NAMESPACE,
    PENDING_OWNER,
    PENDING_WRITER,
    PENDING_RELEASE
};

struct pending {
    uint32_t generation; // part of the id, so that a late answer to a reused place is recognised
    bool used;
    enum pending_type type;
    struct entry *entry;
    uint32_t cluster, attempt, next_free;
    uint32_t rewinds;            // of the watch when it was sent
    bool was_clean;              // CREATE: nothing of this attempt had been sent before
    uint64_t patch_hash, wanted; // see command_spec
    char *record;                // the same; owned
    bool stops, stop_only;
    uint32_t source;
    bool marks; // UPDATE: it puts marks back
};

struct command_spec {
    enum pending_type type;
    enum verb verb;
    uint32_t cluster, attempt;
    const char *path; // VERB_RAW_GET: what is read; else NULL
    const char *body; // JSON, or NULL
    size_t body_len;
    uint64_t patch_hash; // of what a patch wants
    uint64_t wanted;     // STATUS: json_hash of the status that it leads to; CREATE, UPDATE: carry_hash of the workload
    uint32_t source;     // STATUS: see repeat_source
    bool was_clean;
    char **record;         // CREATE, UPDATE: the mirror's record once it is accepted; OWNER: the checks in question;
                           // taken if it was sent
    bool stops, stop_only; // UPDATE: it suspends the mirror; and does nothing else
    bool marks;            // UPDATE: it puts marks back
};
// 0 when out of memory.
uint64_t command_send(struct engine *engine, struct entry *entry, const struct command_spec *spec);
// The same with a patch or an object as its body; the mirror, or without one the workload, is busy then. One that is
// too large for an API server is reported and not sent, which counts as done.
bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                        struct command_spec spec);
// A hash of what a patch wants, without the precondition that changes from try to try.
uint64_t command_patch_hash(const struct json *patch);

#endif
