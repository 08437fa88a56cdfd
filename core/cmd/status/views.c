// SPDX-License-Identifier: Apache-2.0
// The columns of `wharf status`, from the JSON of the host's API (docs/api.md).
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/main.h"
#include "core/cmd/status/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNTS_MAX ((size_t)64 << 10)

static const char *text_of(const struct json *item, const char *key) {
    return json_string_or(json_get(item, key), "");
}

static const char *text_cell(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    (void)cell;
    return text_of(item, key);
}

static const char *waiting_cell(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    (void)cell;
    return text_of(json_get(item, "waiting"), key);
}

static const char *yes_cell(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    (void)cell;
    return json_bool(json_get(item, key), false) ? "yes" : "no";
}

static const char *number_cell(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    snprintf(cell, STATUS_CELL_MAX, "%lld", (long long)json_int64(json_get(item, key), 0));
    return cell;
}

// As k8s.io/apimachinery's duration.HumanDuration: two units while the first is small.
static const char *age_cell(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const char *time = text_of(item, key);
    int64_t then_ns = 0;
    if (!*time || !clock_parse_rfc3339(time, &then_ns))
        return "";
    long long s = (long long)((clock_now().wall_ns - then_ns) / CLOCK_SECOND);
    s = s < 0 ? 0 : s;
    static const struct {
        long long below, first, second; // seconds; second 0: one unit
        char unit, rest;
    } steps[] = {{120, 1, 0, 's', 0},         {600, 60, 1, 'm', 's'},    {10800, 60, 0, 'm', 0},
                 {28800, 3600, 60, 'h', 'm'}, {172800, 3600, 0, 'h', 0}, {691200, 86400, 3600, 'd', 'h'}};
    for (size_t i = 0; i < COUNT(steps); i++) {
        if (s >= steps[i].below)
            continue;
        long long first = s / steps[i].first, rest = steps[i].second ? s % steps[i].first / steps[i].second : 0;
        int len = snprintf(cell, STATUS_CELL_MAX, "%lld%c", first, steps[i].unit);
        if (rest > 0)
            snprintf(cell + len, STATUS_CELL_MAX - (size_t)len, "%lld%c", rest, steps[i].rest);
        return cell;
    }
    snprintf(cell, STATUS_CELL_MAX, "%lldd", s / 86400);
    return cell;
}

// Joins texts with commas, up to the buffer's size.
static void join(char cell[STATUS_CELL_MAX], const char *text) {
    size_t len = strlen(cell);
    snprintf(cell + len, STATUS_CELL_MAX - len, "%s%s", len ? "," : "", text);
}

// "3/10" of a worker with maxActive.
static const char *active(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const struct json *limit = json_get(item, "maxActive");
    if (!limit)
        return number_cell(item, key, cell);
    snprintf(cell, STATUS_CELL_MAX, "%lld/%lld", (long long)json_int64(json_get(item, key), 0),
             (long long)json_int64(limit, 0));
    return cell;
}

// With the order of an operator, if the state is that of the connection: "Unreachable,Draining".
static const char *state(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const char *own = text_of(item, key);
    const char *closed = json_bool(json_get(item, "leaving"), false)    ? "Leaving"
                         : json_string(json_get(item, "drain"))         ? "Draining"
                         : json_bool(json_get(item, "cordoned"), false) ? "Cordoned"
                                                                        : own;
    snprintf(cell, STATUS_CELL_MAX, "%s%s%s", own, strcmp(own, closed) ? "," : "", strcmp(own, closed) ? closed : "");
    return cell;
}

static const char *latency(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const struct json *p50 = json_path(item, key, "p50", NULL);
    if (!json_is(p50, JSON_NUMBER))
        return "";
    double ms = json_double(p50, 0) * 1000;
    snprintf(cell, STATUS_CELL_MAX, ms < 10 ? "%.1fms" : "%.0fms", ms);
    return cell;
}

static const char *contact(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const struct json *seconds = json_get(item, key);
    if (strcmp(text_of(item, "contact"), "rejected") == 0)
        return "rejected";
    if (json_is(seconds, JSON_NULL))
        return "never";
    if (!json_is(seconds, JSON_NUMBER))
        return "";
    char duration[CLOCK_RFC3339_MAX];
    clock_duration_text((int64_t)json_double(seconds, 0) * CLOCK_SECOND, duration);
    snprintf(cell, STATUS_CELL_MAX, "%s ago", duration);
    return cell;
}

static const char *labels(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    cell[0] = '\0';
    for (const struct json *label = json_first(json_get(item, key)); label; label = json_next(label)) {
        char pair[STATUS_CELL_MAX];
        snprintf(pair, sizeof pair, "%s=%s", json_key(label), json_string_or(label, ""));
        join(cell, pair);
    }
    return cell;
}

