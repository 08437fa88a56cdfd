// SPDX-License-Identifier: Apache-2.0
// Quantities, and what pods ask for. The input: a quantity and a PodSpec, with a byte 0xFF between. A quantity is what
// floating-point arithmetic says within its precision, rounded up; a pod asks for nothing negative, and for the same
// whether it was cut down before it was parsed or not.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/engine/capacity/free_capacity.h"
#include "core/host/watchers/node_table.h"
#include "core/kube/api/pod_request.h"
#include "core/kube/object/object.h"
#include "core/kube/object/span.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Only of what is a quantity.
static double about(const char *text) {
    static const struct {
        const char *suffix;
        double factor;
    } suffixes[] = {{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
                    {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
                    {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
    char *end = NULL;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(end, suffixes[i].suffix) == 0)
            return value * suffixes[i].factor;
    fuzz_fail("%s is taken for a quantity", text);
}

static void check_against(const char *text, double expected, int64_t found) {
    if (fabs(expected) >= 9.2e18 ? llabs(found) < INT64_C(9190000000000000000)
                                 : fabs((double)found - expected) > 1 + fabs(expected) * 1e-12)
        fuzz_fail("%s: found %lld, expected about %g", text, (long long)found, expected);
}

static void check_quantity(const char *text) {
    int64_t units = 0, millis = 0, opposite = 0;
    if (!quantity_parse(text, false, &units)) {
        if (quantity_parse(text, true, &millis))
            fuzz_fail("%s is a quantity of cpu only", text);
        return;
    }
    if (!quantity_parse(text, true, &millis))
        fuzz_fail("%s is no quantity of cpu", text);
    check_against(text, about(text), units);
    check_against(text, 1000 * about(text), millis);
    int64_t up = millis / 1000 + (millis % 1000 > 0) - (millis % 1000 < 0);
    if (llabs(millis) < INT64_MAX && units != up)
        fuzz_fail("%s: %lld and %lld thousandths", text, (long long)units, (long long)millis);
    bool sign = *text == '-' || *text == '+';
    AUTO_TEXT other = text_format("%s%s", *text == '-' ? "" : "-", text + sign);
    if (other && strlen(other) <= QUANTITY_MAX && (!quantity_parse(other, false, &opposite) || opposite != -units))
        fuzz_fail("%s: found %lld, and %lld for its opposite", text, (long long)units, (long long)opposite);
}

static void check_request(const struct json *spec) {
    struct resource_list list;
    pod_request_read(spec, spec, &list);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].amount < 0 || resource_get(&list, list.items[i].name) != list.items[i].amount)
            fuzz_fail("%s: found %lld", list.items[i].name, (long long)list.items[i].amount);
}

static void check_shape(const struct json *spec) {
    struct pod_shapes shapes;
    pod_shapes_init(&shapes, 1);
    struct pod_shape *one = pod_shape_ref(&shapes, spec), *two = pod_shape_ref(&shapes, spec);
    if (!one || one != two || one->refs != 2)
        fuzz_fail("the same pods have two shapes");
    pod_shapes_free(&shapes);
}

// A pod, before and after it was cut down.
static void check_pruned(const char *text, size_t len) {
    AUTO_TEXT pod =
        text_format("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":%.*s,\"status\":{}}", (int)len, text);
    size_t pruned_len = 0;
    AUTO_TEXT pruned = pod ? prune_text(pod, strlen(pod), node_table_of_pods, NULL, 0, &pruned_len) : NULL;
    AUTO_JSON whole = NULL;
    AUTO_JSON cut = NULL;
    if (!pod)
        return;
    struct error *error = json_parse(pod, strlen(pod), &whole);
    bool valid = !error;
    error_free(error);
    if (!valid)
        return;
    error = pruned ? json_parse(pruned, pruned_len, &cut) : NULL;
    if (!pruned || error)
        fuzz_fail("%s: %s", pod, error ? error_text(error) : "is taken for malformed");
    struct resource_list a, b;
    pod_request_read(json_get(whole, "spec"), NULL, &a);
    pod_request_read(json_get(cut, "spec"), NULL, &b);
    bool same = a.count == b.count;
    for (size_t i = 0; i < a.count && same; i++)
        same = resource_get(&b, a.items[i].name) == a.items[i].amount;
    if (!same)
        fuzz_fail("%s asks for something else once it is cut down", pod);
    struct node_table *table = node_table_new(1);
    if (!table || !node_table_put(table, TABLE_PODS, cut) || !node_table_put(table, TABLE_NODES, cut))
        fuzz_fail("it is not counted");
    node_table_remove(table, TABLE_PODS, cut);
    if (node_table_size(table).pods != 0)
        fuzz_fail("a pod that is gone is still there");
    node_table_free(table);
}

void fuzz_one(const uint8_t *data, size_t size) {
    struct fuzz_part quantity = fuzz_next_part(&data, &size), spec = fuzz_next_part(&data, &size);
    AUTO_TEXT text = text_format("%.*s", (int)quantity.len, quantity.text);
    if (text)
        check_quantity(text);
    AUTO_JSON value = NULL;
    struct error *error = json_parse(spec.text, spec.len, &value);
    if (!error && json_is(value, JSON_OBJECT)) {
        check_request(value);
        check_shape(value);
        if (!memchr(spec.text, '\\', spec.len)) // keys are compared as they are written
            check_pruned(spec.text, spec.len);
    }
    error_free(error);
}
