// SPDX-License-Identifier: Apache-2.0
// One trial: a management cluster and a few workers in memory, a network between them and the shipped host (engine,
// links, clients, reflectors, all adapters), users, and faults. All of it is determined by the seed, on virtual
// time: the same seed gives the same trial, byte for byte.
#pragma once

#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/turn/turn.h"
#include "tests/simulation/kinds.h"
#include "tests/world/sim_transport.h"

#include <stdio.h>

#define TRIAL_WORKERS 20 // at most; 2 to 20 by seed (trial_plan.n_clusters)
#define TRIAL_CLUSTERS (TRIAL_WORKERS + 1)
#define TRIAL_HOSTS 8
#define TRIAL_SHARDS 8
#define TRIAL_KINDS 4
#define TRIAL_START_NS (INT64_C(1767225600) * CLOCK_SECOND) // 2026-01-01T00:00:00Z
#define TRIAL_ORIGIN "sim"
#define TRIAL_MANAGED_BY "wharf.dev/host"
#define TRIAL_LINES 120

enum trial_back { TRIAL_BACK_NONE, TRIAL_BACK_WORKERS, TRIAL_BACK_ALL };

struct trial_plan { // what the seed determines in advance
    size_t n_clusters, hosts;
    bool faults;
    bool plain;        // users only create
    bool gentle_users; // users do not change the host's own data
    bool create_namespaces;
    bool upgrade; // the first process of the host has no key yet; the later ones adopt unsealed mirrors
    bool mirror_finalizer;
    bool last_words;      // the deletion of failed mirrors waits
    enum trial_back back; // clusters are restored from copies, or wiped
    bool late_threads;    // a batch of commands may wait until the thread of its cluster runs
    bool short_queue;     // of events to the engine: links wait for it to take some
    double qps;           // rateLimit, with a burst of 10; 0: none
    unsigned window_max;  // of requests in flight to each cluster; 0: as the host finds it
    bool burst;           // users create everything at once
    bool slow;            // the last worker, or the management cluster, takes 5 s for each request
    size_t slow_cluster;
    bool queues;     // in some workers a queue suspends and resumes Jobs
    bool stripping;  // a webhook in the workers removes a carried label
    bool takeover;   // a worker is lost, and about when it is given up it is back and slow, and the host is restarted
    bool members;    // workers join, are drained, and leave
    bool elects;     // replicas of the host share the work out by the shipped election
    uint32_t shards; // whose leases the host has to hold; 0: it needs none
    bool steady;     // at the end one trouble stays for a while
    bool places;     // placement is configured, and users say where Jobs may go
    bool spaces;     // not all namespaces are permitted
    bool fields;     // some workers drop a field, which requireFields names
    bool intake;     // maxWorkloads is set
    bool wait;       // onWorkerLost: wait, in most namespaces
    bool raters;     // adapters rate the workers
    bool capacity;   // workers have nodes, and the host looks at what they have left
    bool rough;      // with capacity: every trouble, nodes that come and go, and users who interfere
    bool costs;      // requests take servers time, and wait for each other
    bool breaks;     // in processes that fail
    bool needs;      // workloads refer to objects, which are copied or checked
    bool tenants;    // the host acts as tenants in workers,
    bool removes;    // and removes what runs where the consent is gone
    bool progress;   // Jobs have many pods, which end one by one, and not every worker takes a status
    bool guards;     // fencing is enabled, with a guard in each worker
    int64_t kind_added_ns; // the last kind is in the host's configuration from then on; CLOCK_NEVER: it always was
    int64_t lost_timeout_ns, retention_ns, orphan_grace_ns;
    int64_t pending_timeout_ns, give_up_after_ns; // 0: off
    bool starved[TRIAL_CLUSTERS];                 // workers in which no pod ever becomes ready
    int64_t mass_max;
    int64_t trouble_end_ns; // users and faults end by then
};

struct breaks;
struct cuts;
struct fields;
struct intake;
struct need_rules;
struct needs;
struct progress_rules;
struct spaces;
struct tap;
struct tenants_play;
struct sent; // a batch of commands in flight to a cluster_io

#define ACCOUNTS_SEEN 256

struct account_seen { // by account_rules.h
    unsigned process, turns;
    struct account_counted {
        uint64_t key; // 0: free
        double seconds;
    } rows[ACCOUNTS_SEEN];
};

struct instance { // a replica of the host: its process, another one after each restart
    struct trial *trial;
    size_t index;
    unsigned number; // of the process, among all
    bool alive;
    size_t n_configured; // kinds that it has been told of
    struct members *members;
    struct pace_rules *pace;
    struct account_seen accounts;
    struct turn turn; // of its engine
    struct event_queue queue;
    struct sent *sent[TRIAL_CLUSTERS];
    struct cluster_io *links[TRIAL_CLUSTERS];
    struct tap *taps[TRIAL_CLUSTERS];
    int64_t link_due_ns[TRIAL_CLUSTERS];  // virtual time, as all that follows
    int64_t configure_ns[TRIAL_CLUSTERS]; // when its io learns of a kind that was added; 0: it need not
    bool dirty[TRIAL_CLUSTERS];           // its io has to be called
    int64_t wake_ns, asleep_until_ns;     // its engine; and the whole process:
    int64_t stopped_until_ns;
    int64_t clock_ns;   // when its monotonic clock was zero
    int64_t wall_ns;    // how wrong its other one is,
    int64_t ahead_ns;   // and by how much it was ever ahead
    struct gates gates; // plan.elects: of its shards
    // What it knows about the clusters and their feeds.
    bool silent[TRIAL_CLUSTERS];
    char identity[TRIAL_CLUSTERS][40];  // the first that it read
    int64_t refused_ns[TRIAL_CLUSTERS]; // when it read another one; 0: it has not
    struct {
        bool listed, connected, heard; // heard: of its state
        int64_t lost_ns;
    } feeds[TRIAL_CLUSTERS][TRIAL_KINDS];
};