static const char *window(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    snprintf(cell, STATUS_CELL_MAX, "%lld/%lld", (long long)json_int64(json_get(item, key), 0),
             (long long)json_int64(json_get(item, "window"), 0));
    return cell;
}

static const char *kinds(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    cell[0] = '\0';
    for (const struct json *kind = json_first(json_get(item, key)); kind; kind = json_next(kind))
        join(cell, text_of(kind, "kind"));
    return cell;
}

static const char *changed(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    return age_cell(item, *text_of(item, key) ? key : "placedAt", cell);
}

static const char *phase(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    (void)cell;
    return json_bool(json_get(item, "deleting"), false) ? "Deleting" : text_of(item, key);
}

// "token, 23h"; "expired".
static const char *credentials(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const struct json *of = json_get(item, key);
    const char *kind = text_of(of, "kind"), *expires = text_of(of, "expiresAt");
    int64_t at_ns = 0;
    char left[CLOCK_RFC3339_MAX];
    if (!*expires || !clock_parse_rfc3339(expires, &at_ns))
        return kind;
    int64_t left_ns = at_ns - clock_now().wall_ns;
    clock_duration_text(left_ns / CLOCK_MINUTE * CLOCK_MINUTE, left);
    snprintf(cell, STATUS_CELL_MAX, "%s, %s", kind, left_ns <= 0 ? "expired" : left);
    return cell;
}

static const char *guard(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const struct json *of = json_get(item, key);
    char age[STATUS_CELL_MAX];
    const char *since = age_cell(of, "since", age);
    if (!json_is(of, JSON_OBJECT) || !*since)
        return text_of(of, "state");
    snprintf(cell, STATUS_CELL_MAX, "%lld %s %s", (long long)json_int64(json_get(of, "guards"), 0),
             text_of(of, "state"), since);
    return cell;
}

// Extended resources ("nvidia.com/gpu"): "3/8"; without any, nothing.
static const char *gpus(const struct json *item, const char *key, char cell[STATUS_CELL_MAX]) {
    const struct json *capacity = json_get(item, key);
    if (!json_is(capacity, JSON_OBJECT))
        return "";
    if (strcmp(text_of(capacity, "state"), "known") != 0)
        return text_of(capacity, "state");
    cell[0] = '\0';
    for (const struct json *r = json_first(json_get(capacity, "resources")); r; r = json_next(r)) {
        char pair[STATUS_CELL_MAX];
        if (!strchr(text_of(r, "name"), '/'))
            continue;
        snprintf(pair, sizeof pair, "%.40s %.20s/%.20s", text_of(r, "name"), text_of(r, "free"),
                 text_of(r, "allocatable"));
        join(cell, pair);
    }
    return cell;
}

static const struct status_column worker_columns[] = {
    {"WORKER", false, text_cell, "name"},
    {"STATE", false, state, "state"},
    {"ACTIVE", false, active, "active"},
    {"MIRRORS", false, number_cell, "mirrors"},
    {"LATENCY", false, latency, "latencySeconds"},
    {"CONTACT", false, contact, "lastContactSeconds"},
    {"IN FLIGHT", true, window, "inFlight"},
    {"WAITING", true, number_cell, "waiting"},
    {"FREE", true, gpus, "capacity"},
    {"GUARD", true, guard, "guard"},
    {"CREDENTIALS", true, credentials, "credentials"},
    {"LABELS", true, labels, "labels"},
    {"FROM", true, text_cell, "from"},
    {"REASON", false, text_cell, "reason"},
};
const struct status_view status_workers = {"workers", worker_columns, COUNT(worker_columns), "name"};

static const struct status_column workload_columns[] = {
    {"NAMESPACE", false, text_cell, "namespace"}, {"KIND", false, text_cell, "kind"},
    {"NAME", false, text_cell, "name"},           {"PHASE", false, phase, "phase"},
    {"CLUSTER", false, text_cell, "cluster"},     {"ATTEMPT", false, number_cell, "attempt"},
    {"CHANGED", false, changed, "changedAt"},     {"UID", true, text_cell, "uid"},
    {"WAITS FOR", false, waiting_cell, "reason"}, {"MESSAGE", true, waiting_cell, "message"},
};
const struct status_view status_workloads = {"workloads", workload_columns, COUNT(workload_columns), "uid"};

