// SPDX-License-Identifier: Apache-2.0
// Counters and debug lines of requests (client.h).
#include "core/base/log.h"
#include "core/kube/client/client.h"

const int64_t meter_bounds_ns[METER_BUCKETS - 1] = {
    5 * CLOCK_MS, 25 * CLOCK_MS, 100 * CLOCK_MS, 500 * CLOCK_MS, 2500 * CLOCK_MS, 10 * CLOCK_SECOND,
};

// There is one writer: reads and stores need not be one atomic operation.
#define READ(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define WRITE(counter, value) atomic_store_explicit(&(counter), (value), memory_order_relaxed)
#define COUNT(counter, more) WRITE(counter, READ(counter) + (more))

#define CODE_BITS 16
#define USED (UINT32_C(1) << 31)

static uint32_t what_is(enum meter_verb verb, int code) {
    return USED | (uint32_t)verb << CODE_BITS | ((uint32_t)code & ((UINT32_C(1) << CODE_BITS) - 1));
}

// The cell of this verb and code, the next free one, or the last one, which is for all that have none.
static struct meter_cell *find_cell(struct meter *meter, uint32_t what) {
    for (size_t i = 0; i + 1 < METER_SERIES; i++) {
        struct meter_cell *cell = &meter->cells[i];
        uint32_t is = READ(cell->what);
        if (is == 0)
            WRITE(cell->what, what);
        if (is == 0 || is == what)
            return cell;
    }
    struct meter_cell *last = &meter->cells[METER_SERIES - 1];
    WRITE(last->what, what_is(METER_OTHER, 0));
    return last;
}

void meter_request(struct meter *meter, enum meter_verb verb, int code, int64_t duration_ns) {
    if (!meter)
        return;
    struct meter_cell *cell = find_cell(meter, what_is(verb, code));
    size_t bucket = 0;
    while (bucket + 1 < METER_BUCKETS && duration_ns > meter_bounds_ns[bucket])
        bucket++;
    COUNT(cell->buckets[bucket], 1);
    COUNT(cell->sum_ns, duration_ns);
}

void meter_answered(struct meter *meter, int64_t now_ns, int64_t duration_ns) {
    if (!meter)
        return;
    int64_t number = now_ns / METER_SPAN_NS;
    struct meter_span *span = &meter->spans[number % METER_SPANS];
    if (READ(span->number) != number) {
        for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++)
            WRITE(span->buckets[b], 0);
        atomic_store_explicit(&span->number, number, memory_order_release);
    }
    COUNT(span->buckets[histogram_bucket(METER_RECENT_NS, duration_ns)], 1);
}

void meter_recent(const struct meter *meter, int64_t now_ns, struct histogram *out) {
    *out = (struct histogram){.sum_ns = 0};
    for (size_t i = 0; i < METER_SPANS; i++) {
        const struct meter_span *span = &meter->spans[i];
        if (atomic_load_explicit(&span->number, memory_order_acquire) < now_ns / METER_SPAN_NS - 2)
            continue;
        for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++)
            out->buckets[b] += READ(span->buckets[b]);
    }
}

void meter_restart(struct meter *meter) {
    if (meter)
        COUNT(meter->restarts, 1);
}

void meter_publish(struct meter *meter, uint64_t events_lost, int64_t heard_ns) {
    if (!meter)
        return;
    WRITE(meter->events_lost, events_lost);
    WRITE(meter->heard_ns, heard_ns);
}

void meter_expiry(struct meter *meter, int64_t expires_ns) {
    WRITE(meter->expires_ns, expires_ns);
}

void meter_credentials(struct meter *meter, enum credentials_kind kind, int64_t token_ns) {
    WRITE(meter->credentials, kind);
    WRITE(meter->token_ns, token_ns);
}

void meter_pods(struct meter *meter, enum meter_pods what, uint64_t more) {
    if (meter)
        COUNT(meter->pod_events[what], more);
}

void meter_pods_watched(struct meter *meter, bool watched) {
    if (meter)
        WRITE(meter->pod_events[METER_PODS_WATCHED], watched);
}

void meter_read(const struct meter *meter, struct meter_reading *out) {
    *out = (struct meter_reading){.restarts = READ(meter->restarts),
                                  .events_lost = READ(meter->events_lost),
                                  .heard_ns = READ(meter->heard_ns),
                                  .expires_ns = READ(meter->expires_ns),
                                  .token_ns = READ(meter->token_ns),
                                  .credentials = (enum credentials_kind)READ(meter->credentials)};
    for (size_t i = 0; i < METER_PODS; i++)
        out->pod_events[i] = READ(meter->pod_events[i]);
    for (size_t i = 0; i < METER_SERIES; i++) {
        const struct meter_cell *cell = &meter->cells[i];
        uint32_t what = READ(cell->what);
        if (what == 0)
            continue;
        struct meter_series *series = &out->series[out->n_series++];
        series->verb = (enum meter_verb)((what & ~USED) >> CODE_BITS);
        series->code = (int)(what & ((UINT32_C(1) << CODE_BITS) - 1));
        for (size_t b = 0; b < METER_BUCKETS; b++)
            series->buckets[b] = READ(cell->buckets[b]);
        series->sum_ns = READ(cell->sum_ns);
    }
}

void request_log_free(struct request_log *log) {
    free(log->path);
    *log = (struct request_log){0};
}

void request_log_begin(struct request_log *log, const char *verb, const char *path) {
    request_log_free(log);
    if (log_enabled(LOG_DEBUG))
        *log = (struct request_log){.verb = verb, .path = strdup(path), .begun_ns = clock_now().mono_ns};
}

static void write_line(const struct request_log *log, const char *message, const char *cluster, int status,
                       const char *problem) {
    double ms = (double)(clock_now().mono_ns - log->begun_ns) / (double)CLOCK_MS;
    log_fields(LOG_DEBUG, message, {"cluster", cluster}, {"verb", log->verb}, {"path", log->path},
               LOG_INT_IF(status > 0, "code", status), LOG_DECIMAL("ms", ms), {"error", problem});
}

void request_log_opened(const struct request_log *log, const char *cluster) {
    if (log->path)
        write_line(log, "stream opened", cluster, 200, NULL);
}

void request_log_end(struct request_log *log, const char *cluster, const struct http_result *result) {
    if (log->path)
        write_line(log, "request", cluster, result->status, result->problem);
    request_log_free(log);
}
