// SPDX-License-Identifier: Apache-2.0
// Services called for each member or item take about linear time in total: four times the members are four times the
// steps.
#include "core/adapter/services.h"
#include "core/base/text.h"
#include "tests/support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FEW 10000
#define MANY 40000
#define RATIO 5 // 4, and room for tables that double

struct subject {
    struct adapter_call call;
    int count;
    wharf_value *object; // {"status": {"k0": 0, ...}}
    wharf_value *list;   // {"list": [{"name": "k0"}, ...]}
};

static wharf_value *parsed(struct subject *s, const char *start, const char *before, const char *after,
                           const char *end) {
    struct buffer text;
    buffer_init(&text, (size_t)1 << 26);
    buffer_text(&text, start);
    for (int i = 0; i < s->count; i++)
        buffer_printf(&text, "%s%s%d%s", i ? "," : "", before, i, after);
    buffer_text(&text, end);
    wharf_value *value = services_table()->parse(&s->call.call, text.data, text.len);
    buffer_free(&text);
    assert_non_null(value);
    return value;
}

static void make(struct subject *s, int count) {
    static const wharf_kind kind = {.size = sizeof(wharf_kind), .kind = "Thing", .plural = "things"};
    struct call_context context = {.kind = &kind, .now = {.mono_ns = 1, .wall_ns = 1}, .adapter = "thing"};
    *s = (struct subject){.count = count};
    adapter_call_begin(&s->call, &context);
    s->object = parsed(s, "{\"status\":{", "\"k", "\":0", "}}");
    s->list = parsed(s, "{\"list\":[", "{\"name\":\"k", "\"}", "]}");
}

static void find_each(void *ctx) {
    struct subject *s = ctx;
    const wharf_host *host = services_table();
    for (int i = s->count; i-- > 0;) {
        AUTO_TEXT member = text_format("/status/k%d", i);
        AUTO_TEXT item = text_format("/list/%d/name", i);
        assert_non_null(host->find(s->object, member));
        assert_non_null(host->find(s->list, item));
    }
    for (size_t i = 0; i < host->count(host->find(s->list, "/list")); i++)
        assert_non_null(host->find(s->list, "/list/0"));
}

static void find_each_by_name(void *ctx) {
    struct subject *s = ctx;
    const wharf_host *host = services_table();
    for (int i = 0; i < s->count; i++) {
        AUTO_TEXT there = text_format("k%d", i);
        AUTO_TEXT missing = text_format("n%d", i);
        assert_non_null(host->find_where(s->list, "/list", "name", there));
        assert_null(host->find_where(s->list, "/list", "name", missing));
    }
}

static void set_each(void *ctx) {
    struct subject *s = ctx;
    const wharf_host *host = services_table();
    wharf_value *made = host->new_object(&s->call.call);
    host->set(&s->call.call, made, "/list", host->new_array(&s->call.call));
    for (int i = 0; i < s->count; i++) {
        AUTO_TEXT member = text_format("/status/k%d", i);
        AUTO_TEXT item = text_format("/list/%d", i);
        host->set_integer(&s->call.call, made, member, i);
        host->set_string(&s->call.call, made, "/list/-", "a");
        host->set_boolean(&s->call.call, made, item, 1);
    }
    for (int i = s->count; i-- > 0;) {
        AUTO_TEXT member = text_format("/status/k%d", i);
        AUTO_TEXT item = text_format("/list/%d", i);
        host->remove(&s->call.call, made, member);
        host->remove(&s->call.call, made, item);
    }
}

static void set_the_whole(void *ctx) {
    struct subject *s = ctx;
    const wharf_host *host = services_table();
    wharf_value *made = host->new_object(&s->call.call);
    for (int i = 0; i < 3; i++)
        host->set(&s->call.call, made, "", s->object);
    assert_true(host->equal(made, s->object));
    wharf_value *copy = host->copy(&s->call.call, host->find(s->object, "/status"));
    host->set(&s->call.call, copy, "", host->find(made, "/status"));
    assert_non_null(host->print(&s->call.call, copy, NULL));
}

static void conditions(void *ctx) {
    struct subject *s = ctx;
    const wharf_host *host = services_table();
    wharf_value *object =
        parsed(s, "{\"status\":{\"conditions\":[", "{\"status\":\"False\",\"type\":\"k", "\"}", "]}}");
    for (int i = 0; i < 4; i++) {
        AUTO_TEXT type = text_format("k%d", s->count - i);
        assert_non_null(host->set_condition(&s->call.call, object, type, "True", "Because", ""));
    }
    assert_int_equal(host->count(host->find(object, "/status/conditions")), s->count + 1);
}

static void four_times_the_members_are_four_times_the_steps(void **state) {
    (void)state;
    static const struct {
        const char *what;
        void (*run)(void *ctx);
    } cases[] = {
        {"find, count", find_each},
        {"find_where", find_each_by_name},
        {"set_integer, set_string, set_boolean, remove", set_each},
        {"set of the whole, copy, equal, print", set_the_whole},
        {"parse, set_condition", conditions},
    };
    struct subject few, many;
    make(&few, FEW);
    make(&many, MANY);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        steps_compare(cases[i].what, cases[i].run, &few, FEW, &many, MANY, RATIO);
    adapter_call_end(&few.call);
    adapter_call_end(&many.call);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_times_the_members_are_four_times_the_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
