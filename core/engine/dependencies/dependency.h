// SPDX-License-Identifier: Apache-2.0
// The state of the part, shared by the files of this folder: objects by name, their copies in workers, and the needs of
// entries.
#pragma once

#include "core/adapter/references.h"
#include "core/config/dependencies.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/mirror/mirror.h"

#define DEPENDENCY_LINGER_NS (62 * CLOCK_SECOND) // a copy outlives the last user by a minute; watches may lag
#define DEPENDENCY_READ_NS CLOCK_SECOND          // between two reads of a source
#define DEPENDENCY_UNREAD_NS (10 * CLOCK_SECOND) // between two tries to read a mirror: its phase, or its needs
#define PRIORITIES "priorityclasses.scheduling.k8s.io"
#define DEPENDENCY_MARK_MAX (STORE_UID_MAX + STORE_VERSION_MAX)

enum presence { PRESENCE_UNKNOWN, PRESENCE_ABSENT, PRESENCE_THERE };

struct dependency_watch { // of a resource in one cluster
    bool requested;       // of the host
    bool seen;            // complete once
    bool listing;
    uint32_t epoch;
    char *problem; // the cluster denies access, or does not serve the resource; NULL: it does, or is not known
};

struct dependency_resource {
    char *name, *version, *kind; // "tasks.tekton.dev", "v1", "Task"
    enum dependency_use use;     // by the configuration
    bool cluster_scoped;
    bool sensitive;                   // content is secret
    bool compares;                    // checked objects of another content are told
    bool refers;                      // its objects may refer to others
    struct dependency_watch *watches; // by cluster
    size_t n_watches;
};

enum copy_state {
    COPY_UNKNOWN, // also while the object is being deleted
    COPY_ABSENT,
    COPY_OTHER,  // from here on there is an object: of another writer,
    COPY_ORIGIN, // of another host,
    COPY_GIVEN,  // handed over to this host and not sealed yet,
    COPY_OWN     // of this host
};

struct dependency_turn {       // in the queue of a cluster without room for a request
    struct dependency *object; // NULL: in none
    struct dependency_turn *next, *before;
};

struct copy { // the object in a worker
    struct copy *next;
    struct dependency_turn turn;
    uint32_t cluster, epoch;
    enum copy_state state;
    bool watched;           // as requested of the host
    bool busy;              // a request about the copy is in flight
    bool equal;             // content of another writer, as compared
    bool also_used;         // of another host: its annotation names this one
    bool unsealed;          // own: without a seal of the present key
    bool shared;            // own: another host uses the copy
    bool deleting;          // a request is in flight, or its outcome is not known yet
    bool listing;           // its own list is not complete
    bool refused;           // the worker rejects the last request
    bool recreate;          // the copy cannot be changed as the source was
    bool namespace_missing; // the next create is that of the namespace
    bool namespace_made;    // tried, for a copy that failed without it
    uint16_t failures;
    size_t users;
    int64_t unused_ns; // since; 0: has users
    int64_t not_before_ns, answered_ns;
    struct throttle repeats; // creates of a copy that another writer deletes
    uint64_t marked;         // hash of the annotation with the source's uid and version
    uint64_t compared;       // hash of both versions at the last comparison; 0: none
    char uid[STORE_UID_MAX], version[STORE_VERSION_MAX];
    char *problem;
    uint64_t *told; // hashes of the namespaces with an Event about the difference
    size_t n_told;
};

// An object of the name is there.
static inline bool copy_is_there(const struct copy *copy) {
    return copy->state >= COPY_OTHER;
}

struct dependency {     // a name in the management cluster
    struct timer timer; // first, so that a timer is its object
    struct dependency *next_due;
    struct dependency_turn turn; // of the read of the source
    struct dependency_resource *resource;
    struct use *users;
    struct copy *copies;
    size_t unplaced; // users without a placement
    size_t held;     // by requests in flight, and direct references
    // The source.
    enum presence presence;
    bool due, watched, busy, searched;
    bool labelled; // MARK_COPY
    bool denied;   // by its type: never copied
    uint16_t failures;
    int64_t read_ns, not_before_ns; // of the last read; of the next one
    int64_t waits_ns;               // for a copy by the holder of the shard, since then; 0: not
    uint64_t mark;                  // hash of "<uid>/<version>"
    char source[DEPENDENCY_MARK_MAX];
    char *problem;
    char *content;      // of this version, without marks, until the copies are written; NULL: not read
    uint64_t read_mark; // `mark` at the last read
    size_t size;
    // References to others, of the last version read: names, since those of a cluster-scoped object may be in the
    // namespace of each workload.
    bool refers_known;
    struct reference_to {
        struct dependency_resource *resource;
        char *namespace_; // "": none, or that of the workload
        char *name;
        bool optional;
    } * refers;
    size_t n_refers;
    const char *namespace_, *name; // in the key
    char key[];                    // "resource/namespace/name"
};

