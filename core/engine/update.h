// SPDX-License-Identifier: Apache-2.0
// The output of an engine step: requests to send, Events and log lines to write, relists, and the due time of the
// next step.
#pragma once

#include "core/base/log.h"
#include "core/engine/event.h"

// A request to a cluster. The command owns all strings.
struct command {
    uint64_t id; // answered with EVENT_ANSWER exactly once
    size_t cluster;
    uint32_t shard; // the host must hold the lease of this shard while sending
    struct request request;
    char *memory; // holds the request's strings
};

// An Event to record on a workload in the management cluster.
#define WORKLOAD_EVENT_TEXTS 6
struct workload_event { // the texts first, see struct_copy_with_texts; all in `memory`
    const char *reason, *text;
    const char *api_version, *namespace_, *name, *uid;
    const char *action; // static
    size_t kind;
    bool warning;
    void *memory; // owned
};

// A line for the log about a cluster, or about one kind or object in it.
struct log_message {
    enum log_level level;
    size_t cluster, kind; // kind LOG_NO_KIND: about the cluster
    char *text;           // owned
    char *object;         // "namespace/name", owned; or NULL
    const char *action;   // of a decision, else NULL; static
    const char *reason;   // of the decision, or NULL; static
};
#define LOG_NO_KIND SIZE_MAX

// A kind to list again, since the engine accepts objects now that were dropped before.
#define RELIST_NAMESPACES SIZE_MAX // instead of a kind: watch namespaces and quotas for a while (namespace_retry_wait)
struct relist {
    size_t cluster, kind;
};

// The owner reuses one update for all steps.
struct update {
    struct command *commands;
    size_t n_commands, cap_commands;
    struct workload_event *events;
    size_t n_events, cap_events;
    struct log_message *log;
    size_t n_log, cap_log;
    struct relist *relists;
    size_t n_relists, cap_relists;
    int64_t wake_ns; // due time of EVENT_TIME (monotonic), CLOCK_NEVER: at the next event
};

void command_free(struct command *command);
void workload_event_free(struct workload_event *event);
void log_message_free(struct log_message *message);
void update_clear(struct update *update);
void update_free(struct update *update);

// Copies the text, terminated, to `at` and advances `at`; returns the copy.
const char *update_string(char **at, const char *text, size_t len);
