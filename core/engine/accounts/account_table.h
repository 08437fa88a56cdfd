// SPDX-License-Identifier: Apache-2.0
// The sums of the accounts, shared by the files of this folder. Each change of a workload takes its former share off
// and adds the new one, so that all sums are linear functions of the time between two changes.
#pragma once

#include "core/base/map.h"
#include "core/engine/accounts/account_sums.h"
#include "core/engine/capacity/nodes.h"
#include "core/engine/engine_internal.h"

#define ACCOUNTS_MAX 2000                   // further ones share one account without names
#define ACCOUNTS_INVENTED 200               // of these, of workers that the host does not have: authors may name any
#define ACCOUNT_IDLE_NS (60 * CLOCK_MINUTE) // one without workloads stays for so long, for Prometheus
#define ACCOUNT_CLUSTERS 16                 // of former attempts of one workload; further ones are not counted

struct usage { // what all pods of a workload request; equal ones are shared
    uint32_t refs;
    bool open; // the device classes of some claims are not known
    struct amounts *amounts;
    char key[];
};

struct growth { // fixed + rate * t, with t in seconds since accounts.begun
    double fixed, rate;
};

struct account {
    const char *namespace_, *kind, *cluster; // in `key`
    size_t refs;                             // workloads with a share
    size_t workloads, running;
    int64_t idle_ns; // since (monotonic), without refs
    bool counts;     // some share was counted
    bool invented;   // the host had no such worker when the account was made
    size_t n_series;
    struct series {
        struct growth used, counted;
        double shown; // a counter never falls
    } * series;       // as in account_row
    char key[];
};

struct accounts {
    struct moment begun;
    struct map by_key, usages;
    struct account *others;
    size_t n_invented;
    struct resource_names names;
    uint64_t held;                  // shards, at the last step
    int64_t held_since[SHARDS_MAX]; // by account_now
    bool changed;                   // since `sums` were made
    int64_t full_ns;                // no search for idle accounts before
};

// The time of the accounts: the wall clock when the process began, which nobody sets later.
static inline int64_t account_now(const struct engine *engine) {
    const struct moment *begun = &engine->accounts->begun;
    return begun->wall_ns + (engine->now.mono_ns - begun->mono_ns);
}

// The requests of the entry's workload, with a reference; NULL: not known now. *open as in struct usage.
struct usage *usage_of(struct engine *engine, struct entry *entry);
void usage_unref(struct accounts *accounts, struct usage *usage); // NULL is fine

// With one more reference; never NULL.
struct account *account_ref(struct engine *engine, const struct entry *entry, const char *cluster);
void account_unref(struct engine *engine, struct account *account); // NULL is fine

struct share { // of a workload in the sums of an account
    int64_t over_ns;
    int64_t since_ns; // by account_now, of the part that grows; 0: none
};
enum sum { SUM_USED, SUM_COUNTED };
// Adds the share (sign 1), or takes it off (-1).
void account_add(struct engine *engine, struct account *account, const struct usage *usage, enum sum sum,
                 struct share share, int sign);

// A new block of the present sums, with one reference. NULL: out of memory.
struct account_sums *account_sums_new(const struct accounts *accounts);
struct accounts *accounts_new(struct moment now, uint64_t seed); // NULL: out of memory
void accounts_free(struct accounts *accounts);
