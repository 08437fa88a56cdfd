// SPDX-License-Identifier: Apache-2.0
// Making a mirror and carrying changes to it is about linear in what is carried: four times as much is four times the
// steps, whatever the worker has done with the mirror.
#include "core/json/pointer.h"
#include "tests/support/steps.h"
#include "tests/support/trains.h"
#include "tests/unit/quoted.h"

#include <stdio.h>

#define FEW 5000
#define MANY 20000
#define RATIO 5.5 // 4, and room for sorting and for tables that double

const wharf_kind train_given = {
    TRAIN_NAMES,
    .carried = (const wharf_carried[]){{.pointer = "/spec/suspend"},
                                       {.pointer = "/spec/groups/*/count"},
                                       {.pointer = "/spec/map/*/count"},
                                       {.pointer = NULL}},
    .removed = (const char *const[]){"/spec/groups/*/managedBy", NULL},
    .phases = (const wharf_phase_rule[]){{"/status/phase", "Done", .phase = WHARF_SUCCEEDED}, {.pointer = NULL}},
};

enum part { LABELS, ITEMS, MEMBERS };

static void add_one(struct buffer *text, enum part part, int i, bool last) {
    static const struct {
        const char *before, *after;
    } parts[] = {{"\"example.com/l", "\":\"\""}, {"{\"name\":\"g", "\",\"count\":1}"}, {"\"m", "\":{\"count\":1}"}};
    buffer_printf(text, "%s%d%s%s", parts[part].before, i, parts[part].after, last ? "" : ",");
}

static struct json *object_with(enum part part, int count, bool backwards, const char *record) {
    struct buffer text;
    buffer_init(&text, (size_t)1 << 26);
    buffer_text(&text, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Train\",\"metadata\":{\"name\":\"t\","
                       "\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"annotations\":{");
    if (record)
        buffer_printf(&text, "\"wharf.dev/carried\":\"%s\"", record);
    buffer_text(&text, "},\"labels\":{\"a\":\"b\"");
    for (int i = 0; part == LABELS && i < count; i++) {
        buffer_char(&text, ',');
        add_one(&text, part, backwards ? count - 1 - i : i, true);
    }
    buffer_text(&text, part == MEMBERS ? "}},\"spec\":{\"map\":{" : "}},\"spec\":{\"groups\":[");
    for (int i = 0; part != LABELS && i < count; i++)
        add_one(&text, part, backwards ? count - 1 - i : i, i + 1 == count);
    buffer_text(&text, part == MEMBERS ? "}}}" : "]}}");
    struct json *value = NULL;
    assert_null(json_parse(text.data, text.len, &value));
    buffer_free(&text);
    return value;
}

struct subject {
    struct json *workload, *mirror;
    struct mirror_record record;
    bool make;
};

static void call(void *ctx) {
    struct subject *s = ctx;
    const struct mirror_context about = {
        .workload = s->workload, .mirror = s->make ? NULL : s->mirror, .attempt = 1, .record = &s->record};
    AUTO_JSON out = NULL;
    assert_int_equal(train_ask(s->make ? mirror_make : mirror_patch, &about, &out, NULL, 0), WHARF_OK);
}

struct scenario {
    const char *what;
    enum part part;
    bool make, mirror_has, backwards, workload_lost;
};

static uint64_t steps_with(const struct scenario *scenario, int count) {
    struct subject s = {.workload = object_with(scenario->part, count, false, NULL), .make = true};
    call(&s); // what is on record from then on
    char *record = s.record.next;
    s.record = (struct mirror_record){.known = record};
    s.make = scenario->make;
    s.mirror = object_with(scenario->part, scenario->mirror_has ? count : 0, scenario->backwards, record);
    if (scenario->workload_lost) {
        json_free(s.workload);
        s.workload = object_with(scenario->part, 0, false, NULL);
    }
    uint64_t steps = steps_of(call, &s);
    free(s.record.next);
    free(record);
    json_free(s.workload);
    json_free(s.mirror);
    return steps;
}

static void carrying_is_linear_in_what_is_carried(void **state) {
    (void)state;
    static const struct scenario scenarios[] = {
        {"made, labels", LABELS, .make = true},
        {"nothing to carry, labels", LABELS, .mirror_has = true},
        {"nothing to carry, labels in another order", LABELS, .mirror_has = true, .backwards = true},
        {"all to carry, labels", LABELS, .make = false},
        {"all taken away, labels", LABELS, .mirror_has = true, .workload_lost = true},
        {"made, items", ITEMS, .make = true},
        {"nothing to carry, items", ITEMS, .mirror_has = true},
        {"nothing to carry, items in another order", ITEMS, .mirror_has = true, .backwards = true},
        {"no counterparts, items", ITEMS, .make = false},
        {"made, members", MEMBERS, .make = true},
        {"nothing to carry, members", MEMBERS, .mirror_has = true},
        {"all to carry, members", MEMBERS, .make = false},
        {"all taken away, members", MEMBERS, .mirror_has = true, .workload_lost = true},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        const struct scenario *scenario = &scenarios[i];
        // Of spec fields pointers and values are on record: half as many fit.
        int few = scenario->part == LABELS ? FEW : FEW / 2, many = scenario->part == LABELS ? MANY : MANY / 2;
        uint64_t little = steps_with(scenario, few), much = steps_with(scenario, many);
        if ((double)much > RATIO * (double)little)
            fail_msg("%s: %llu steps for %d, %llu for %d", scenario->what, (unsigned long long)little, few,
                     (unsigned long long)much, many);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(carrying_is_linear_in_what_is_carried)};
    return cmocka_run_group_tests(tests, train_setup, train_teardown);
}
