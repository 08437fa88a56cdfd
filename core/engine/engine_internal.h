// SPDX-License-Identifier: Apache-2.0
// What the parts of the engine share: engine.c (events, queue, time), observe.c (objects and lists come in), act.c
// (facts, decision, commands), answer.c (answers and backoff).
#ifndef WHARF_ENGINE_ENGINE_INTERNAL_H
#define WHARF_ENGINE_ENGINE_INTERNAL_H

#include "core/base/text.h"
#include "core/engine/engine.h"
#include "core/engine/mirror.h"
#include "core/engine/store.h"

#define ENGINE_SETTLE_NS (1 * CLOCK_SECOND) // how long new work waits for workers that were not heard of yet, once
#define ENGINE_BATCH 256                    // entries looked at in one step
#define ENGINE_TREES 512                    // parsed objects kept while there is much to do
#define ENGINE_TREES_IDLE 64                // and after a while without an event
#define ENGINE_LARGE ((size_t)64 << 10)     // bytes of a workload that is looked at for its size
#define ENGINE_IDLE_NS (2 * CLOCK_SECOND)

struct feed { // one kind in one cluster
    enum reflector_state state;
    bool listing, listed, settled;
    uint32_t epoch; // of the list that is, or was last, under way
    int64_t lost_since_ns;
    const char *version;      // served, one of the kind's; NULL: not known
    uint8_t aside;            // enum aside, bits
    bool overflowed;          // ASIDE_FULL, in the list that is under way
    uint32_t disowned;        // management: workloads that were ours, since one was last seen that is
    uint32_t status_failures; // ASIDE_STATUS
    int64_t status_at_ns;     // no status is written before that
    int64_t suspect_until_ns; // management: that a workload is not there means nothing
    uint32_t rewinds;         // how often its versions went back
    int64_t rewound_until_ns; // management: that it was seen being deleted means less
};

enum aside { ASIDE_FULL = 1, ASIDE_DISOWNED = 2, ASIDE_STATUS = 4 };

enum refusal {
    REFUSAL_NONE,
    REFUSAL_MANAGEMENT, // it is the management cluster
    REFUSAL_TWIN,       // it is a worker that stands before it in the configuration
    REFUSAL_OTHER       // another cluster than at first
};

struct identity { // of one cluster, see identity.c
    bool read;    // since the last connection was lost
    bool known;   // was read once, or found to be unknown
    bool told_unknown;
    enum refusal refusal;
    size_t twin;
    char first[STORE_UID_MAX], uid[STORE_UID_MAX]; // the first one that was read, and the last one; "": none
};

// Mirrors of one worker whose workload is not there, see orphans.c.
struct orphan_count {
    size_t names, bytes; // all of them, and of their text; also before the lists are complete
    uint32_t waiting;    // not let go yet
    uint32_t let_go;     // in the window
    int64_t window_ns;   // when it began
};

enum pending_type {
    PENDING_PLACE,
    PENDING_CREATE,
    PENDING_UPDATE,
    PENDING_STATUS,
    PENDING_DELETE,
    PENDING_VERIFY,
    PENDING_NAMESPACE,
    PENDING_OWNER,
    PENDING_WHO,
    PENDING_RELEASE
};

struct pending {
    uint32_t generation; // part of the id, so that a late answer to a reused place is recognised
    bool used;
    enum pending_type type;
    struct entry *entry;
    uint32_t cluster, attempt, next_free;
    uint32_t rewinds;            // of the feed when it was sent
    bool was_clean;              // CREATE: nothing of this attempt had been sent before
    uint64_t patch_hash, wanted; // see command_spec
    char *record;                // the same; owned
    bool stops, stop_only;
    uint32_t source;
    bool marks; // UPDATE: it puts marks back
};

struct stranger_log { // how often strangers with our marks are told of
    struct throttle throttle;
    int64_t next_ns;
};

// What an object in a worker is taken for a mirror by.
enum standing {
    STANDING_NONE,  // it is none
    STANDING_KNOWN, // its uid: it was one, and its marks are not what they were
    STANDING_MARKS, // marks, which anybody may copy
    STANDING_PROVEN // marks, and a seal of theirs
};

