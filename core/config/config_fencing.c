// SPDX-License-Identifier: Apache-2.0
// fencing: {enabled, fenceAfter, namespace, withoutGuard}.
#include "core/base/clock.h"
#include "core/config/config_reader.h"

#define LEAST_NS (10 * CLOCK_SECOND)
#define MOST_NS (1440 * CLOCK_MINUTE)

static void read_after(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    int64_t after_ns = 0;
    const char *text = json_string(value);
    if (text && clock_parse_duration(text, &after_ns) && after_ns % CLOCK_SECOND == 0 && after_ns >= LEAST_NS &&
        after_ns <= MOST_NS)
        *(int64_t *)target = after_ns;
    else
        config_wrong(reader, place, value, "a duration of whole seconds from 10s to 24h, such as 5m");
}

static void read_unguarded(struct config_reader *reader, const struct config_place *place, const struct json *value,
                           void *target) {
    static const char *const words[] = {"redispatch", "wait"};
    int index = config_read_word(reader, place, value, words, 2, "wait or redispatch");
    if (index >= 0)
        *(bool *)target = index == 1;
}

void config_read_fencing(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    static const struct config_field fields[] = {
        {"enabled", config_read_bool, offsetof(struct config, engine.fencing.enabled), false,
         "Default false. Whether a Lease is renewed in each worker for the guard there, without which it stops this "
         "host's mirrors; and whether a lost worker is given up only once its guard has certainly done so."},
        {"fenceAfter", read_after, offsetof(struct config, engine.fencing.after_ns), false,
         "Default 5m. How long the guard waits for the host. workerLostTimeout has to be at least 2.25 times "
         "that and 5s, and with leaderElection this at least twice leaseDuration."},
        {"namespace", config_read_label, offsetof(struct config, fencing_namespace), false,
         "Default wharf-system. The namespace of the guard and of the Leases in each worker."},
        {"withoutGuard", read_unguarded, offsetof(struct config, engine.fencing.wait), false,
         "Default wait. What becomes of workloads in a lost worker where this host has not seen a guard: wait for the "
         "worker, or redispatch after workerLostTimeout as without fencing."},
    };
    config_mapping(reader, place, value, fields, sizeof fields / sizeof fields[0], target);
}

// Otherwise the guard would stop what runs before another replica has taken over. The beat that came back last may be
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

// Like fence_sure_ns: for as long as fenceAfter no guard may have run, and it takes some time to stop what runs.
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
