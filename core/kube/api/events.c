// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/events.h"

#include "core/base/bucket.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <inttypes.h>
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
    char *key, *name, *namespace_, *body;
    uint64_t request; // 0: none in flight
    bool created, answered, hurry;
    int64_t count, written, sent; // occurrences: all, written ones, and those of the request in flight
    int64_t seen_ns, seen_wall_ns, flushed_ns;
    unsigned tries;
    enum reason reason; // of the response
    int64_t retry_after_ns;
};

// The tokens of one object and reason. Empty when `full_ns` is BURST tokens away.
struct bucket {
    uint64_t hash;
    int64_t full_ns;
};

struct recorder {
    struct client *client;
    struct gate *gate;
    char *controller, *instance;
    struct random random;
    int64_t last_stamp_ns, stamp_offset_ns;
    uint64_t salt; // of the hashes
    struct map series;
    struct heap timers;
    struct bucket *buckets;
    size_t n_buckets, in_flight, dropped;
};

// Limits of pkg/apis/core/validation/events.go.
#define EVENT_NOTE_MAX 1024
#define EVENT_WORD_MAX 128
#define EVENT_MAX ((size_t)16 << 10)

// The text as the log shows it, truncated at a character boundary: the text may quote a worker. `out` has max + 1
// bytes. False when out of memory.
static bool event_cut(char *out, size_t max, const char *text) {
    AUTO_BUFFER(shown, SIZE_MAX / 4);
    bool ok = text_show(&shown, text);
    size_t used = 0, step;
    while (ok && used < shown.len && (step = text_utf8_sequence(shown.data + used, shown.len - used)) <= max - used)
        used += step;
    memcpy(out, used > 0 ? shown.data : "", used);
    out[used] = '\0';
    return ok;
}

// Occurrences with the same key form a series. A byte that no part contains separates the parts (the note, which may
// contain the byte, comes last). The note of an Event is immutable, so a different note is a different Event; the
// bucket below bounds the number of Events.
static char *event_key(const struct event *event) {
    return text_format("%d\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", event->warning, event->action,
                       event->reason, event->api_version, event->kind, event->namespace_, event->name, event->uid,
                       event->note);
}

// The key of the rate limit: object and reason.
static uint64_t event_bucket_hash(const struct event *event, uint64_t salt) {
    const char *const texts[] = {event->reason,     event->api_version, event->kind,
                                 event->namespace_, event->name,        event->uid};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        salt = text_hash(text_hash(salt, texts[i]), "\x1f");
    return salt;
}

