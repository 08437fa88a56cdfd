// SPDX-License-Identifier: Apache-2.0
// The columns of `wharf status`, from the JSON of the host's API (docs/api.md).
#include "core/base/buffer.h"
#include "core/cmd/status/status.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#define CELL_MAX ((size_t)1 << 20)
#define COUNTS_MAX ((size_t)64 << 10)

static long long number_of(const struct json *item, const char *key) {
    return (long long)json_int64(json_get(item, key), 0);
}

static void put_text(const struct json *item, const char *key, struct buffer *cell) {
    buffer_text(cell, status_text(item, key));
}

static void put_waiting(const struct json *item, const char *key, struct buffer *cell) {
    put_text(json_get(item, "waiting"), key, cell);
}

static void put_yes(const struct json *item, const char *key, struct buffer *cell) {
    buffer_text(cell, json_bool(json_get(item, key), false) ? "yes" : "no");
}

static void put_number(const struct json *item, const char *key, struct buffer *cell) {
    buffer_printf(cell, "%lld", number_of(item, key));
}

// As k8s.io/apimachinery's duration.HumanDuration: two units while the first is small.
static void put_age(const struct json *item, const char *key, struct buffer *cell) {
    static const struct {
        long long below, first, second; // seconds; second 0: one unit
        char unit, rest;
    } steps[] = {{120, 1, 0, 's', 0},          {600, 60, 1, 'm', 's'},    {10800, 60, 0, 'm', 0},
                 {28800, 3600, 60, 'h', 'm'},  {172800, 3600, 0, 'h', 0}, {691200, 86400, 3600, 'd', 'h'},
                 {LLONG_MAX, 86400, 0, 'd', 0}};
    int64_t then_ns = 0;
    size_t i = 0;
    if (!clock_parse_rfc3339(status_text(item, key), &then_ns))
        return;
    long long s = (long long)((clock_now().wall_ns - then_ns) / CLOCK_SECOND);
    s = s < 0 ? 0 : s;
    while (s >= steps[i].below)
        i++;
    long long rest = steps[i].second ? s % steps[i].first / steps[i].second : 0;
    buffer_printf(cell, "%lld%c", s / steps[i].first, steps[i].unit);
    if (rest > 0)
        buffer_printf(cell, "%lld%c", rest, steps[i].rest);
}

// "3/10" of a worker with maxActive.
static void put_active(const struct json *item, const char *key, struct buffer *cell) {
    put_number(item, key, cell);
    if (json_get(item, "maxActive"))
        buffer_printf(cell, "/%lld", number_of(item, "maxActive"));
}

// With the order of an operator, if the state is that of the connection: "Unreachable,Draining".
static void put_state(const struct json *item, const char *key, struct buffer *cell) {
    const char *own = status_text(item, key);
    const char *closed = json_bool(json_get(item, "leaving"), false)    ? "Leaving"
                         : json_string(json_get(item, "drain"))         ? "Draining"
                         : json_bool(json_get(item, "cordoned"), false) ? "Cordoned"
                                                                        : own;
    buffer_text(cell, own);
    if (strcmp(own, closed) != 0)
        buffer_printf(cell, ",%s", closed);
}

static void put_latency(const struct json *item, const char *key, struct buffer *cell) {
    const struct json *p50 = json_path(item, key, "p50", NULL);
    double ms = json_double(p50, 0) * 1000;
    if (json_is(p50, JSON_NUMBER))
        buffer_printf(cell, ms < 10 ? "%.1fms" : "%.0fms", ms);
}

static void put_contact(const struct json *item, const char *key, struct buffer *cell) {
    const struct json *seconds = json_get(item, key);
    char duration[CLOCK_RFC3339_MAX];
    clock_duration_text((int64_t)json_double(seconds, 0) * CLOCK_SECOND, duration);
    if (strcmp(status_text(item, "contact"), "rejected") == 0)
        buffer_text(cell, "rejected");
    else if (json_is(seconds, JSON_NULL))
        buffer_text(cell, "never");
    else if (json_is(seconds, JSON_NUMBER))
        buffer_printf(cell, "%s ago", duration);
}

