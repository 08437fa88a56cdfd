// SPDX-License-Identifier: Apache-2.0
// A minimal Job controller of a worker that writes the same histories as the real one: it starts and stops pods, which
// succeed and fail at random, and writes conditions and times in the order of
// kubernetes pkg/controller/job/job_controller.go.
#pragma once

#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/unit/plugins/job_rules.h"

#include <stdio.h>

#define CONTROLLER_INDEXES 16

struct controlled {
    struct json *job; // spec and metadata; status is written by controller_write
    bool old;         // a worker before 1.31: no SuccessCriteriaMet, FailureTarget, terminating; startTime is kept
    int64_t skew_ns;  // of the worker's clock
    int64_t active, ready, terminating, succeeded, failed;
    bool completed[CONTROLLER_INDEXES], lost[CONTROLLER_INDEXES];
    int suspended; // condition Suspended: -1 absent, 0 False, 1 True
    enum { RUNS, WILL_COMPLETE, COMPLETED, WILL_FAIL, HAS_FAILED } end;
    int64_t start_ns, suspended_ns, decided_ns, ended_ns; // 0: not
};

static inline int64_t controlled_number(const struct controlled *c, const char *key, int64_t fallback) {
    return json_int64(json_path(c->job, "spec", key, NULL), fallback);
}

static inline bool controlled_indexed(const struct controlled *c) {
    return strcmp(json_string_or(json_path(c->job, "spec", "completionMode", NULL), ""), "Indexed") == 0;
}

static inline void list_indexes(const bool *in, int64_t limit, char *out, size_t size) {
    size_t len = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < limit; i++) {
        int64_t last = i;
        while (in[i] && last + 1 < limit && in[last + 1])
            last++;
        if (in[i])
            len += (size_t)snprintf(out + len, size - len, "%s%d", len ? "," : "", (int)i);
        if (in[i] && last > i)
            len += (size_t)snprintf(out + len, size - len, "%c%d", last == i + 1 ? ',' : '-', (int)last);
        i = last;
    }
}

static inline void write_time(struct json *status, const char *key, int64_t ns) {
    char text[CLOCK_RFC3339_MAX];
    clock_rfc3339(ns, text);
    if (ns)
        json_set(status, key, json_new_string(text));
}

static inline void write_condition(struct json *status, const char *type, const char *value, int64_t ns) {
    struct json *condition = json_new_object();
    json_set(condition, "type", json_new_string(type));
    json_set(condition, "status", json_new_string(value));
    write_time(condition, "lastTransitionTime", ns);
    json_set(condition, "reason", json_new_string("Because"));
    pointer_set(status, "/conditions/-", condition);
}

static inline void write_count(struct json *status, const char *key, int64_t count) {
    if (count)
        json_set(status, key, json_new_int64(count));
}

static inline void controller_write(struct controlled *c) {
    struct json *status = json_new_object();
    json_set(status, "conditions", json_new_array());
    if (c->suspended >= 0)
        write_condition(status, "Suspended", c->suspended ? "True" : "False", c->suspended_ns);
    bool success = c->end == WILL_COMPLETE || c->end == COMPLETED;
    if (c->end != RUNS && !c->old)
        write_condition(status, success ? "SuccessCriteriaMet" : "FailureTarget", "True", c->decided_ns);
    if (c->end == COMPLETED || c->end == HAS_FAILED)
        write_condition(status, success ? "Complete" : "Failed", "True", c->ended_ns);
    if (json_size(json_get(status, "conditions")) == 0)
        json_remove(status, "conditions");
    write_time(status, "startTime", c->start_ns);
    write_time(status, "completionTime", c->end == COMPLETED ? c->ended_ns : 0);
    write_count(status, "active", c->active);
    write_count(status, "succeeded", c->succeeded);
    write_count(status, "failed", c->failed);
    json_set(status, "ready", json_new_int64(c->ready));
    if (!c->old)
        json_set(status, "terminating", json_new_int64(c->terminating));
    json_set(status, "uncountedTerminatedPods", json_new_object());
    char text[CONTROLLER_INDEXES * 4];
    int64_t n = controlled_number(c, "completions", 0);
    list_indexes(c->completed, n, text, sizeof text);
    if (controlled_indexed(c) && *text)
        json_set(status, "completedIndexes", json_new_string(text));
    list_indexes(c->lost, n, text, sizeof text);
    if (json_path(c->job, "spec", "backoffLimitPerIndex", NULL))
        json_set(status, "failedIndexes", json_new_string(text));
    json_set(c->job, "status", status);
}