struct use {
    struct dependency *object;
    struct needs *needs;
    struct use *newer, *older; // of the object
    bool optional;
    bool wanted; // by the present workload; else by a mirror only
};

struct uses {
    struct use *list;
    size_t count;
};

struct needs {                // of an entry
    struct needs *next, **at; // of all
    struct entry *entry;
    struct uses direct; // not linked
    struct uses uses;   // with the references of references
    struct place {
        uint32_t cluster; // 0: of a workload without a placement
        bool of_mirror;   // else of the workload: only what that wants counts
    } * places;
    size_t n_places;
    uint64_t places_hash; // 0: none yet
    uint64_t read;        // hash of the workload that `direct` is of; 0: not known
    uint32_t epoch;       // of the configuration
    int64_t retry_ns;     // of a failed read of the references
    int64_t since_ns;     // first known
    int64_t missing_ns;   // since when a source is missing; 0: none is
    char *told;           // names in Events; NULL: none
    uint64_t told_lack;   // the same of a worker's
    uint16_t refusals;
    bool open;        // the references of a need are not known
    bool stale;       // to close again
    bool unread;      // a mirror has needs that are not known
    char excess[200]; // too many needs, or too large: refused, and why; "": they are not
};

enum dependency_request_type {
    DEPENDENCY_READ_SOURCE,
    DEPENDENCY_READ_COPY, // to compare or change
    DEPENDENCY_CREATE,
    DEPENDENCY_CHANGE,
    DEPENDENCY_CHANGE_ORIGINS,
    DEPENDENCY_DELETE,
    DEPENDENCY_NAMESPACE
};

struct dependency_request {    // in flight
    struct dependency *object; // NULL: the slot is free
    enum dependency_request_type type;
    uint32_t cluster, generation, next_free;
};

struct dependency_part {
    struct map objects;   // struct dependency, by key
    struct needs *needs;  // all
    struct map resources; // struct dependency_resource, by name
    struct dependency *due, **due_end;
    struct heap timers;
    int64_t adopt_until_ns;  // see engine_options
    int64_t search_until_ns; // start of the process, and a while
    bool watches_due;        // for all objects of the copied resources
    uint32_t epoch;          // of the configuration
    size_t n_kinds;          // known
    struct dependency_request *requests;
    size_t n_requests, cap_requests;
    uint32_t free_request;
    struct dependency_cluster {
        size_t in_flight; // requests
        struct dependency_turn *first, *last;
        int64_t unknown_ns; // the last mirror with unknown needs went
    } * clusters;
    size_t n_clusters;
    struct map holds; // texts "cluster/namespace", see needs_hold
    bool holds_known; // in this step
};

struct dependency_cluster *dependency_cluster_of(struct engine *engine, size_t cluster); // NULL: out of memory
void dependency_turn_wait(struct engine *engine, size_t cluster, struct dependency_turn *turn,
                          struct dependency *object);
void dependency_turn_end(struct engine *engine, size_t cluster, struct dependency_turn *turn);

// Objects (dependency_table.c) ------------------------------------------------------------------------------------

struct dependency_resource *dependency_resource_make(struct engine *engine, const struct reference_resource *from);
struct dependency_resource *dependency_resource_of(struct engine *engine, const struct reference *reference);
void dependency_resources_configure(struct engine *engine); // after a change of the configuration, or of kinds
struct dependency *dependency_find(const struct engine *engine, const char *resource, const char *namespace_,
                                   const char *name);
struct dependency *dependency_make(struct engine *engine, struct dependency_resource *resource, const char *namespace_,
                                   const char *name);