// "<object>.<hex>"; a random UUID if that is not a valid object name. NULL when out of memory.
static char *event_name(const struct event *event, int64_t stamp_ns, struct random *random) {
    char *name = text_format("%s.%" PRIx64, event->name, (uint64_t)stamp_ns);
    if (!name || text_is_dns_subdomain(name))
        return name;
    text_cleanup(&name);
    uint64_t high = random_next(random), low = random_next(random);
    // RFC 9562 section 5.4: version 4, variant 10.
    return text_format("%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
                       high >> 16 & 0xffff, high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

// The namespace of Events about an object: the object's own, or "default".
static const char *event_namespace(const struct event *event) {
    return event->namespace_[0] != '\0' ? event->namespace_ : "default";
}

static void member(struct buffer *out, const char *key, const char *text) {
    buffer_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", key);
    buffer_json_string(out, text, strlen(text));
}

// The text of a member, up to its maximum.
static bool word(struct buffer *out, const char *key, size_t max, const char *text) {
    char cut[EVENT_NOTE_MAX + 1];
    bool ok = event_cut(cut, max, text);
    member(out, key, cut);
    return ok;
}

static void regarding(struct buffer *out, const struct event *event) {
    buffer_text(out, ",\"regarding\":{");
    member(out, "apiVersion", event->api_version);
    member(out, "kind", event->kind);
    if (event->namespace_[0] != '\0')
        member(out, "namespace", event->namespace_);
    member(out, "name", event->name);
    member(out, "uid", event->uid);
    buffer_char(out, '}');
}

// The Event as JSON, without "series" and the closing brace. NULL when out of memory.
static char *event_body(const struct event *event, const char *name, const char *controller, const char *instance,
                        int64_t wall_ns) {
    char time[CLOCK_RFC3339_MAX];
    struct buffer out;
    clock_rfc3339_micro(wall_ns, time);
    buffer_init(&out, EVENT_MAX);
    if (!buffer_text(&out, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{"))
        return NULL;
    member(&out, "name", name);
    member(&out, "namespace", event_namespace(event));
    buffer_char(&out, '}');
    member(&out, "eventTime", time);
    member(&out, "type", event->warning ? "Warning" : "Normal");
    bool ok = word(&out, "reason", EVENT_WORD_MAX, event->reason) &&
              word(&out, "action", EVENT_WORD_MAX, event->action) && word(&out, "note", EVENT_NOTE_MAX, event->note);
    member(&out, "reportingController", controller);
    ok = ok && word(&out, "reportingInstance", EVENT_WORD_MAX, instance);
    regarding(&out, event);
    char *text = ok ? buffer_take(&out, NULL) : NULL;
    buffer_free(&out);
    return text;
}

// "series":{...}, without braces around it.
static bool event_series(struct buffer *out, int64_t count, int64_t wall_ns) {
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(wall_ns, time);
    return buffer_printf(out, "\"series\":{\"count\":%" PRId64 ",\"lastObservedTime\":\"%s\"}", count, time);
}

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
    recorder->salt = random_next(&recorder->random);
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

// Counts the occurrences that were never written. No request is in flight.
static void forget(struct series *series) {
    struct recorder *recorder = series->recorder;
    recorder->dropped += (size_t)(series->count - series->written);
    map_remove(&recorder->series, series->key);
    heap_remove(&recorder->timers, &series->timer);
    series_free(series);
}

void recorder_free(struct recorder *recorder) {
    if (!recorder)
        return;
    heap_free(&recorder->timers); // before the series that contain its timers
    struct series *series;
    for (size_t cursor = 0; (series = map_next(&recorder->series, &cursor));) {
        if (series->request != 0)
            client_cancel(recorder->client, series->request);
        series_free(series);
    }
    map_free(&recorder->series);
    free(recorder->buckets);
    free(recorder->controller);
    free(recorder->instance);
    free(recorder);
}

size_t recorder_dropped(const struct recorder *recorder) {
    return recorder->dropped;
}

// Replaces the bucket that is full first if there are too many. NULL: out of memory.
static struct bucket *find_bucket(struct recorder *recorder, uint64_t hash) {
    struct bucket *first = NULL;
    for (size_t i = 0; i < recorder->n_buckets; i++) {
        struct bucket *bucket = &recorder->buckets[i];
        if (bucket->hash == hash)
            return bucket;
        if (!first || bucket->full_ns < first->full_ns)
            first = bucket;
    }
    if (recorder->n_buckets < CACHE_MAX) {
        first = array_next(&recorder->buckets, recorder->n_buckets, sizeof *first);
        recorder->n_buckets += first ? 1 : 0;
    }
    if (first)
        *first = (struct bucket){.hash = hash};
    return first;
}

static bool take_token(struct recorder *recorder, const struct event *event, int64_t now_ns) {
    struct bucket *bucket = find_bucket(recorder, event_bucket_hash(event, recorder->salt));
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
    struct series *oldest = NULL, *series;
    if (recorder->series.count < CACHE_MAX)
        return true;
    for (size_t cursor = 0; (series = map_next(&recorder->series, &cursor));)
        if (series->created && series->request == 0 && !series->answered &&
            (!oldest || series->seen_ns < oldest->seen_ns))
            oldest = series;
    if (oldest)
        forget(oldest);
    return oldest;
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

static struct series *add_series(struct recorder *recorder, struct moment now, const struct event *event) {
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
    return series;
}

void recorder_event(struct recorder *recorder, struct moment now, const struct event *event) {
    AUTO_TEXT key = is_valid(event) ? event_key(event) : NULL;
    struct series *series = key ? map_get(&recorder->series, key) : NULL;
    if (!series && key && take_token(recorder, event, now.mono_ns))
        series = add_series(recorder, now, event);
    else if (series && series->count == 1)
        series->hurry = take_token(recorder, event, now.mono_ns);
    if (!series) {
        recorder->dropped++;
        return;
    }
    series->count++;
    series->seen_ns = now.mono_ns;
    series->seen_wall_ns = now.wall_ns;
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

static void handle_written(struct series *series, int64_t now_ns) {
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

static void handle_answer(struct series *series, int64_t now_ns) {
    series->answered = false;
    if (series->reason == REASON_OK || series->reason == REASON_ALREADY_EXISTS) { // from an earlier try with the name
        handle_written(series, now_ns);
    } else if (reason_is_transient(series->reason)) {
        retry(series, now_ns);
    } else if (series->reason == REASON_NOT_FOUND && series->created) {
        series->created = false; // the Event has expired on the server; recreated with the current count
        series->tries = 0;
        set_timer(series, now_ns);
    } else {
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
            handle_answer(series, now.mono_ns);
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
