// SPDX-License-Identifier: Apache-2.0
#include "core/base/bucket.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/kube/api/events_internal.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_MAX 1000
#define IN_FLIGHT_MAX 1 // Events come last
#define MAX_TRIES 12
#define RETRY_NS (10 * CLOCK_SECOND)
#define REFRESH_NS (30 * CLOCK_MINUTE)
#define FINISH_NS (6 * CLOCK_MINUTE)
#define BURST 25
#define TOKEN_NS (300 * CLOCK_SECOND)
#define BODY_MAX ((size_t)20 << 10)

struct series {
    struct timer timer; // first member: when work is due; CLOCK_NEVER while a request is in flight
    struct recorder *recorder;
    struct series *newer, *older;
    char *key, *name, *namespace_, *body;
    uint64_t request; // 0: none in flight
    bool created, answered, hurry;
    int64_t count, written, sent; // occurrences: all, those written to the server, those in the request in flight
    int64_t seen_ns, seen_wall_ns, flushed_ns;
    unsigned tries;
    enum reason reason; // of the response
    int64_t retry_after_ns;
};

// Empty when `full_ns` is BURST tokens away.
struct bucket {
    char *key;
    int64_t full_ns;
};

struct recorder {
    struct client *client;
    struct gate *gate;
    char *controller, *instance;
    struct random random;
    int64_t last_stamp_ns, stamp_offset_ns;
    struct map series, buckets;
    struct heap timers;
    struct series *newest, *oldest;
    size_t in_flight, dropped;
};

struct error *recorder_new(struct client *client, const char *reporting_controller, const char *reporting_instance,
                           uint64_t seed, struct recorder **out) {
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    if (!recorder)
        return error_no_memory();
    recorder->client = client;
    recorder->random.state = seed;
    // Keeps two recorders from choosing the same name at the same time.
    recorder->stamp_offset_ns = (int64_t)random_below(&recorder->random, (uint64_t)CLOCK_MS);
    map_init(&recorder->series, random_next(&recorder->random));
    map_init(&recorder->buckets, random_next(&recorder->random));
    heap_init(&recorder->timers);
    recorder->controller = strdup(reporting_controller);
    recorder->instance = strdup(reporting_instance);
    if (!recorder->controller || !recorder->instance) {
        recorder_free(recorder);
        return error_no_memory();
    }
    *out = recorder;
    return NULL;
}

void recorder_gate(struct recorder *recorder, struct gate *gate) {
    recorder->gate = gate;
}

static void series_free(struct series *series) {
    if (series) {
        free(series->key);
        free(series->name);
        free(series->namespace_);
        free(series->body);
        free(series);
    }
}

static void unlink_series(struct series *series) {
    struct recorder *recorder = series->recorder;
    *(series->newer ? &series->newer->older : &recorder->newest) = series->older;
    *(series->older ? &series->older->newer : &recorder->oldest) = series->newer;
}

static void link_newest(struct series *series) {
    struct recorder *recorder = series->recorder;
    series->newer = NULL;
    series->older = recorder->newest;
    *(series->older ? &series->older->newer : &recorder->oldest) = series;
    recorder->newest = series;
}

static void cancel(struct series *series) {
    if (series->request != 0)
        client_cancel(series->recorder->client, series->request);
}

// Counts the occurrences that were never written. No request is in flight.
static void forget(struct series *series) {
    struct recorder *recorder = series->recorder;
    recorder->dropped += (size_t)(series->count - series->written);
    map_remove(&recorder->series, series->key);
    heap_remove(&recorder->timers, &series->timer);
    unlink_series(series);
    series_free(series);
}

void recorder_free(struct recorder *recorder) {
    if (!recorder)
        return;
    heap_free(&recorder->timers); // before the series that contain its timers
    struct series *series = recorder->oldest;
    while (series) {
        struct series *next = series->newer;
        cancel(series);
        series_free(series);
        series = next;
    }
    size_t cursor = 0;
    struct bucket *bucket;
    while ((bucket = map_next(&recorder->buckets, &cursor))) {
        free(bucket->key);
        free(bucket);
    }
    map_free(&recorder->buckets);
    map_free(&recorder->series);
    free(recorder->controller);
    free(recorder->instance);
    free(recorder);
}

size_t recorder_dropped(const struct recorder *recorder) {
    return recorder->dropped;
}

static void bucket_remove(struct recorder *recorder, struct bucket *bucket) {
    map_remove(&recorder->buckets, bucket->key);
    free(bucket->key);
    free(bucket);
}

