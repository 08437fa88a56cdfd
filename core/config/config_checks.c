// SPDX-License-Identifier: Apache-2.0
// Checks of keys against each other: leaderElection and shards, fencing, memory.
#include "core/base/clock.h"
#include "core/config/config_reader.h"

#define LONGEST_NS (1440 * CLOCK_MINUTE)
#define NODE_BYTES 64 // see json.h

static void report_line(struct config_reader *reader, size_t line, const char *text) {
    problems_add(reader->problems, "%s:%zu: %s", reader->file, line, text);
}

void config_check_election(struct config_reader *reader) {
    const struct config_election *election = &reader->config->election;
    if (election->shards > 1 && !election->enabled)
        report_line(reader, election->shards_line,
                    "shards: found more than one without leaderElection.enabled: true, which shares them out");
    if (election->lease_ns % CLOCK_SECOND != 0 || election->lease_ns > LONGEST_NS)
        report_line(reader, election->line, "leaderElection.leaseDuration: expected whole seconds, at most 24h");
    if (election->lease_ns <= election->renew_ns)
        report_line(reader, election->line, "leaderElection: found renewDeadline not below leaseDuration");
    if (election->renew_ns > LONGEST_NS) // the products would overflow
        return;
    if (election->renew_ns - election->retry_ns < CLOCK_SECOND || election->renew_ns * 5 <= election->retry_ns * 6)
        report_line(reader, election->line,
                    "leaderElection: expected renewDeadline above 1.2 times retryPeriod, and by at least 1s");
}

// Otherwise the guard would stop mirrors before another replica has taken over. The last heartbeat that returned may be
// three eighths of fenceAfter old.
static void check_takeover(struct config_reader *reader) {
    const struct config *config = reader->config;
    int64_t least_ns = 2 * config->election.lease_ns;
    struct config_place root = {.up = NULL}, fencing = {.up = &root, .key = "fencing"};
    char after[CLOCK_RFC3339_MAX], least[CLOCK_RFC3339_MAX];
    if (!config->election.enabled || config->engine.fencing.after_ns >= least_ns)
        return;
    clock_duration_text(config->engine.fencing.after_ns, after);
    clock_duration_text(least_ns, least);
    config_problem(reader, &(struct config_place){.up = &fencing, .key = "fenceAfter"},
                   "found %s, expected at least %s, twice leaderElection.leaseDuration", after, least);
}

// Like fence_sure_ns: all guards may have been down for fenceAfter, and stopping the mirrors takes some time.
void config_check_fencing(struct config_reader *reader) {
    const struct config *config = reader->config;
    int64_t after_ns = config->engine.fencing.after_ns, sure_ns = 2 * after_ns + after_ns / 4 + 5 * CLOCK_SECOND;
    struct config_place root = {.up = NULL};
    if (!config->engine.fencing.enabled)
        return;
    check_takeover(reader);
    if (config->engine.worker_lost_timeout_ns >= sure_ns)
        return;
    char after[CLOCK_RFC3339_MAX], sure[CLOCK_RFC3339_MAX], lost[CLOCK_RFC3339_MAX];
    clock_duration_text(after_ns, after);
    clock_duration_text(sure_ns, sure);
    clock_duration_text(config->engine.worker_lost_timeout_ns, lost);
    config_problem(reader, &(struct config_place){.up = &root, .key = "workerLostTimeout"},
                   "found %s, expected at least %s, since fencing.fenceAfter is %s", lost, sure, after);
}

// An object must fit into one share of a cluster's memory budget.
void config_check_memory(struct config_reader *reader) {
    const struct config *config = reader->config;
    const struct config_place root = {.up = NULL}, memory = {.up = &root, .key = "memory"};
    size_t share = config->memory_per_cluster / 8;
    if (config->max_object_size > share)
        config_problem(reader, &memory,
                       "maxObjectSize: found %zu bytes, expected at most an eighth of perCluster, %zu bytes",
                       config->max_object_size, share);
    if (config->max_object_nodes > 2 * share / NODE_BYTES)
        config_problem(reader, &memory, "maxObjectNodes: found %zu, expected at most %zu with this perCluster",
                       config->max_object_nodes, 2 * share / NODE_BYTES);
}
