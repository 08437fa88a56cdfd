// SPDX-License-Identifier: Apache-2.0
// The section `leaderElection`, and `shards`.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

#define LEASE_NAME_LEN 63 // of a label's value, which it is too
#define SHARDS_MAX 64     // ELECTION_SHARDS_MAX
#define LONGEST_NS (1440 * CLOCK_MINUTE)

void config_election_clear(struct config_election *election) {
    free(election->namespace_);
    free(election->name);
    *election = (struct config_election){.enabled = false};
}

static void read_name(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    static const char expected[] = "the name of a Lease (RFC 1123 subdomain) of at most 63 characters";
    const char *text = config_text(reader, place, value, expected);
    if (text && (strlen(text) > LEASE_NAME_LEN || !text_is_dns_subdomain(text)))
        config_wrong(reader, place, value, expected);
    else if (text)
        config_keep(reader, target, text);
}

void config_read_election(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    static const struct config_field fields[] = {
        {"enabled", config_read_bool, offsetof(struct config_election, enabled), false,
         "Default false. Only the holder of the Lease writes; the other replicas stand by."},
        {"namespace", config_read_label, offsetof(struct config_election, namespace_), false,
         "Of the Lease, in the management cluster. Default: the host's own (`namespace`)."},
        {"name", read_name, offsetof(struct config_election, name), false,
         "Of the Lease; the same in all replicas. Default: wharf-ORIGIN."},
        {"leaseDuration", config_read_positive, offsetof(struct config_election, lease_ns), false,
         "Default 15s. How long a replica waits for a holder that no longer renews it."},
        {"renewDeadline", config_read_positive, offsetof(struct config_election, renew_ns), false,
         "Default 10s. How long after its last renewal the holder writes."},
        {"retryPeriod", config_read_positive, offsetof(struct config_election, retry_ns), false,
         "Default 2s. Between renewals; replicas that stand by look twice as often."},
    };
    struct config_election *election = target;
    election->line = config_line(reader, place);
    config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]), election);
}

void config_read_shards(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    struct config_election *election = target;
    int64_t count = json_int64(value, 0);
    if (!json_is(value, JSON_NUMBER) || count < 1 || count > SHARDS_MAX) {
        config_wrong(reader, place, value, "a whole number from 1 to 64");
        return;
    }
    election->shards = count;
    election->shards_line = config_line(reader, place);
}

static void problem(struct config_reader *reader, size_t line, const char *text) {
    problems_add(reader->problems, "%s:%zu: %s", reader->file, line, text);
}

void config_check_election(struct config_reader *reader) {
    const struct config_election *election = &reader->config->election;
    if (election->shards > 1 && !election->enabled)
        problem(reader, election->shards_line,
                "shards: found more than one without leaderElection.enabled: true, which shares them out");
    if (election->lease_ns % CLOCK_SECOND != 0 || election->lease_ns > LONGEST_NS)
        problem(reader, election->line, "leaderElection.leaseDuration: expected whole seconds, at most 24h");
    if (election->lease_ns <= election->renew_ns)
        problem(reader, election->line, "leaderElection: found renewDeadline not below leaseDuration");
    if (election->renew_ns > LONGEST_NS) // the products would overflow
        return;
    if (election->renew_ns - election->retry_ns < CLOCK_SECOND || election->renew_ns * 5 <= election->retry_ns * 6)
        problem(reader, election->line,
                "leaderElection: expected renewDeadline above 1.2 times retryPeriod, and by at least 1s");
}