static void put_labels(const struct json *item, const char *key, struct buffer *cell) {
    for (const struct json *label = json_first(json_get(item, key)); label; label = json_next(label))
        buffer_printf(cell, "%s%s=%s", cell->len ? "," : "", json_key(label), json_string_or(label, ""));
}

static void put_window(const struct json *item, const char *key, struct buffer *cell) {
    buffer_printf(cell, "%lld/%lld", number_of(item, key), number_of(item, "window"));
}

static void put_kinds(const struct json *item, const char *key, struct buffer *cell) {
    for (const struct json *kind = json_first(json_get(item, key)); kind; kind = json_next(kind))
        buffer_printf(cell, "%s%s", cell->len ? "," : "", status_text(kind, "kind"));
}

static void put_changed(const struct json *item, const char *key, struct buffer *cell) {
    put_age(item, *status_text(item, key) ? key : "placedAt", cell);
}

static void put_phase(const struct json *item, const char *key, struct buffer *cell) {
    buffer_text(cell, json_bool(json_get(item, "deleting"), false) ? "Deleting" : status_text(item, key));
}

// "token, 23h"; "token, expired".
static void put_credentials(const struct json *item, const char *key, struct buffer *cell) {
    const struct json *of = json_get(item, key);
    int64_t at_ns = 0;
    char left[CLOCK_RFC3339_MAX];
    put_text(of, "kind", cell);
    if (!clock_parse_rfc3339(status_text(of, "expiresAt"), &at_ns))
        return;
    int64_t left_ns = at_ns - clock_now().wall_ns;
    clock_duration_text(left_ns / CLOCK_MINUTE * CLOCK_MINUTE, left);
    buffer_printf(cell, ", %s", left_ns <= 0 ? "expired" : left);
}

static void put_guard(const struct json *item, const char *key, struct buffer *cell) {
    const struct json *of = json_get(item, key);
    bool has_time = *status_text(of, "since");
    if (has_time)
        buffer_printf(cell, "%lld ", number_of(of, "guards"));
    put_text(of, "state", cell);
    if (has_time)
        buffer_char(cell, ' ');
    put_age(of, "since", cell);
}

// Extended resources ("nvidia.com/gpu"): "3/8"; without any, nothing.
static void put_gpus(const struct json *item, const char *key, struct buffer *cell) {
    const struct json *capacity = json_get(item, key);
    if (strcmp(status_text(capacity, "state"), "known") != 0) {
        put_text(capacity, "state", cell);
        return;
    }
    for (const struct json *r = json_first(json_get(capacity, "resources")); r; r = json_next(r))
        if (strchr(status_text(r, "name"), '/'))
            buffer_printf(cell, "%s%.40s %.20s/%.20s", cell->len ? "," : "", status_text(r, "name"),
                          status_text(r, "free"), status_text(r, "allocatable"));
}

static const struct status_column worker_columns[] = {
    {"WORKER", false, put_text, "name"},
    {"STATE", false, put_state, "state"},
    {"ACTIVE", false, put_active, "active"},
    {"MIRRORS", false, put_number, "mirrors"},
    {"LATENCY", false, put_latency, "latencySeconds"},
    {"CONTACT", false, put_contact, "lastContactSeconds"},
    {"IN FLIGHT", true, put_window, "inFlight"},
    {"WAITING", true, put_number, "waiting"},
    {"FREE", true, put_gpus, "capacity"},
    {"GUARD", true, put_guard, "guard"},
    {"CREDENTIALS", true, put_credentials, "credentials"},
    {"LABELS", true, put_labels, "labels"},
    {"FROM", true, put_text, "from"},
    {"REASON", false, put_text, "reason"},
};
const struct status_view status_workers = {"workers", worker_columns, COUNT(worker_columns), "name"};

