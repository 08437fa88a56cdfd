// SPDX-License-Identifier: Apache-2.0
// Requests to clusters, and the table of those in flight.
#pragma once

#include "core/engine/engine_internal.h"

enum request_type {
    REQUEST_PLACE,
    REQUEST_CREATE,
    REQUEST_UPDATE,
    REQUEST_STATUS,
    REQUEST_DELETE,
    REQUEST_VERIFY,
    REQUEST_NAMESPACE,
    REQUEST_OWNER,
    REQUEST_WRITER,
    REQUEST_RELEASE,
    REQUEST_READ,
    REQUEST_TRIAL, // a dry-run create, see dropped.h
    REQUEST_ACTIVE
};

struct request_in_flight {
    uint32_t generation; // part of the id, to detect a late answer after the slot was reused
    bool used;
    enum request_type type;
    struct entry *entry;
    uint32_t cluster, attempt, next_free;
    uint32_t restorations;       // of the watch at the time of sending
    uint64_t workload;           // text_hash of the workload's uid at that time
    bool was_clean;              // CREATE: the first create of this attempt
    uint64_t patch_hash, wanted; // see command_spec
    char *record;                // see command_spec; owned
    bool stops, withdraws;
    uint16_t piece; // see command_spec
    uint32_t source;
    uint32_t term;              // of the shard at the time of sending
    bool marks;                 // UPDATE: restores marks
    bool is_final, is_budgeted; // STATUS; see status_budget.h
};

struct command_spec {
    enum request_type type;
    enum verb verb;
    uint32_t cluster, attempt;
    const char *path;    // VERB_RAW_GET: the path; ACTIVE: the Workload's name; else NULL
    const char *version; // ACTIVE: of the API; else NULL
    const char *body;    // JSON, or NULL
    size_t body_len;
    uint64_t patch_hash; // see mirror_patch_hash
    uint64_t wanted;     // STATUS: json_hash of the resulting status; CREATE, UPDATE: carry_hash of the workload
    uint32_t source;     // STATUS: see repeat_source
    bool was_clean;
    char **record;  // CREATE, UPDATE: the mirror's record if accepted; OWNER: the checks in question;
                    // taken if sent
    uint16_t piece; // UPDATE: enum piece
    bool stops;     // UPDATE: suspends the mirror
    bool marks;     // UPDATE: it restores marks
    bool is_final;  // STATUS: the final one of the attempt
    bool withdraws; // DELETE: of an unstarted mirror
};
// 0 when out of memory.
uint64_t command_send(struct engine *engine, struct entry *entry, const struct command_spec *spec);
// Sends a patch or object as body, and marks the mirror, or without one the workload, as busy. A body that is too
// large for an API server is reported instead of sent, and counts as success.
bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                        struct command_spec spec);