static void drop_buckets(struct recorder *recorder, int64_t full_by_ns, size_t keep) {
    size_t cursor = 0;
    struct bucket *bucket;
    while (recorder->buckets.count > keep && (bucket = map_next(&recorder->buckets, &cursor)))
        if (bucket->full_ns <= full_by_ns)
            bucket_remove(recorder, bucket);
}

// Drops full buckets; if there are none, a quarter of the others, so that this scan is amortized.
static void make_room_for_bucket(struct recorder *recorder, int64_t now_ns) {
    drop_buckets(recorder, now_ns, 0);
    if (recorder->buckets.count >= CACHE_MAX)
        drop_buckets(recorder, CLOCK_NEVER, CACHE_MAX - CACHE_MAX / 4);
}

static struct bucket *bucket_add(struct recorder *recorder, const char *key, int64_t now_ns) {
    if (recorder->buckets.count >= CACHE_MAX)
        make_room_for_bucket(recorder, now_ns);
    struct bucket *bucket = calloc(1, sizeof(*bucket));
    if (!bucket)
        return NULL;
    bucket->key = strdup(key);
    bucket->full_ns = now_ns;
    if (!bucket->key || !map_put(&recorder->buckets, bucket->key, bucket)) {
        free(bucket->key);
        free(bucket);
        return NULL;
    }
    return bucket;
}

static bool take_token(struct recorder *recorder, const struct event *event, int64_t now_ns) {
    AUTO_TEXT key = event_bucket_key(event);
    if (!key)
        return false;
    struct bucket *bucket = map_get(&recorder->buckets, key);
    if (!bucket)
        bucket = bucket_add(recorder, key, now_ns);
    return bucket && bucket_take(&bucket->full_ns, now_ns, TOKEN_NS, BURST);
}

static void set_timer(struct series *series, int64_t at_ns) {
    heap_set(&series->recorder->timers, &series->timer, at_ns); // moving a timer does not allocate
}

static void schedule(struct series *series, int64_t now_ns) {
    int64_t finish_ns = series->seen_ns + FINISH_NS, refresh_ns = series->flushed_ns + REFRESH_NS;
    if (series->request != 0 || series->answered || series->tries > 0)
        return; // set when the response arrives, or already set to the next retry
    if (!series->created || series->hurry)
        set_timer(series, now_ns);
    else if (series->count > series->written && refresh_ns < finish_ns)
        set_timer(series, refresh_ns);
    else
        set_timer(series, finish_ns);
}

// Evicts the oldest series that only waits for a flush. False: all wait for their first request.
static bool make_room(struct recorder *recorder) {
    if (recorder->series.count < CACHE_MAX)
        return true;
    for (struct series *series = recorder->oldest; series; series = series->newer) {
        if (series->created && series->request == 0 && !series->answered) {
            forget(series);
            return true;
        }
    }
    return false;
}

static bool is_valid(const struct event *event) {
    return event->reason[0] != '\0' && event->action[0] != '\0' && event->name[0] != '\0';
}

static struct series *series_new(struct recorder *recorder, struct moment now, const struct event *event) {
    struct series *series = calloc(1, sizeof(*series));
    if (!series)
        return NULL;
    int64_t stamp_ns = now.wall_ns + recorder->stamp_offset_ns;
    recorder->last_stamp_ns = stamp_ns > recorder->last_stamp_ns ? stamp_ns : recorder->last_stamp_ns + 1;
    timer_init(&series->timer);
    series->recorder = recorder;
    series->key = event_key(event);
    series->name = event_name(event, recorder->last_stamp_ns, &recorder->random);
    series->namespace_ = strdup(event_namespace(event));
    if (series->name)
        series->body = event_body(event, series->name, recorder->controller, recorder->instance, now.wall_ns);
    if (!series->key || !series->namespace_ || !series->body) {
        series_free(series);
        return NULL;
    }
    series->flushed_ns = now.mono_ns;
    return series;
}

static struct series *add(struct recorder *recorder, struct moment now, const struct event *event) {
    if (!make_room(recorder))
        return NULL;
    struct series *series = series_new(recorder, now, event);
    if (!series)
        return NULL;
    if (!heap_set(&recorder->timers, &series->timer, now.mono_ns)) {
        series_free(series);
        return NULL;
    }
    if (!map_put(&recorder->series, series->key, series)) {
        heap_remove(&recorder->timers, &series->timer);
        series_free(series);
        return NULL;
    }
    link_newest(series);
    return series;
}