void dependency_drop_if_unused(struct engine *engine, struct dependency *object);
struct copy *dependency_copy(const struct dependency *object, size_t cluster); // or NULL
struct copy *dependency_copy_make(struct engine *engine, struct dependency *object, size_t cluster);
void dependency_copy_drop(struct engine *engine, struct dependency *object, struct copy *copy);
void dependency_touch(struct engine *engine, struct dependency *object); // to decide about in this step
void dependency_touch_all(struct engine *engine);
void dependency_wake(struct engine *engine, struct dependency *object, int64_t at_ns);
void dependency_changed(struct engine *engine, struct dependency *object); // decides about blocked users, too
void dependency_drop_content(struct dependency *object);
void dependency_set_problem(char **slot, const char *text); // NULL: none
void dependency_free_all(struct engine *engine);
// What the host may do with the object: copied only if the source permits that.
enum dependency_use dependency_use(const struct engine *engine, const struct dependency *object);
// The state of the source of a copied object alone: UNKNOWN, MISSING, REFUSED, or NEEDED.
enum dependency_state dependency_source_state(const struct dependency *object);
// A hash of the versions of a copy and of the source, for copy.compared; never 0.
uint64_t copy_versions(const struct dependency *object, const struct copy *copy);
bool copy_is_compared(const struct dependency *object, const struct copy *copy); // in these versions
enum dependency_state dependency_state_in(const struct engine *engine, const struct dependency *object, size_t cluster);
const char *dependency_problem_in(const struct dependency *object, size_t cluster);    // or NULL
bool dependency_is_held(const struct engine *engine, const struct dependency *object); // its shard
uint32_t dependency_shard(const struct engine *engine, const struct dependency *object);
bool dependency_is_checked(const struct engine *engine, const struct dependency *object); // and has users
// The copy has users, or may have soon.
bool dependency_is_kept(const struct engine *engine, const struct dependency *object, const struct copy *copy);

// Watches (dependency_watches.c) ----------------------------------------------------------------------------------

struct dependency_watch *dependency_watch_of(struct dependency_resource *resource, size_t cluster); // or NULL
const struct dependency_watch *dependency_watch_in(const struct dependency_resource *resource, size_t cluster);
// Requests a watch of the host, or no longer; `object` NULL: of all objects of the resource. False: out of memory.
bool dependency_set_watch(struct engine *engine, const struct dependency_resource *resource,
                          const struct dependency *object, size_t cluster, bool on);
void dependency_watch_object(struct engine *engine, struct dependency *object); // and its copies
void dependency_watch_copied(struct engine *engine); // all copied resources in all workers, for copies without a user
void dependency_forget_watches(struct engine *engine, size_t cluster); // the host has none there

// Needs (dependency_needs.c) --------------------------------------------------------------------------------------

bool needs_is_unfinished(const struct entry *entry); // a workload that is not being deleted either
void needs_refresh(struct engine *engine, struct entry *entry, bool stands_by);
void needs_free(struct engine *engine, struct entry *entry);
void needs_free_all(struct dependency_part *all); // with the engine: the entries are gone
void needs_workload_ends(struct engine *engine, struct entry *entry);
// D5: the worker has a mirror in the namespace ("": in any) with unknown needs; true also when out of memory.
bool needs_hold(struct engine *engine, const char *namespace_, size_t cluster);
// Counts the needs as users in their places, or no longer.
void needs_count_users(struct engine *engine, const struct needs *needs, bool add);

// Uses (dependency_uses.c) ----------------------------------------------------------------------------------------

// The references of an object that was read.
void needs_read_object(struct engine *engine, struct dependency *object, const struct json *content);
void needs_drop_refers(struct dependency *object);
// The namespace of a reference: "" for a cluster-scoped object, the named one, or that of the workload, into `space`.
const char *needs_namespace(const struct entry *entry, bool cluster_scoped, const char *named, char space[254]);

struct use *needs_find_use(const struct uses *uses, const struct dependency *object); // or NULL
// Adds a use, or changes that of the same object: one reference that is not optional, or that the workload wants, makes
// the use so.
enum put_use { PUT_FAILED, PUT_NOTHING, PUT_STRONGER, PUT_NEW };
enum put_use needs_put_use(struct uses *uses, const struct use *use);
// From the direct references to all uses. D5: while there is a mirror, `keep`, former uses stay.
void needs_close(struct engine *engine, struct needs *needs, bool keep);
void needs_drop_uses(struct engine *engine, struct uses *uses);

// News (dependency_news.c) ----------------------------------------------------------------------------------------

// The subject of the seal of a copy; `kind`: memory for a text in it.
#define COPY_KIND_MAX (REFERENCE_RESOURCE_MAX + 8)
struct seal_subject copy_seal_subject(const struct engine *engine, const struct dependency *object, size_t cluster,
                                      const char *source_uid, char kind[COPY_KIND_MAX]);