struct side { // a cluster and whose it is, for hooks
    struct trial *trial;
    size_t cluster;
};

struct trial {
    uint64_t seed;
    struct cuts *cuts;    // what is left out of the plan; NULL: nothing
    struct random random; // of the scenario
    struct trial_plan plan;
    int64_t now_ns;
    uint64_t steps_now;                        // without time passing
    const struct sim_kind *kinds[TRIAL_KINDS]; // the first is Job
    struct kind *engine_kinds[TRIAL_KINDS];    // the same
    size_t n_kinds;
    size_t n_configured; // of them: kinds in the configuration
    struct world_cluster *worlds[TRIAL_CLUSTERS];
    struct side sides[TRIAL_CLUSTERS];
    char names_of[TRIAL_CLUSTERS][12];
    const char *names[TRIAL_CLUSTERS];
    struct sim_net *net;
    struct seal_keys *seals;            // of the host
    struct instance hosts[TRIAL_HOSTS]; // plan.hosts of them
    struct instance *host;              // the one that is at work, or was last; and what is known of it:
    struct members *members;
    struct pace_rules *pace;
    unsigned processes; // that have been started, of all
    bool user_acts;     // current writes are a user's
    struct users *users;
    struct crds *crds;
    struct faults *faults;
    struct breaks *breaks;
    struct guards *guards;
    struct pests *pests;
    struct steady *steady;
    struct leases *leases;
    struct crew *crew;
    struct queues *queues;
    struct rooms *rooms;
    struct spaces *spaces;
    struct tenants_play *tenants;
    struct intake *intake;
    struct needs *needs;
    struct need_rules *need_rules;
    struct fields *fields;
    struct status_rules *status;
    struct promises *promises;
    struct progress_rules *progress;
    struct rules *rules;
    uint64_t hash; // of all the host's requests and all writes
    char *failure; // the rule that was violated, and how; NULL: none
    int64_t failed_ns;
    bool tracing, telling;
    char (*lines)[320]; // the last ones
    size_t n_lines;
};

// `tracing` keeps the last lines, `telling` prints all to stderr; `cuts` may be NULL. NULL when out of memory.
// `replicas`: with several, or one, of the host (crew.h). As below.
struct trial *trial_new(uint64_t seed, bool replicas, bool tracing, bool telling, struct cuts *cuts);
void trial_free(struct trial *trial);

// Until the trial is over or a rule is violated. True: passed.
bool trial_run(struct trial *trial);

// The failure, and the last lines of the trace.
void trial_tell(const struct trial *trial, FILE *out);

void trial_trace(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The first failure is kept.
void trial_fail(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
void trial_hash(struct trial *trial, const char *text, size_t len);

uint64_t trial_below(struct trial *trial, uint64_t bound);
bool trial_chance(struct trial *trial, unsigned percent);
int64_t trial_between(struct trial *trial, int64_t low_ns, int64_t high_ns);

const struct json *trial_object(struct trial *trial, size_t cluster, size_t kind, const char *namespace_,
                                const char *name);
// The managedBy of an object that was read from the management cluster.
bool trial_is_ours(const struct trial *trial, size_t kind, const struct json *object);
// The index of a kind; n_kinds: none of this trial's.
size_t trial_kind(const struct trial *trial, const char *group, const char *plural);

// instance.c: about trial->host.
struct trial *instance_enter(struct instance *host); // makes it trial->host
struct moment instance_moment(const struct trial *trial);
bool instance_is_awake(const struct trial *trial);
bool instance_start(struct trial *trial);
void instance_stop(struct trial *trial);
// Hands events to the engine and calls links, until nothing is due now.
void instance_run(struct trial *trial);
int64_t instance_due(const struct trial *trial);
void instance_add_kind(struct trial *trial);  // when that is due
void instance_configure(struct trial *trial); // the settings of all replicas have changed
// A connection of a cluster; and an event of the host's own, as inbox_post_now.
void instance_open(struct trial *trial, size_t cluster);
void instance_close(struct trial *trial, size_t cluster);
void instance_post(struct trial *trial, struct engine_event *event);

// tap.c: a transport that passes every request to the rules. With plan.elects it can be cut for this replica alone, and
// its streams can lag behind (replica_tap.h).
struct tap *tap_new(struct trial *trial, size_t cluster);
struct transport *tap_transport(struct tap *tap);
void tap_cut(struct tap *tap, bool cut);
void tap_lag(struct tap *tap, int64_t lag_ns);
void tap_run(struct tap *tap);
int64_t tap_due(const struct tap *tap);
// A write in flight that is bound to the gate; NULL: none.
const char *tap_in_flight(const struct tap *tap, const struct gate *gate);
