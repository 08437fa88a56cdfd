// SPDX-License-Identifier: Apache-2.0
// Columns as pkg/printers/internalversion prints them for built-in kinds, and additionalPrinterColumns of a CRD.
#include "core/base/clock.h"
#include "tests/world/crd.h"
#include "tests/world/view.h"

#include <stdio.h>
#include <string.h>

static const struct column of_job[] = {{"Name", "string", false},        {"Status", "string", false},
                                       {"Completions", "string", false}, {"Duration", "string", false},
                                       {"Age", "string", false},         {"Containers", "string", true},
                                       {"Images", "string", true}};
static const struct column of_cronjob[] = {{"Name", "string", false},          {"Schedule", "string", false},
                                           {"Suspend", "boolean", false},      {"Active", "integer", false},
                                           {"Last Schedule", "string", false}, {"Age", "string", false}};
static const struct column of_namespace[] = {
    {"Name", "string", false}, {"Status", "string", false}, {"Age", "string", false}};
static const struct column of_pod[] = {{"Name", "string", false},
                                       {"Ready", "string", false},
                                       {"Status", "string", false},
                                       {"Restarts", "string", false},
                                       {"Age", "string", false}};
static const struct column of_event[] = {{"Last Seen", "string", false}, {"Type", "string", false},
                                         {"Reason", "string", false},    {"Object", "string", false},
                                         {"Message", "string", false},   {"Name", "string", true}};
static const struct column of_lease[] = {
    {"Name", "string", false}, {"Holder", "string", false}, {"Age", "string", false}};
static const struct column of_any[] = {{"Name", "string", false}, {"Age", "string", false}};

#define SET(columns)                                                                                                   \
    { columns, sizeof(columns) / sizeof *(columns) }
static const struct {
    const struct column *columns;
    size_t count;
} sets[] = {[SPECIAL_NONE] = SET(of_any),        [SPECIAL_JOB] = SET(of_job),
            [SPECIAL_CRONJOB] = SET(of_cronjob), [SPECIAL_NAMESPACE] = SET(of_namespace),
            [SPECIAL_POD] = SET(of_pod),         [SPECIAL_EVENT] = SET(of_event),
            [SPECIAL_LEASE] = SET(of_lease)};

static const struct json *printer_columns(const struct kind *kind, const char *version) {
    return json_get(crd_version(kind->definition, version), "additionalPrinterColumns");
}

size_t columns_of(const struct kind *kind, const char *version, struct column *columns) {
    const struct json *given = printer_columns(kind, version);
    if (!given) {
        size_t set = kind->special < sizeof sets / sizeof *sets ? kind->special : SPECIAL_NONE;
        memcpy(columns, sets[set].columns, sets[set].count * sizeof *columns);
        return sets[set].count;
    }
    size_t count = 0;
    columns[count++] = of_any[0];
    for (const struct json *item = json_first(given); item && count < COLUMNS_MAX; item = json_next(item))
        columns[count++] = (struct column){.name = json_string_or(json_get(item, "name"), ""),
                                           .type = json_string_or(json_get(item, "type"), "string"),
                                           .wide = json_int64(json_get(item, "priority"), 0) > 0};
    return count;
}

static void add(struct json *cells, const char *text) {
    if (!json_append(cells, json_new_string(text)))
        world_oom();
}

static void add_int(struct json *cells, int64_t number) {
    if (!json_append(cells, json_new_int64(number)))
        world_oom();
}

// apimachinery's duration.HumanDuration.
static void human(int64_t ns, char out[32]) {
    long long s = ns / CLOCK_SECOND, m = s / 60, h = m / 60, d = h / 24;
    if (s < 0)
        snprintf(out, 32, "0s");
    else if (s < 120)
        snprintf(out, 32, "%llds", s);
    else if (m < 10 && s % 60)
        snprintf(out, 32, "%lldm%llds", m, s % 60);
    else if (m < 180)
        snprintf(out, 32, "%lldm", m);
    else if (h < 8 && m % 60)
        snprintf(out, 32, "%lldh%lldm", h, m % 60);
    else if (h < 48)
        snprintf(out, 32, "%lldh", h);
    else if (d < 8 && h % 24)
        snprintf(out, 32, "%lldd%lldh", d, h % 24);
    else
        snprintf(out, 32, "%lldd", d);
}

static void add_since(struct json *cells, const struct kind *kind, const struct json *time) {
    char text[32] = "<unknown>";
    int64_t at_ns;
    if (clock_parse_rfc3339(json_string_or(time, ""), &at_ns))
        human(kind->cluster->now_ns - at_ns, text);
    add(cells, text);
}

static void add_age(struct json *cells, const struct kind *kind, const struct json *object) {
    add_since(cells, kind, json_path(object, "metadata", "creationTimestamp", NULL));
}

static bool has_condition(const struct json *job, const char *type) {
    const struct json *item = json_first(json_path(job, "status", "conditions", NULL));
    for (; item; item = json_next(item))
        if (text_equal(json_string(json_get(item, "type")), type) &&
            text_equal(json_string(json_get(item, "status")), "True"))
            return true;
    return false;
}

static const char *job_state(const struct json *job) {
    static const char *const order[] = {"Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (i == 2 && json_path(job, "metadata", "deletionTimestamp", NULL))
            return "Terminating";
        if (has_condition(job, order[i]))
            return order[i];
    }
    return "Running";
}