void dependency_on_event(struct engine *engine, struct engine_event *event);
void dependency_see_copy(struct engine *engine, struct dependency *object, struct copy *copy,
                         const struct json *metadata);
bool copy_is_newer(const struct copy *copy, const struct json *there); // than this version of the same object
void dependency_lose_copy(struct engine *engine, struct dependency *object, struct copy *copy);
void dependency_see_source(struct engine *engine, struct dependency *object, const struct json *metadata);

// Decisions about one copy (copy_decide.c), pure ------------------------------------------------------------------

enum copy_need {
    COPY_UNUSED,
    COPY_REMEMBERED, // unused, but placements of workloads that need the object may avoid the worker
    COPY_KEPT,       // unused, but there are workloads without a placement
    COPY_WANTED      // has users in this worker
};

struct copy_facts {
    struct copy copy;
    enum dependency_use use;
    enum presence source;
    bool usable;   // the worker is connected and identified
    bool consents; // the worker takes new objects of the namespace
    bool held;     // this host holds the shard of the object,
    bool creates;  // or the holder of that has not made the copy for a workload of this host
    bool compares; // of the resource
    enum copy_need need;
    bool current;      // own: has the content of the newest source, and a seal of the present key
    bool compared;     // with the newest source
    int64_t unused_ns; // that of the copy, or later
    int64_t now_ns;
};

enum copy_action_type {
    COPY_NOTHING,
    COPY_WAIT,
    COPY_CREATE,
    COPY_COMPARE, // reads the object there, and changes it if necessary
    COPY_LEAVE,   // reads the object there, and leaves it to other origins
    COPY_DELETE,
    COPY_FORGET // nothing is there, and nobody needs it
};

struct copy_action {
    enum copy_action_type type;
    int64_t at_ns; // WAIT
};
struct copy_action copy_decide(const struct copy_facts *facts);

// Contents (copy_content.c), pure ---------------------------------------------------------------------------------

bool copy_is_denied(const char *resource, const struct json *source); // D9: by its type
// What a copy has of the source, without name and marks; NULL: out of memory.
struct json *copy_content(const char *resource, const struct json *source);
// Adds the name and the marks of this subject. `source`: for MARK_SOURCE; `seal` NULL: none.
bool copy_set_marks(struct json *content, const struct seal_subject *subject, const char *source, const char *seal);
// Whether another writer's object has the same content.
bool copy_equals(const char *resource, const struct json *content, const struct json *there);
// The patch that makes `there` a copy with the content and marks, with preconditions; NULL: out of memory.
// *recreate: the API server permits no such change.
struct json *copy_patch(const char *resource, const struct json *content, const struct json *there, bool *recreate);

// Origins (D8), also pure.
#define COPY_ORIGIN_MAX 254
// The first other origin of MARK_ALSO_USED, which takes the copy over. False: none.
bool copy_heir(const char *list, const char *origin, char out[COPY_ORIGIN_MAX]);
// The patches by which `origin` uses another origin's copy, or no longer, and hands its own copy over to the heir.
// NULL: out of memory, or no heir.
struct json *copy_use_patch(const struct json *there, const char *origin, bool uses);
struct json *copy_hand_over_patch(const struct json *there, const char *origin);

// Requests (dependency_requests.c) --------------------------------------------------------------------------------

bool dependency_has_room(struct engine *engine, size_t cluster);
// `body` NULL: none. False: not sent, for lack of memory.
bool dependency_send(struct engine *engine, struct dependency *object, size_t cluster,
                     enum dependency_request_type type, const char *body);
void dependency_on_answer(struct engine *engine, struct engine_event *event);
void dependency_end_requests(struct engine *engine, size_t cluster); // the worker left

// Work (dependency_work.c) ----------------------------------------------------------------------------------------

void dependency_work(struct engine *engine); // about all touched objects, as far as requests may go out
int64_t dependency_due_ns(struct engine *engine);
// The object in the worker was read: compares another writer's, changes a copy.
void dependency_compare(struct engine *engine, struct dependency *object, struct copy *copy, const struct json *there);
void dependency_read_copy(struct engine *engine, struct dependency *object, struct copy *copy);
void dependency_leave(struct engine *engine, size_t cluster);                          // the worker left
void dependency_on_namespace(struct engine *engine, const struct engine_event *event); // in a worker: tries again

void dependencies_count(struct engine *engine); // dependency_view.c