void recorder_event(struct recorder *recorder, struct moment now, const struct event *event) {
    AUTO_TEXT key = is_valid(event) ? event_key(event) : NULL;
    struct series *series = key ? map_get(&recorder->series, key) : NULL;
    if (!series && key && take_token(recorder, event, now.mono_ns))
        series = add(recorder, now, event);
    else if (series && series->count == 1)
        series->hurry = take_token(recorder, event, now.mono_ns);
    if (!series) {
        recorder->dropped++;
        return;
    }
    series->count++;
    series->seen_ns = now.mono_ns;
    series->seen_wall_ns = now.wall_ns;
    unlink_series(series);
    link_newest(series);
    schedule(series, now.mono_ns);
}

static void on_answer(void *ctx, struct response *response) {
    struct series *series = ctx;
    series->request = 0;
    series->recorder->in_flight--;
    series->answered = true;
    series->reason = response->reason;
    series->retry_after_ns = response->retry_after_ns;
    set_timer(series, INT64_MIN); // due at the next tick, which has the time
}

static void written(struct series *series, int64_t now_ns) {
    series->created = true;
    series->written = series->sent;
    series->hurry = series->hurry && series->written == 1 && series->count > 1;
    series->flushed_ns = now_ns;
    series->tries = 0;
    schedule(series, now_ns);
}

static void retry(struct series *series, int64_t now_ns) {
    if (++series->tries >= MAX_TRIES) {
        forget(series);
        return;
    }
    int64_t wait_ns = RETRY_NS + (int64_t)random_below(&series->recorder->random, (uint64_t)(RETRY_NS / 10));
    set_timer(series, now_ns + (series->retry_after_ns > wait_ns ? series->retry_after_ns : wait_ns));
}

static void take_answer(struct series *series, int64_t now_ns) {
    series->answered = false;
    switch (series->reason) {
    case REASON_OK:
    case REASON_ALREADY_EXISTS: // from an earlier try with the same name
        written(series, now_ns);
        break;
    case REASON_NOT_SENT:
    case REASON_UNKNOWN_OUTCOME:
    case REASON_SERVER_ERROR:
    case REASON_TOO_MANY:
        retry(series, now_ns);
        break;
    case REASON_NOT_FOUND:
        if (series->created) { // it has expired on the server; recreated with the current count
            series->created = false;
            series->tries = 0;
            set_timer(series, now_ns);
            break;
        }
        forget(series);
        break;
    default:
        forget(series);
    }
}

static bool request_body(const struct series *series, struct buffer *body) {
    if (!series->created)
        buffer_text(body, series->body);
    if (series->count > 1) {
        buffer_char(body, series->created ? '{' : ',');
        event_series(body, series->count, series->seen_wall_ns);
    }
    return buffer_char(body, '}');
}

static void submit(struct series *series, int64_t now_ns) {
    AUTO_BUFFER(body, BODY_MAX);
    bool complete = request_body(series, &body);
    struct request request = {.verb = series->created ? VERB_MERGE_PATCH : VERB_CREATE,
                              .resource = {.group = "events.k8s.io", .version = "v1", .plural = "events"},
                              .namespace_ = series->namespace_,
                              .name = series->name,
                              .body = body.data,
                              .body_len = body.len,
                              .gate = series->recorder->gate};
    __attribute__((cleanup(error_cleanup))) struct error *error =
        complete ? client_submit(series->recorder->client, &request, on_answer, series, &series->request)
                 : error_no_memory();
    if (!error) {
        series->sent = series->count;
        series->recorder->in_flight++;
        set_timer(series, CLOCK_NEVER);
    } else if (error->code == ERROR_NO_MEMORY) {
        series->retry_after_ns = -1;
        retry(series, now_ns);
    } else {
        forget(series);
    }
}

int64_t recorder_tick(struct recorder *recorder, struct moment now) {
    struct timer *first = heap_first(&recorder->timers);
    while (first && first->at_ns <= now.mono_ns) {
        struct series *series = (struct series *)first;
        if (series->answered)
            take_answer(series, now.mono_ns);
        else if (series->created && series->count == series->written)
            forget(series);
        else if (recorder->in_flight < IN_FLIGHT_MAX)
            submit(series, now.mono_ns);
        else
            return CLOCK_NEVER; // until a response frees a slot
        first = heap_first(&recorder->timers);
    }
    return first ? first->at_ns : CLOCK_NEVER;
}
