// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/events_internal.h"

#include <inttypes.h>
#include <string.h>

#define BODY_MAX ((size_t)16 << 10)

// The text as the log shows it, truncated at a character boundary: it may quote a worker. `out` has max + 1 bytes.
// False when out of memory.
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

// Separated by a byte that none of them contains (the note, which may, comes last). The note of an Event is immutable,
// so a different note is a different Event; the bucket below bounds how many.
char *event_key(const struct event *event) {
    return text_format("%d\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", event->warning, event->action,
                       event->reason, event->api_version, event->kind, event->namespace_, event->name, event->uid,
                       event->note);
}

char *event_bucket_key(const struct event *event) {
    return text_format("%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", event->reason, event->api_version, event->kind,
                       event->namespace_, event->name, event->uid);
}

char *event_name(const struct event *event, int64_t stamp_ns, struct random *random) {
    char *name = text_format("%s.%" PRIx64, event->name, (uint64_t)stamp_ns);
    if (!name || text_is_dns_subdomain(name))
        return name;
    text_cleanup(&name);
    uint64_t high = random_next(random), low = random_next(random);
    // RFC 9562 section 5.4: version 4, variant 10.
    return text_format("%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
                       high >> 16 & 0xffff, high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

const char *event_namespace(const struct event *event) {
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

char *event_body(const struct event *event, const char *name, const char *controller, const char *instance,
                 int64_t wall_ns) {
    char time[CLOCK_RFC3339_MAX];
    struct buffer out;
    clock_rfc3339_micro(wall_ns, time);
    buffer_init(&out, BODY_MAX);
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

bool event_series(struct buffer *out, int64_t count, int64_t wall_ns) {
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(wall_ns, time);
    return buffer_printf(out, "\"series\":{\"count\":%" PRId64 ",\"lastObservedTime\":\"%s\"}", count, time);
}
