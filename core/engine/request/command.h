// SPDX-License-Identifier: Apache-2.0
// Requests to clusters and their answers, and calls of the adapter of an entry's kind.
#pragma once

#include "core/engine/engine_internal.h"
#include "core/engine/mirror/mirror.h"

#define PERMANENT_BASE_NS (5 * CLOCK_SECOND) // a starting API server rejects requests for a moment
#define PERMANENT_MAX_NS (10 * CLOCK_MINUTE)

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
    REQUEST_TRIAL, // a dry-run create, see dropped_of
    REQUEST_ACTIVE
};

struct request_in_flight {
    // Set by the sender.
    enum request_type type;
    uint32_t cluster, attempt;
    const char *path;    // OWNER, WRITER: the path; ACTIVE: the Workload's name; else NULL. As the next three, until
                         // the request is sent
    const char *version; // ACTIVE: API version; else NULL
    const char *body;    // JSON, or NULL
    size_t body_len;
    uint64_t patch_hash; // see mirror_patch_hash
    uint64_t wanted;     // STATUS: json_hash of the resulting status; CREATE, UPDATE: carry_hash of the workload
    uint32_t source;     // STATUS: see repeat_source; WRITER: enum writer_question
    uint16_t piece;      // UPDATE: enum piece
    bool was_clean;      // CREATE: the first create of this attempt
    bool stops;          // UPDATE: suspends the mirror
    bool marks;          // UPDATE: restores marks
    bool is_final;       // STATUS: the final one of the attempt
    bool withdraws;      // DELETE: of an unstarted mirror
    char **offered;      // the sender's `record`, or NULL; moved if the request is sent
    // Set by command_send.
    char *record; // CREATE, UPDATE: the mirror's record if accepted; OWNER: the checks to look up. Owned, or NULL
    uint32_t generation; // part of the id, to detect a late answer after a reuse of the slot
    enum verb verb;      // of the type
    bool is_budgeted;    // see status_budget_sent
    uint32_t next_free;
    uint32_t restorations; // of the watch at the time of sending
    uint32_t term;         // of the shard at the time of sending
    uint64_t workload;     // text_hash of the workload's uid at that time
    struct entry *entry;   // NULL: the slot is free
};

// False: not sent, for lack of memory, of the shard's lease or of the API version.
bool command_send(struct engine *engine, struct entry *entry, const struct request_in_flight *request);
// Sends a request about the mirror, for the present attempt, or with `mirror` NULL about the workload. Rule 5: the
// mirror or the workload is busy until the answer. False: not sent, the next try is in a second.
bool command_send_about(struct engine *engine, struct entry *entry, struct mirror *mirror,
                        struct request_in_flight *request);
// The same with a patch or an object as body. Reports a body that is too large for an API server instead of sending
// the body, which counts as success.
bool command_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, const struct json *patch,
                        struct request_in_flight request);

// The host reads the workload before the first write in a worker in a new term (shard.h), and after a list with an
// older version of the workload (stale_version_must_read). Returns the action, or ACTION_READ.
struct action confirm_action(struct engine *engine, struct entry *entry, struct action action);
bool confirm_read(struct engine *engine, struct entry *entry);

// The worker leaves: requests in flight to the worker end with an unknown outcome.
void answer_end_requests(struct engine *engine, size_t cluster);
// Whether the request certainly had no effect. If not, the host does not know the outcome (rule 4).
bool answer_certainly_not_done(enum reason reason);
// Whether the server answered. If not, the request may still take effect later.
bool answer_is_heard(enum reason reason);
int64_t answer_next_try_ns(struct engine *engine, const struct response *response, uint16_t *failures);
// Whether the answer is the current object. If not, another write followed.
bool answer_is_newest(struct engine *engine, struct doc *doc, uint64_t version);
void answer_of_mirror(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                      struct response *response);
// After an unanswered create: compares the fields that the worker keeps, once a watch or read shows the mirror
// (dropped_of).
void answer_check_dropped(struct engine *engine, struct entry *entry);

// A call of the adapter that ends with its block.

void call_begin(const struct engine *engine, const struct entry *entry, wharf_mirror_state state,
                struct adapter_call *call);
// The same, and the input for the functions of mirror.h; `mirror` may be NULL.
struct mirror_context call_begin_for_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror,
                                            wharf_mirror_state state, struct adapter_call *call);
// True for WHARF_OK. Else reports the failure, and sets the time to retry; `refusals` counts consecutive rejections.
bool call_succeeded(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                    const char *action, uint16_t *refusals, int64_t *retry_at_ns);
// Reports the message of a successful call, if any.
void call_report_message(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action);
