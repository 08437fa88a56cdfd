// SPDX-License-Identifier: Apache-2.0
// One trial: a management cluster and a few workers in memory, a network between them and the shipped host (engine,
// links, clients, reflectors, all adapters), users, and faults. All of it is determined by the seed, on virtual
// time: the same seed gives the same trial, byte for byte.
#ifndef WHARF_SIMULATION_TRIAL_H
#define WHARF_SIMULATION_TRIAL_H

#include "core/base/text.h"
#include "core/engine/mirror.h"
#include "core/host/turn.h"
#include "tests/simulation/kinds.h"
#include "tests/world/sim_transport.h"

#define TRIAL_WORKERS 4
#define TRIAL_CLUSTERS (TRIAL_WORKERS + 1)
#define TRIAL_KINDS 4
#define TRIAL_START_NS (INT64_C(1767225600) * CLOCK_SECOND) // 2026-01-01T00:00:00Z
#define TRIAL_ORIGIN "sim"
#define TRIAL_MANAGED_BY "wharf.dev/host"
#define TRIAL_LINES 120

enum trial_back { TRIAL_BACK_NONE, TRIAL_BACK_WORKERS, TRIAL_BACK_ALL };

struct trial_plan { // what the seed determines in advance
    size_t n_clusters;
    bool faults;
    bool plain;        // users only create
    bool gentle_users; // users do not change the host's own data
    bool create_namespaces;
    bool upgrade; // the first process of the host has no key yet; the later ones adopt unsealed mirrors
    bool mirror_finalizer;
    enum trial_back back; // clusters are restored from copies, or wiped
    bool late_threads;    // a batch of commands may wait until the thread of its cluster runs
    bool short_queue;     // of events to the engine: links wait for it to take some
    double qps;           // rateLimit, with a burst of 10; 0: none
    unsigned window_max;  // of requests in flight to each cluster; 0: as the host finds it
    bool burst;           // users create everything at once
    bool slow;            // the last worker, or the management cluster, takes 5 s for each request
    size_t slow_cluster;
    bool queues;    // in some workers a queue suspends and resumes Jobs
    bool stripping; // a webhook in the workers removes a carried label
    bool takeover;  // a worker is lost, and about when it is given up it is back and slow, and the host is restarted
    bool members;   // workers join, are drained, and leave
    bool costs;     // requests take servers time, and wait for each other
    int64_t kind_added_ns; // the last kind is in the host's configuration from then on; CLOCK_NEVER: it always was
    int64_t lost_timeout_ns, retention_ns, orphan_grace_ns;
    int64_t mass_max;
    int64_t trouble_end_ns; // users and faults end by then
};

struct tap;
struct sent; // a batch of commands in flight to a link

struct instance { // the host process; another one after each restart
    unsigned number;
    struct turn turn; // of its engine
    struct event_queue *queue;
    struct sent *sent[TRIAL_CLUSTERS];
    struct link *links[TRIAL_CLUSTERS];
    struct tap *taps[TRIAL_CLUSTERS];
    int64_t link_due_ns[TRIAL_CLUSTERS];  // virtual time, as all that follows
    int64_t configure_ns[TRIAL_CLUSTERS]; // when its link learns of a kind that was added; 0: it need not
    bool dirty[TRIAL_CLUSTERS];           // its link has to be called
    int64_t wake_ns, asleep_until_ns;
    int64_t clock_ns; // when its monotonic clock was zero
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
    struct random random; // of the scenario
    struct trial_plan plan;
    int64_t now_ns;
    uint64_t steps_now;                        // without time passing
    const struct sim_kind *kinds[TRIAL_KINDS]; // the first is Job
    struct kind *engine_kinds[TRIAL_KINDS];    // the same
    size_t n_kinds;
    size_t n_configured; // of them: kinds that the host has
    struct world_cluster *worlds[TRIAL_CLUSTERS];
    struct side sides[TRIAL_CLUSTERS];
    const char *names[TRIAL_CLUSTERS];
    struct sim_net *net;
    struct seal_keys *seals; // of the host
    struct instance host;
    bool user_acts; // current writes are a user's
    struct users *users;
    struct crds *crds;
    struct faults *faults;
    struct members *members;
    struct pests *pests;
    struct queues *queues;
    struct pace_rules *pace;
    struct status_rules *status;
    struct promises *promises;
    struct rules *rules;
    uint64_t hash; // of all the host's requests and all writes
    char *failure; // the rule that was violated, and how; NULL: none
    int64_t failed_ns;
    bool tracing, telling;
    char (*lines)[320]; // the last ones
    size_t n_lines;
};

// `tracing` keeps the last lines, `telling` prints all to stderr. NULL when out of memory.
struct trial *trial_new(uint64_t seed, bool tracing, bool telling);
void trial_free(struct trial *trial);

// Until the trial is over or a rule is violated. True: passed.
bool trial_run(struct trial *trial);

void trial_trace(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The first failure is kept.
void trial_fail(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
void trial_hash(struct trial *trial, const char *text, size_t len);

uint64_t trial_below(struct trial *trial, uint64_t bound);
bool trial_chance(struct trial *trial, unsigned percent);
int64_t trial_between(struct trial *trial, int64_t low_ns, int64_t high_ns);

// The users' own, besides default.
void trial_add_namespace(struct trial *trial, size_t cluster);

const struct json *trial_object(struct trial *trial, size_t cluster, size_t kind, const char *namespace_,
                                const char *name);
// The managedBy of an object that was read from the management cluster.
bool trial_is_ours(const struct trial *trial, size_t kind, const struct json *object);
// The index of a kind; n_kinds: none of this trial's.
size_t trial_kind(const struct trial *trial, const char *group, const char *plural);

// instance.c
bool instance_start(struct trial *trial);
void instance_stop(struct trial *trial);
// Hands events to the engine and calls links, until nothing is due now.
void instance_run(struct trial *trial);
int64_t instance_due(const struct trial *trial);
void instance_add_kind(struct trial *trial); // when that is due
// A connection of a cluster; and an event of the host's own, as inbox_post_now.
void instance_open(struct trial *trial, size_t cluster);
void instance_close(struct trial *trial, size_t cluster);
void instance_post(struct trial *trial, struct engine_event *event);

// tap.c: a transport that passes every request to the rules.
struct tap *tap_new(struct trial *trial, size_t cluster);
struct transport *tap_transport(struct tap *tap);

#endif