static const struct status_column workload_columns[] = {
    {"NAMESPACE", false, put_text, "namespace"},
    {"KIND", false, put_text, "kind"},
    {"NAME", false, put_text, "name"},
    {"PHASE", false, put_phase, "phase"},
    {"CLUSTER", false, put_text, "cluster"},
    {"ATTEMPT", false, put_number, "attempt"},
    {"CHANGED", false, put_changed, "changedAt"},
    {"UID", true, put_text, "uid"},
    {"WAITS FOR", false, put_waiting, "reason"},
    {"MESSAGE", true, put_waiting, "message"},
};
const struct status_view status_workloads = {"workloads", workload_columns, COUNT(workload_columns), "uid"};

static const struct status_column adapter_columns[] = {
    {"ADAPTER", false, put_text, "name"},    {"VERSION", false, put_text, "version"},
    {"KINDS", false, put_kinds, "kinds"},    {"ERRORS", false, put_number, "errors"},
    {"STATE", false, put_text, "state"},     {"SET ASIDE", false, put_number, "setAside"},
    {"PROBLEM", false, put_text, "problem"}, {"FILE", true, put_text, "file"},
    {"SHA256", true, put_text, "sha256"},
};
const struct status_view status_adapters = {"adapters", adapter_columns, COUNT(adapter_columns), "name"};

static const struct status_column attempt_columns[] = {
    {"ATTEMPT", false, put_number, "attempt"}, {"CLUSTER", false, put_text, "cluster"},
    {"PLACED", false, put_age, "placedAt"},    {"STARTED", false, put_age, "startedAt"},
    {"ENDED", false, put_age, "endedAt"},      {"OUTCOME", false, put_text, "outcome"},
    {"MESSAGE", false, put_text, "message"},
};
const struct status_view status_attempts = {"attempts", attempt_columns, COUNT(attempt_columns), NULL};

static const struct status_column fit_columns[] = {
    {"WORKER", false, put_text, "name"},
    {"ACCEPTS IT", false, put_yes, "fit"},
    {"UNTIL", false, put_text, "until"},
    {"REASON", false, put_text, "reason"},
};
const struct status_view status_fits = {"workers", fit_columns, COUNT(fit_columns), NULL};

// "missing, optional".
static void put_dependency_state(const struct json *item, const char *key, struct buffer *cell) {
    buffer_text(cell, status_text(item, key));
    if (json_bool(json_get(item, "optional"), false))
        buffer_text(cell, ", optional");
}

static void put_place(const struct json *item, const char *key, struct buffer *cell) {
    const char *place = status_text(item, key);
    buffer_text(cell, *place ? place : "another object");
}

static const struct status_column dependency_columns[] = {
    {"RESOURCE", false, put_text, "resource"}, {"NAMESPACE", false, put_text, "namespace"},
    {"NAME", false, put_text, "name"},         {"STATE", false, put_dependency_state, "state"},
    {"NAMED BY", false, put_place, "where"},   {"PROBLEM", false, put_text, "problem"},
};
const struct status_view status_dependencies = {"dependencies", dependency_columns, COUNT(dependency_columns), NULL};

static const struct status_column event_columns[] = {
    {"AGE", false, put_age, "lastAt"},
    {"TYPE", false, put_text, "type"},
    {"REASON", false, put_text, "reason"},
    {"MESSAGE", false, put_text, "message"},
};
const struct status_view status_events = {"events", event_columns, COUNT(event_columns), NULL};

void status_add_row(const struct status_view *view, bool wide, const struct json *item, struct text_table *table) {
    table->n_columns = 0;
    for (size_t i = 0; i < view->n_columns; i++) {
        const struct status_column *column = &view->columns[i];
        AUTO_BUFFER(cell, CELL_MAX);
        if (column->wide && !wide)
            continue;
        if (item)
            column->put(item, column->key, &cell);
        table->n_columns++;
        table->failed |= cell.failed;
        text_table_add(table, item ? cell.data : column->title);
    }
}

void status_fill(const struct status_view *view, bool wide, const struct json *items, struct text_table *table) {
    status_add_row(view, wide, NULL, table);
    for (const struct json *item = json_first(items); item; item = json_next(item))
        status_add_row(view, wide, item, table);
}

