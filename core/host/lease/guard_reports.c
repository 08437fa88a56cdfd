// SPDX-License-Identifier: Apache-2.0
#include "core/host/lease/guard_reports.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/fence/guard_report.h"
#include "core/json/writer.h"
#include "core/kube/object/object.h"

#define REST_NS CLOCK_SECOND // between two bodies

struct noted { // one block
    const char *uid, *text;
    size_t size;
};

void guard_reports_init(struct guard_reports *reports, uint64_t seed) {
    *reports = (struct guard_reports){.changed = false};
    map_init(&reports->entries, seed);
}

void guard_reports_free(struct guard_reports *reports) {
    map_free_values(&reports->entries);
}

static void drop(struct guard_reports *reports, struct noted *noted) {
    map_remove(&reports->entries, noted->uid);
    reports->bytes -= noted->size;
    free(noted);
}

static struct noted *largest(const struct guard_reports *reports) {
    struct noted *found = NULL;
    size_t cursor = 0;
    for (struct noted *noted; (noted = map_next(&reports->entries, &cursor));)
        found = found && found->size >= noted->size ? found : noted;
    return found;
}

// Without memory, the former state stays.
static void put(struct guard_reports *reports, const char *uid, const char *text) {
    struct noted *known = map_get(&reports->entries, uid);
    if (known && strcmp(known->text, text) == 0)
        return;
    const struct noted fresh = {.uid = uid, .text = text, .size = strlen(uid) + strlen(text)};
    struct noted *noted = struct_copy_with_texts(&fresh, sizeof fresh, 2);
    if (!noted)
        return;
    if (!map_put(&reports->entries, noted->uid, noted)) {
        free(noted);
        return;
    }
    reports->bytes += noted->size - (known ? known->size : 0);
    free(known);
    reports->changed = true;
    while (reports->bytes > GUARD_REPORT_MAX) {
        drop(reports, largest(reports));
        reports->left_out++;
    }
}

void guard_reports_note(struct guard_reports *reports, const struct kind *kind, const struct json *mirror,
                        struct moment now) {
    AUTO_BUFFER(text, GUARD_REPORT_MAX);
    if (guard_report_print(kind, mirror, now, &text))
        put(reports, object_uid(mirror), text.data);
}

void guard_reports_end(struct guard_reports *reports) {
    size_t cursor = 0;
    for (struct noted *noted; (noted = map_next(&reports->entries, &cursor));)
        drop(reports, noted);
    reports->left_out = 0;
    reports->changed = reports->reported;
    reports->next_ns = 0;
}

bool guard_reports_take(struct guard_reports *reports, struct moment now, struct buffer *out, int64_t *at_ns) {
    *at_ns = reports->changed ? reports->next_ns : CLOCK_NEVER;
    if (*at_ns > now.mono_ns)
        return false;
    struct writer writer = {.out = out};
    size_t cursor = 0;
    writer_object(&writer, NULL);
    if (reports->entries.count == 0)
        writer_null(&writer, "data");
    else
        writer_object(&writer, "data");
    for (struct noted *noted; (noted = map_next(&reports->entries, &cursor));)
        writer_string(&writer, noted->uid, noted->text);
    if (reports->entries.count > 0)
        writer_end(&writer, '}');
    writer_end(&writer, '}');
    reports->reported = reports->entries.count > 0;
    reports->changed = false;
    reports->next_ns = now.mono_ns + REST_NS;
    *at_ns = CLOCK_NEVER;
    return !out->failed;
}