static void add_containers(struct json *cells, const struct json *job, const char *member) {
    AUTO_BUFFER(text, 1 << 20);
    const struct json *item = json_first(json_path(job, "spec", "template", "spec", "containers", NULL));
    buffer_text(&text, "");
    for (; item; item = json_next(item))
        buffer_printf(&text, "%s%s", text.len ? "," : "", json_string_or(json_get(item, member), ""));
    add(cells, text.data ? text.data : "");
}

static void fill_job(const struct kind *kind, const struct json *job, struct json *cells) {
    const struct json *completions = json_path(job, "spec", "completions", NULL);
    long long done = json_int64(json_path(job, "status", "succeeded", NULL), 0);
    long long parallelism = json_int64(json_path(job, "spec", "parallelism", NULL), 1);
    char text[64];
    int64_t from_ns, to_ns = kind->cluster->now_ns;
    add(cells, job_state(job));
    if (completions && !json_is(completions, JSON_NULL))
        snprintf(text, sizeof text, "%lld/%lld", done, (long long)json_int64(completions, 1));
    else if (parallelism > 1)
        snprintf(text, sizeof text, "%lld/1 of %lld", done, parallelism);
    else
        snprintf(text, sizeof text, "%lld/1", done);
    add(cells, text);
    *text = '\0';
    clock_parse_rfc3339(json_string_or(json_path(job, "status", "completionTime", NULL), ""), &to_ns);
    if (clock_parse_rfc3339(json_string_or(json_path(job, "status", "startTime", NULL), ""), &from_ns))
        human(to_ns - from_ns, text);
    add(cells, text);
    add_age(cells, kind, job);
    add_containers(cells, job, "name");
    add_containers(cells, job, "image");
}

static void fill_cronjob(const struct kind *kind, const struct json *object, struct json *cells) {
    add(cells, json_string_or(json_path(object, "spec", "schedule", NULL), ""));
    if (!json_append(cells, json_new_bool(json_bool(json_path(object, "spec", "suspend", NULL), false))))
        world_oom();
    add_int(cells, (int64_t)json_size(json_path(object, "status", "active", NULL)));
    const struct json *last = json_path(object, "status", "lastScheduleTime", NULL);
    if (last)
        add_since(cells, kind, last);
    else
        add(cells, "<none>");
    add_age(cells, kind, object);
}

static void fill_pod(const struct kind *kind, const struct json *pod, struct json *cells) {
    const struct json *list = json_path(pod, "status", "containerStatuses", NULL);
    size_t ready = 0, all = json_size(json_path(pod, "spec", "containers", NULL));
    for (const struct json *item = json_first(list); item; item = json_next(item))
        ready += json_bool(json_get(item, "ready"), false);
    if (!list && has_condition(pod, "Ready"))
        ready = all;
    char text[64];
    snprintf(text, sizeof text, "%zu/%zu", ready, all);
    add(cells, text);
    add(cells, json_string_or(json_path(pod, "status", "phase", NULL), "Pending"));
    add(cells, "0");
    add_age(cells, kind, pod);
}

// In either form.
static void fill_event(const struct kind *kind, const struct json *event, struct json *cells) {
    const struct json *about = json_get(event, "involvedObject"), *note = json_get(event, "message");
    const struct json *last = json_path(event, "series", "lastObservedTime", NULL);
    about = about ? about : json_get(event, "regarding");
    add_since(cells, kind, last ? last : json_get(event, "eventTime"));
    add(cells, json_string_or(json_get(event, "type"), ""));
    add(cells, json_string_or(json_get(event, "reason"), ""));
    AUTO_TEXT object =
        text_format("%s/%s", json_string_or(json_get(about, "kind"), ""), json_string_or(json_get(about, "name"), ""));
    if (!object)
        world_oom();
    for (char *c = object; *c && *c != '/'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    add(cells, object);
    add(cells, json_string_or(note ? note : json_get(event, "note"), ""));
    add(cells, json_string_or(json_path(event, "metadata", "name", NULL), ""));
}

static void fill_custom(const struct kind *kind, const struct json *columns, const struct json *object,
                        struct json *cells) {
    size_t count = 1;
    for (const struct json *item = json_first(columns); item && count < COLUMNS_MAX; item = json_next(item), count++) {
        const struct json *value = jsonpath_find(object, json_string_or(json_get(item, "jsonPath"), "?"));
        bool date = text_equal(json_string(json_get(item, "type")), "date");
        struct json *cell = value ? json_copy(value) : json_new_null();
        if (date && value) {
            json_free(cell);
            add_since(cells, kind, value);
        } else if (!json_append(cells, cell)) {
            world_oom();
        }
    }
}

void columns_fill(const struct kind *kind, const char *version, const struct json *object, struct json *cells) {
    const struct json *given = printer_columns(kind, version);
    if (kind->special == SPECIAL_EVENT) {
        fill_event(kind, object, cells);
        return;
    }
    add(cells, json_string_or(json_path(object, "metadata", "name", NULL), ""));
    if (given) {
        fill_custom(kind, given, object, cells);
    } else if (kind->special == SPECIAL_JOB) {
        fill_job(kind, object, cells);
    } else if (kind->special == SPECIAL_CRONJOB) {
        fill_cronjob(kind, object, cells);
    } else if (kind->special == SPECIAL_POD) {
        fill_pod(kind, object, cells);
    } else {
        if (kind->special == SPECIAL_NAMESPACE)
            add(cells, json_string_or(json_path(object, "status", "phase", NULL), "Active"));
        else if (kind->special == SPECIAL_LEASE)
            add(cells, json_string_or(json_path(object, "spec", "holderIdentity", NULL), ""));
        add_age(cells, kind, object);
    }
}