static void put_counts(const struct json *counts, const char *before, struct buffer *out) {
    for (const struct json *count = json_first(counts); count; count = json_next(count))
        if (json_int64(count, 0) > 0) {
            buffer_printf(out, "%s%lld %s", before, (long long)json_int64(count, 0), json_key(count));
            before = ", ";
        }
}

// Prints texts of workers, and of the authors of Secrets and ClusterProfiles, as lines that control no terminal.
__attribute__((format(printf, 1, 2))) static void print_line(const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_TEXT line = text_vformat(format, args);
    va_end(args);
    text_print_line(stdout, line ? line : "(out of memory)");
}

static void put_election(const struct json *election) {
    if (!json_bool(json_get(election, "enabled"), false))
        return;
    long long held = number_of(election, "held"), shards = number_of(election, "shards");
    if (shards > 1)
        print_line("  %s holds %lld of %lld shards; replicas: %lld", status_text(election, "identity"), held, shards,
                   number_of(election, "replicas"));
    else
        print_line("  %s %s", status_text(election, "identity"), held > 0 ? "is the leader" : "stands by");
}

// "12 copied, 1 conflict in workers; 1 missing in the management cluster". A source that is there needs no word.
static void print_dependencies(const struct json *dependencies) {
    AUTO_BUFFER(counts, COUNTS_MAX);
    const struct json *sources = json_get(dependencies, "management");
    put_counts(json_get(dependencies, "workers"), "", &counts);
    if (counts.len > 0)
        buffer_text(&counts, " in workers");
    bool trouble = false;
    for (const struct json *count = json_first(sources); count; count = json_next(count)) {
        if (strcmp(json_key(count), "missing") != 0 && strcmp(json_key(count), "refused") != 0)
            continue;
        buffer_printf(&counts, "%s%lld %s",
                      trouble          ? ", "
                      : counts.len > 0 ? "; "
                                       : "",
                      (long long)json_int64(count, 0), json_key(count));
        trouble = true;
    }
    if (counts.len > 0)
        print_line("objects that workloads refer to: %s%s", counts.data, trouble ? " in the management cluster" : "");
}

void status_print_summary(const struct json *status) {
    const struct json *workloads = json_get(status, "workloads"),
                      *reload = json_path(status, "config", "lastReload", NULL);
    bool ready = json_bool(json_get(status, "ready"), false);
    print_line("wharf %s, origin %s: %s%s", status_text(status, "version"), status_text(status, "origin"),
               ready ? "ready" : "not ready", json_bool(json_get(status, "inSync"), false) ? ", in sync" : "");
    put_election(json_get(status, "election"));
    for (const struct json *reason = json_first(json_get(status, "reasons")); reason; reason = json_next(reason))
        print_line("  %s", json_string_or(reason, ""));
    if (!json_bool(json_get(reload, "successful"), true))
        print_line("  the configuration was not reloaded: %s", status_text(reload, "message"));
    const struct json *problems = json_path(status, "workers", "problems", NULL);
    for (const struct json *problem = json_first(problems); problem; problem = json_next(problem))
        print_line("  %s: %s", status_text(problem, "from"), status_text(problem, "message"));
    AUTO_BUFFER(counts, COUNTS_MAX);
    const char *namespace_ = json_string(json_get(workloads, "namespace"));
    long long total = number_of(workloads, "total");
    buffer_printf(&counts, "workloads%s%s: ", namespace_ ? " in namespace " : "", namespace_ ? namespace_ : "");
    if (namespace_ && total == 0)
        buffer_text(&counts, "none");
    else
        buffer_printf(&counts, "%lld", total);
    put_counts(json_get(workloads, "byPhase"), ": ", &counts);
    put_counts(json_get(workloads, "waiting"), "; waiting: ", &counts);
    print_line("%s", counts.data ? counts.data : "");
    print_dependencies(json_get(status, "dependencies"));
    putchar('\n');
}