static const struct status_column adapter_columns[] = {
    {"ADAPTER", false, text_cell, "name"}, {"VERSION", false, text_cell, "version"},
    {"KINDS", false, kinds, "kinds"},      {"ERRORS", false, number_cell, "errors"},
    {"FILE", true, text_cell, "file"},     {"SHA256", true, text_cell, "sha256"},
};
const struct status_view status_adapters = {"adapters", adapter_columns, COUNT(adapter_columns), "name"};

static const struct status_column attempt_columns[] = {
    {"ATTEMPT", false, number_cell, "attempt"}, {"CLUSTER", false, text_cell, "cluster"},
    {"PLACED", false, age_cell, "placedAt"},    {"STARTED", false, age_cell, "startedAt"},
    {"ENDED", false, age_cell, "endedAt"},      {"OUTCOME", false, text_cell, "outcome"},
    {"MESSAGE", false, text_cell, "message"},
};
const struct status_view status_attempts = {"attempts", attempt_columns, COUNT(attempt_columns), NULL};

static const struct status_column fit_columns[] = {
    {"WORKER", false, text_cell, "name"},
    {"ACCEPTS IT", false, yes_cell, "fit"},
    {"UNTIL", false, text_cell, "until"},
    {"REASON", false, text_cell, "reason"},
};
const struct status_view status_fits = {"workers", fit_columns, COUNT(fit_columns), NULL};

static const struct status_column event_columns[] = {
    {"AGE", false, age_cell, "lastAt"},
    {"TYPE", false, text_cell, "type"},
    {"REASON", false, text_cell, "reason"},
    {"MESSAGE", false, text_cell, "message"},
};
const struct status_view status_events = {"events", event_columns, COUNT(event_columns), NULL};

static void each_column(const struct status_view *view, bool wide, const struct json *item, struct text_table *table) {
    table->n_columns = 0;
    for (size_t i = 0; i < view->n_columns; i++) {
        const struct status_column *column = &view->columns[i];
        char cell[STATUS_CELL_MAX];
        if (column->wide && !wide)
            continue;
        table->n_columns++;
        text_table_add(table, item ? column->text(item, column->key, cell) : column->title);
    }
}

void status_add_titles(const struct status_view *view, bool wide, struct text_table *table) {
    each_column(view, wide, NULL, table);
}

void status_add_row(const struct status_view *view, bool wide, const struct json *item, struct text_table *table) {
    each_column(view, wide, item, table);
}

void status_fill(const struct status_view *view, bool wide, const struct json *items, struct text_table *table) {
    status_add_titles(view, wide, table);
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
    long long held = json_int64(json_get(election, "held"), 0), shards = json_int64(json_get(election, "shards"), 1);
    if (shards > 1)
        print_line("  %s holds %lld of %lld shards; replicas: %lld", text_of(election, "identity"), held, shards,
                   (long long)json_int64(json_get(election, "replicas"), 0));
    else
        print_line("  %s %s", text_of(election, "identity"), held > 0 ? "is the leader" : "stands by");
}

void status_print_summary(const struct json *status) {
    const struct json *workloads = json_get(status, "workloads"),
                      *reload = json_path(status, "config", "lastReload", NULL);
    bool ready = json_bool(json_get(status, "ready"), false);
    print_line("wharf %s, origin %s: %s%s", text_of(status, "version"), text_of(status, "origin"),
               ready ? "ready" : "not ready", json_bool(json_get(status, "inSync"), false) ? ", in sync" : "");
    put_election(json_get(status, "election"));
    for (const struct json *reason = json_first(json_get(status, "reasons")); reason; reason = json_next(reason))
        print_line("  %s", json_string_or(reason, ""));
    if (!json_bool(json_get(reload, "successful"), true))
        print_line("  the configuration was not reloaded: %s", text_of(reload, "message"));
    const struct json *problems = json_path(status, "workers", "problems", NULL);
    for (const struct json *problem = json_first(problems); problem; problem = json_next(problem))
        print_line("  %s: %s", text_of(problem, "from"), text_of(problem, "message"));
    AUTO_BUFFER(counts, COUNTS_MAX);
    const char *namespace_ = json_string(json_get(workloads, "namespace"));
    long long total = (long long)json_int64(json_get(workloads, "total"), 0);
    buffer_printf(&counts, "workloads%s%s: ", namespace_ ? " in namespace " : "", namespace_ ? namespace_ : "");
    if (namespace_ && total == 0)
        buffer_text(&counts, "none");
    else
        buffer_printf(&counts, "%lld", total);
    put_counts(json_get(workloads, "byPhase"), ": ", &counts);
    put_counts(json_get(workloads, "waiting"), "; waiting: ", &counts);
    print_line("%s", counts.data ? counts.data : "");
    putchar('\n');
}
