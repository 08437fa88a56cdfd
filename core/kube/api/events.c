// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/events.h"

#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/json/writer.h"

#include <inttypes.h>

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
    const char *key, *name, *namespace_, *body; // first members, see struct_copy_with_texts
    struct timer timer;                         // when work is due; CLOCK_NEVER while a request is in flight
    struct recorder *recorder;
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
    const char *controller, *instance; // first members, see struct_copy_with_texts
    struct client *client;
    struct gate *gate;
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

// The text as the log shows it, since the text may quote a worker; truncated at a character boundary.
static void put_text(struct writer *writer, const char *key, size_t max, const char *text) {
    AUTO_BUFFER(shown, SIZE_MAX / 4);
    char cut[EVENT_NOTE_MAX + 1];
    writer->out->failed |= !text_show(&shown, text);
    text_copy(cut, max + 1, shown.data ? shown.data : "");
    writer_string(writer, key, cut);
}

// The Event as JSON, without "series" and the closing brace. NULL when out of memory.
static char *event_body(const struct event *event, const char *name, const struct recorder *recorder, int64_t wall_ns) {
    AUTO_BUFFER(out, EVENT_MAX);
    struct writer writer = {.out = &out};
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(wall_ns, time);
    writer_object(&writer, NULL);
    writer_string(&writer, "apiVersion", "events.k8s.io/v1");
    writer_string(&writer, "kind", "Event");
    writer_object(&writer, "metadata");
    writer_string(&writer, "name", name);
    writer_string(&writer, "namespace", event_namespace(event));
    writer_end(&writer, '}');
    writer_string(&writer, "eventTime", time);
    writer_string(&writer, "type", event->warning ? "Warning" : "Normal");
    put_text(&writer, "reason", EVENT_WORD_MAX, event->reason);
    put_text(&writer, "action", EVENT_WORD_MAX, event->action);
    put_text(&writer, "note", EVENT_NOTE_MAX, event->note);
    writer_string(&writer, "reportingController", recorder->controller);
    put_text(&writer, "reportingInstance", EVENT_WORD_MAX, recorder->instance);
    writer_object(&writer, "regarding");
    writer_string(&writer, "apiVersion", event->api_version);
    writer_string(&writer, "kind", event->kind);
    if (event->namespace_[0] != '\0')
        writer_string(&writer, "namespace", event->namespace_);
    writer_string(&writer, "name", event->name);
    writer_string(&writer, "uid", event->uid);
    writer_end(&writer, '}');
    return buffer_take(&out, NULL);
}

struct error *recorder_new(struct client *client, const char *reporting_controller, const char *reporting_instance,
                           uint64_t seed, struct recorder **out) {
    struct recorder made = {.controller = reporting_controller,
                            .instance = reporting_instance,
                            .client = client,
                            .random = {.state = seed}};
    // Keeps two recorders from choosing the same name at the same time.
    made.stamp_offset_ns = (int64_t)random_below(&made.random, (uint64_t)CLOCK_MS);
    map_init(&made.series, random_next(&made.random));
    made.salt = random_next(&made.random);
    *out = struct_copy_with_texts(&made, sizeof made, 2);
    return *out ? NULL : error_no_memory();
}

void recorder_gate(struct recorder *recorder, struct gate *gate) {
    recorder->gate = gate;
}

// Counts the occurrences that were never written. No request is in flight.
static void forget(struct series *series) {
    struct recorder *recorder = series->recorder;
    recorder->dropped += (size_t)(series->count - series->written);
    map_remove(&recorder->series, series->key);
    heap_remove(&recorder->timers, &series->timer);
    free(series);
}

void recorder_free(struct recorder *recorder) {
    if (!recorder)
        return;
    heap_free(&recorder->timers); // before the series that contain its timers
    struct series *series;
    for (size_t cursor = 0; (series = map_next(&recorder->series, &cursor));) {
        if (series->request != 0)
            client_cancel(recorder->client, series->request);
        free(series);
    }
    map_free(&recorder->series);
    free(recorder->buckets);
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

static struct series *add_series(struct recorder *recorder, struct moment now, const struct event *event,
                                 const char *key) {
    if (!make_room(recorder))
        return NULL;
    int64_t stamp_ns = now.wall_ns + recorder->stamp_offset_ns;
    recorder->last_stamp_ns = clock_later(stamp_ns, recorder->last_stamp_ns + 1);
    AUTO_TEXT name = event_name(event, recorder->last_stamp_ns, &recorder->random);
    AUTO_TEXT body = name ? event_body(event, name, recorder, now.wall_ns) : NULL;
    if (!body)
        return NULL;
    struct series made = {.key = key,
                          .name = name,
                          .namespace_ = event_namespace(event),
                          .body = body,
                          .recorder = recorder,
                          .flushed_ns = now.mono_ns};
    timer_init(&made.timer);
    struct series *series = struct_copy_with_texts(&made, sizeof made, 4);
    if (!series)
        return NULL;
    if (heap_set(&recorder->timers, &series->timer, now.mono_ns) && map_put(&recorder->series, series->key, series))
        return series;
    heap_remove(&recorder->timers, &series->timer);
    free(series);
    return NULL;
}

void recorder_event(struct recorder *recorder, struct moment now, const struct event *event) {
    bool valid = event->reason[0] != '\0' && event->action[0] != '\0' && event->name[0] != '\0';
    AUTO_TEXT key = valid ? event_key(event) : NULL;
    struct series *series = key ? map_get(&recorder->series, key) : NULL;
    if (!series && key && take_token(recorder, event, now.mono_ns))
        series = add_series(recorder, now, event, key);
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
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(series->seen_wall_ns, time);
    if (!series->created)
        buffer_text(body, series->body);
    if (series->count > 1)
        buffer_printf(body, "%c\"series\":{\"count\":%" PRId64 ",\"lastObservedTime\":\"%s\"}",
                      series->created ? '{' : ',', series->count, time);
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
        struct series *series = (struct series *)((char *)first - offsetof(struct series, timer));
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