static inline bool chance(struct random *random, uint64_t percent) {
    return random_below(random, 100) < percent;
}

// A pod ends: the first index that is neither completed nor failed is its.
static inline void end_pod(struct controlled *c, bool success) {
    int64_t n = controlled_number(c, "completions", 0), i = 0;
    c->active--;
    c->ready = c->ready > c->active ? c->active : c->ready;
    while (i < n && (c->completed[i] || c->lost[i]))
        i++;
    c->failed += !success;
    if (!controlled_indexed(c))
        c->succeeded += success;
    else if (i < n && success)
        c->completed[i] = true;
    else if (i < n && json_path(c->job, "spec", "backoffLimitPerIndex", NULL))
        c->lost[i] = true;
}

static inline void stop_pods(struct controlled *c, int64_t wanted) {
    int64_t stopped = c->active > wanted ? c->active - wanted : 0;
    c->active -= stopped;
    c->ready = c->ready > c->active ? c->active : c->ready;
    if (c->old)
        c->failed += stopped;
    else
        c->terminating += stopped;
}

static inline void count_indexes(struct controlled *c, int64_t *completed, int64_t *lost) {
    *completed = *lost = 0;
    for (int64_t i = 0; i < CONTROLLER_INDEXES; i++) {
        if (i >= controlled_number(c, "completions", 0))
            c->completed[i] = c->lost[i] = false;
        *completed += c->completed[i];
        *lost += c->lost[i];
    }
}

static inline void decide_end(struct controlled *c, int64_t now_ns) {
    int64_t completed = c->succeeded, lost = 0, n = controlled_number(c, "completions", 1);
    if (controlled_indexed(c)) {
        count_indexes(c, &completed, &lost);
        c->succeeded = completed;
    }
    if (c->failed > controlled_number(c, "backoffLimit", 6) || (lost > 0 && lost + completed >= n))
        c->end = WILL_FAIL;
    else if (completed >= n && c->active == 0)
        c->end = WILL_COMPLETE;
    else
        return;
    c->decided_ns = now_ns;
    stop_pods(c, 0);
}

static inline void run_pods(struct controlled *c, struct random *random, int64_t now_ns) {
    if (c->suspended == 1 || !c->start_ns)
        c->start_ns = now_ns;
    if (c->suspended == 1) {
        c->suspended = 0;
        c->suspended_ns = now_ns;
    }
    int64_t wanted = controlled_number(c, "parallelism", 1),
            rest = controlled_number(c, "completions", 1) - c->succeeded;
    for (int64_t i = 0; i < CONTROLLER_INDEXES; i++)
        rest -= c->lost[i];
    wanted = rest < wanted ? (rest > 0 ? rest : 0) : wanted;
    stop_pods(c, wanted);
    if (c->active < wanted)
        c->active += 1 + (int64_t)random_below(random, (uint64_t)(wanted - c->active));
    c->ready = (int64_t)random_below(random, (uint64_t)c->active + 1);
    if (c->active > 0 && chance(random, 40))
        end_pod(c, chance(random, 70));
}

// The progress that the Job was given while suspended: the controller works from the status.
static inline void controller_takes(struct controlled *c) {
    const struct json *status = json_get(c->job, "status");
    c->succeeded = json_int64(json_get(status, "succeeded"), 0);
    c->failed = json_int64(json_get(status, "failed"), 0);
    rules_indexes(json_string_or(json_get(status, "completedIndexes"), ""), CONTROLLER_INDEXES, c->completed);
    rules_indexes(json_string_or(json_get(status, "failedIndexes"), ""), CONTROLLER_INDEXES, c->lost);
}

// One turn of the controller, and its write.
static inline void controller_turn(struct controlled *c, struct random *random, int64_t now_ns) {
    now_ns += c->skew_ns;
    if (c->terminating > 0 && chance(random, 50)) {
        c->terminating--;
        c->failed++;
    }
    if (c->end == RUNS && json_bool(json_path(c->job, "spec", "suspend", NULL), false)) {
        stop_pods(c, 0);
        c->start_ns = c->old ? c->start_ns : 0;
        c->suspended_ns = c->suspended == 1 ? c->suspended_ns : now_ns;
        c->suspended = 1;
        decide_end(c, now_ns);
    } else if (c->end == RUNS) {
        run_pods(c, random, now_ns);
        decide_end(c, now_ns);
    }
    if ((c->end == WILL_COMPLETE || c->end == WILL_FAIL) && c->terminating == 0 && (c->old || chance(random, 60))) {
        c->end++;
        c->ended_ns = now_ns;
    }
    controller_write(c);
}