struct engine {
    char *origin;
    char **names; // of clusters; [0] "management"
    size_t n_clusters;
    struct kind *const *kinds;
    size_t n_kinds;
    const struct seal_keys *seals;
    bool adopt_unsealed, mirror_finalizer;
    struct stranger_log *strangers; // of clusters
    bool kueue_carried;             // Kueue's labels go to mirrors too
    int64_t no_kueue_until_ns;      // the management cluster was found without one; to be asked again then
    bool create_namespaces, placing, settle_over;
    int64_t lost_timeout_ns, retention_ns, started_ns;
    int64_t mass_max, mass_percent, orphan_grace_ns;
    size_t max_orphans;           // of a cluster; 0: no limit
    struct orphan_count *orphans; // of clusters
    struct identity *identities;  // of clusters
    struct random random;
    struct store store;
    struct heap timers;
    enum contact *contacts;        // of clusters
    struct feed *feeds;            // [cluster * n_kinds + kind]
    struct worker_facts **workers; // [kind][cluster]
    struct pending *pending;
    size_t n_pending, cap_pending, in_flight;
    uint32_t free_pending; // index + 1, 0: none
    struct entry *queue_first, *queue_last;
    struct throttle twins; // writes that another host of our origin made
    struct stats stats;
    struct moment now;
    struct call_clock *clock; // of adapter calls
    int64_t received_ns;      // of the event that is handled
    int64_t busy_ns;          // when the last event that was more than time came
    struct update *update;    // of the step that is running
};

struct feed *engine_feed(const struct engine *engine, size_t cluster, size_t kind);
// The list is complete, the watch is open, and the cluster is not lost.
bool engine_connected(const struct engine *engine, size_t cluster, size_t kind);
void engine_queue(struct engine *engine, struct entry *entry);
// Sets the entry's timer unless it is set to something earlier that has not passed.
void engine_wake(struct engine *engine, struct entry *entry, int64_t at_ns);
void engine_feed_changed(struct engine *engine, size_t cluster, size_t kind);
void engine_count_active(struct engine *engine, struct entry *entry, uint32_t cluster); // 0: none
void entry_set_phase(struct engine *engine, struct entry *entry, bool had, uint8_t phase, bool has);

// observe.c
void observe_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object);
void observe_listed(struct engine *engine, size_t cluster, size_t kind);
// An object out of an answer; `object` is taken.
void observe_workload(struct engine *engine, struct entry *entry, struct object *object);
void observe_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror, struct object *object,
                    enum standing standing);
// `mirror` may be NULL: what is known of the object of that name.
enum standing observe_standing(const struct engine *engine, size_t cluster, size_t kind, const struct mirror *mirror,
                               const struct json *object);
void observe_mirror_gone(struct engine *engine, struct entry *entry, struct mirror *mirror, bool certain);

// The facts about a cluster changed, for all kinds.
void engine_cluster_changed(struct engine *engine, size_t cluster);

// aside.c
// Whether one more mirror without a workload is kept of the cluster.
bool aside_takes(struct engine *engine, size_t cluster, size_t kind);
void aside_listed(struct engine *engine, size_t cluster, size_t kind);
// One that was kept has gone: what was not looked at is listed once there is room for it.
void aside_gone(struct engine *engine, size_t cluster);
// A workload of ours is not ours any more (`manager` NULL: nobody's): told before it is forgotten.
void aside_disowned(struct engine *engine, struct entry *entry, const char *manager);
void aside_owned(struct engine *engine, size_t kind); // one was seen that is ours
void aside_status_sent(struct engine *engine, size_t kind);
void aside_status_answered(struct engine *engine, size_t kind, enum reason reason);

// identity.c
void identity_take(struct engine *engine, size_t cluster, const char *uid, const char *problem);
// The connection was lost: who answers next may be another one.
void identity_forget(struct engine *engine, size_t cluster);
bool identity_is_read(const struct engine *engine, size_t cluster);
bool identity_is_other(const struct engine *engine, size_t cluster); // as good as lost
bool identity_forbids(const struct engine *engine, size_t cluster);  // nothing may be done there

// rewound.c
// The versions of what is known went back: nothing is done on old memory until the list that follows is complete.
void rewound_take(struct engine *engine, size_t cluster, size_t kind);
// Before the answer is looked at: what it says of a time before the versions went back is not known any more.
void rewound_answer(const struct engine *engine, const struct pending *pending, struct response *response);
// A workload had finished, and its cluster does not know that any more: `text`, what it was, is taken.
void rewound_finished(struct engine *engine, struct entry *entry, char *text);

// orphans.c
// Looks at the mirrors of an entry whose workload is not there: sets held_until_ns of those that must not be deleted.
void orphans_look(struct engine *engine, struct entry *entry);
// A complete list of the management cluster, before it is acted on.
void orphans_listed(struct engine *engine, size_t cluster, size_t kind);
// The mirror without a workload as it is to be kept: by its name and marks, or as it is. `object` is taken.
struct object *orphans_by_name(const struct engine *engine, size_t cluster, size_t kind, struct object *object,
                               bool *by_name);
// The workload with this uid was seen being deleted, or replaced by another one.
void orphans_seen_deleted(struct engine *engine, struct entry *entry, const char *uid);
// What the management cluster does not have any more is no sign of a deletion for the next orphanGrace.
void orphans_suspect(struct engine *engine, size_t kind, bool rewound);

// stubs.c: what of an object beyond maxObjectSize or maxObjectNodes is seen: that it is there
void stubs_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object);

// act.c
void act_on_entry(struct engine *engine, struct entry *entry);
// The mirror that the entry's cluster and attempt speak of, or NULL.
struct mirror *act_placed_mirror(const struct entry *entry);
struct mirror *act_current_mirror(const struct engine *engine, const struct entry *entry); // for the status; or NULL
// Begins a call into the adapter of the entry's kind.
void act_begin_call(const struct engine *engine, const struct entry *entry, wharf_mirror_state state,
                    struct adapter_call *call);

// facts.c
struct decide_facts facts_of(const struct engine *engine, const struct entry *entry);
struct action facts_decide(struct engine *engine, struct entry *entry);

// marks.c: the first mark that the mirror, as it was stored, has not kept; NULL: it has them all
const char *marks_lost(struct engine *engine, const struct entry *entry, struct mirror *mirror, uint32_t attempt);
// It is of this workload all the same, and is to be deleted.
void marks_adopt(struct entry *entry, struct mirror *mirror, uint32_t attempt);

// finalizer.c
void finalizer_take_off(struct engine *engine, struct entry *entry, struct mirror *mirror);

// last_word.c
bool last_word_is_final(const struct engine *engine, const struct entry *entry, const struct json *mirror);
void last_word_keep(struct engine *engine, struct entry *entry, struct mirror *mirror); // takes the mirror's text
void last_word_drop(struct entry *entry);
struct json *last_word_tree(const struct entry *entry); // owned by the caller; NULL when out of memory

// repeat.c. Before something is sent again: when that may be, or whether it may be now.
int64_t repeat_update_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror);
bool repeat_may_write(struct engine *engine, struct entry *entry, uint32_t source);
uint32_t repeat_source(const struct entry *entry, const struct json *mirror); // what a status is made of, hashed
// A further attempt was sent. True: it is placed too often, which was told.
bool repeat_placed(struct engine *engine, struct entry *entry);
void repeat_updated(struct mirror *mirror, const struct pending *pending);
void repeat_conflict(struct entry *entry, const struct pending *pending);
void repeat_nothing_to_write(struct engine *engine, struct entry *entry, uint64_t wanted);
void repeat_named(struct engine *engine, struct entry *entry, const struct pending *pending,
                  const struct response *response);

// waiting.c: after each decision
void waiting_look(struct engine *engine, struct entry *entry, const struct action *action);
void waiting_end(struct engine *engine, struct entry *entry);

// act_update.c
bool act_update(struct engine *engine, struct entry *entry, struct mirror *mirror);
// A workload that is refused as such, by its adapter or for its size, is told so before anything is written. False: it
// is refused.
bool act_passes_trial(struct engine *engine, struct entry *entry);
wharf_result act_check_body(struct adapter_call *call, const struct json *body);

// What they share: a job for the functions of mirror.h; when to try again and what people should know if the adapter
// (or memory) said something else than OK, where `refusals` counts those in a row; and what patches have in common.
struct command_spec;
struct mirror_job act_job(struct engine *engine, struct entry *entry, struct mirror *mirror, struct adapter_call *call);
int64_t act_not_ok(struct engine *engine, struct entry *entry, wharf_result result, struct adapter_call *call,
                   const char *action, uint16_t *refusals);
void act_note_remark(struct engine *engine, struct entry *entry, struct adapter_call *call, const char *action);
bool act_send_patch(struct engine *engine, struct entry *entry, struct mirror *mirror, struct json *patch,
                    struct command_spec spec);
uint64_t act_wish_hash(const struct json *patch);
void act_retry_soon(struct engine *engine, int64_t *not_before_ns);

// notes and commands (command.c)
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
void command_note(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));

void engine_relist(struct engine *engine, size_t cluster, size_t kind);

// A line for the log; `kind` may be REMARK_NO_KIND.
void engine_remark(struct engine *engine, bool warning, size_t cluster, size_t kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// answer.c
void answer_handle(struct engine *engine, uint64_t id, struct response *response);
int64_t answer_backoff_ns(struct engine *engine, unsigned failures, int64_t base_ns, int64_t max_ns);

#endif
