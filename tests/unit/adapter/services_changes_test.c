// SPDX-License-Identifier: Apache-2.0
// The services that change values, and their errors for invalid input.
#include "core/adapter/services.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const wharf_kind plain = {.size = sizeof(wharf_kind), .kind = "Thing", .plural = "things"};

static void begin(struct adapter_call *call, const wharf_kind *kind) {
    adapter_call_begin(call, &(struct call_context){.kind = kind, .version = "v1"});
}

static wharf_value *parsed(struct adapter_call *call, const char *text) {
    wharf_value *value = services_table()->parse(&call->call, text, strlen(text));
    assert_non_null(value);
    return value;
}

static void assert_text(struct adapter_call *call, const wharf_value *value, const char *expected) {
    const char *text = services_table()->print(&call->call, value, NULL);
    assert_non_null(text);
    assert_string_equal(text, expected);
}

#define SUBJECT "{\"text\":\"x\",\"list\":[1],\"status\":{\"conditions\":7}}"

// The last service failed with this message.
static void assert_failed(struct adapter_call *call, const char *says) {
    if (call->failure != WHARF_REFUSED || !strstr(call->failed, says))
        fail_msg("found \"%s\", expected \"%s\"", call->failed ? call->failed : "no failure", says);
    call->failure = WHARF_OK;
    call->failed = NULL;
}

static void what_cannot_be_set_is_a_failure_with_a_sentence(void **state) {
    (void)state;
    struct adapter_call call;
    begin(&call, &plain);
    const wharf_host *host = services_table();
    const wharf_call *c = &call.call;
    wharf_value *root = parsed(&call, SUBJECT);
    host->set(c, root, "/text/a", root);
    assert_failed(&call, "/text/a: cannot be set below a string");
    host->set_string(c, root, "/text/a/b", "x");
    assert_failed(&call, "/text/a/b: cannot be set below a string");
    host->set_integer(c, root, "/list/1", 1);
    assert_failed(&call, "/list/1: cannot be set: the array has no item \"1\"");
    host->set_integer(c, root, "/list/1/a", 1);
    assert_failed(&call, "/list/1/a: cannot be set: the array has no item \"1\"");
    host->set_boolean(c, root, "a", 1);
    assert_failed(&call, "found \"a\", expected a JSON pointer or a pattern");
    host->set(c, root, NULL, root);
    assert_failed(&call, "found no pointer, expected a JSON pointer or a pattern");
    host->set(c, root, "/~3", root);
    assert_failed(&call, "found \"/~3\", expected a JSON pointer or a pattern");
    host->set(c, NULL, "/a", root);
    assert_failed(&call, "/a: cannot be set: the value to be changed is absent");
    host->set(c, root, "/a", NULL);
    assert_failed(&call, "/a: cannot be set: the value to be set is absent");
    host->set_string(c, root, "/a", NULL);
    assert_failed(&call, "/a: cannot be set: the text is absent");
    host->set_string(c, root, "/a", "\xff");
    assert_failed(&call, "/a: cannot be set: the text is not UTF-8");
    host->set(c, root, "", host->find(root, "/list"));
    assert_failed(&call, "\"\": the content of an object cannot be replaced by that of an array");
    host->set(c, root, "/*/a", root);
    assert_failed(&call, "/*/a: cannot be set below a string");
    adapter_call_end(&call);
}

static void other_bad_input_is_a_failure_with_a_sentence(void **state) {
    (void)state;
    struct adapter_call call;
    begin(&call, &plain);
    const wharf_host *host = services_table();
    const wharf_call *c = &call.call;
    wharf_value *root = parsed(&call, SUBJECT);
    host->remove(c, root, "");
    assert_failed(&call, "\"\": a value cannot be removed from itself");
    host->remove(c, root, "text");
    assert_failed(&call, "found \"text\", expected a JSON pointer or a pattern");
    host->take(c, root, root, "text");
    assert_failed(&call, "found \"text\", expected a JSON pointer or a pattern");
    host->take(c, NULL, root, "/text");
    assert_failed(&call, "/text: cannot be set: the value to be changed is absent");
    host->edit(c, root, "/~2");
    assert_failed(&call, "found \"/~2\", expected a JSON pointer");
    host->new_string(c, NULL);
    assert_failed(&call, "a string cannot be made: the text is absent");
    host->new_string(c, "\xff");
    assert_failed(&call, "a string cannot be made: the text is not UTF-8");
    host->parse(c, NULL, 0);
    assert_failed(&call, "a text cannot be parsed as JSON: the text is absent");
    host->parse(c, "{", 1);
    assert_failed(&call, "a text cannot be parsed as JSON: ");
    host->format(c, NULL);
    assert_failed(&call, "a text cannot be formatted: the format is absent");
    host->set_condition(c, root, "A", "True", NULL, NULL);
    assert_failed(&call, "/status/conditions: a condition cannot be set in a number");
    host->set_condition(c, root, NULL, "True", NULL, NULL);
    assert_failed(&call, "found no type");
    host->set_condition(c, root, "A", NULL, NULL, NULL);
    assert_failed(&call, "found no status");
    host->set_condition(c, NULL, "A", "True", NULL, NULL);
    assert_failed(&call, "found nothing");
    adapter_call_end(&call);
}

static void only_the_first_failure_counts(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *root = parsed(&call, "{\"a\":1}");
    host->set_integer(&call.call, root, "/a/b", 1);
    host->set(&call.call, root, "/c", host->parse(&call.call, "{", 1));
    host->set_integer(&call.call, root, "/d", 2);
    assert_int_equal(call.failure, WHARF_REFUSED);
    assert_string_equal(call.failed, "/a/b: cannot be set below a number");
    assert_text(&call, root, "{\"a\":1,\"d\":2}");
    adapter_call_end(&call);
}

static void patterns_change_every_match(void **state) {
    (void)state;
    static const struct {
        const char *root, *pattern, *value, *result; // value NULL: remove
    } cases[] = {
        {"{\"a\":[{},{\"x\":1}]}", "/a/*/x", "2", "{\"a\":[{\"x\":2},{\"x\":2}]}"},
        {"{\"a\":[{},{\"b\":{}}]}", "/a/*/b/x", "2", "{\"a\":[{},{\"b\":{\"x\":2}}]}"},
        {"{\"a\":{\"p\":1,\"q\":2}}", "/a/*", "3", "{\"a\":{\"p\":3,\"q\":3}}"},
        {"{\"a\":[[1],[]]}", "/a/*/-", "2", "{\"a\":[[1,2],[2]]}"},
        {"{}", "/a/*/x", "2", "{}"},
        {"{\"a\":\"x\"}", "/a/*/x", "2", "{\"a\":\"x\"}"},
        {"{\"a\":\"x\"}", "/a/*", "2", "{\"a\":\"x\"}"},
        {"{\"*\":1,\"b\":2}", "/~2", "3", "{\"*\":3,\"b\":2}"},
        {"{}", "/~2/a", "3", "{\"*\":{\"a\":3}}"},
        {"{\"a\":[{\"x\":1,\"y\":2},{\"x\":1},7]}", "/a/*/x", NULL, "{\"a\":[{\"y\":2},{},7]}"},
        {"{\"a\":[1,2,3]}", "/a/*", NULL, "{\"a\":[]}"},
        {"{\"a\":[[1,2],[3]]}", "/*/*/0", NULL, "{\"a\":[[2],[]]}"},
        {"{\"a\":1,\"b\":2}", "/*", NULL, "{}"},
    };
    const wharf_host *host = services_table();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adapter_call call;
        begin(&call, &plain);
        wharf_value *root = parsed(&call, cases[i].root);
        if (cases[i].value)
            host->set(&call.call, root, cases[i].pattern, parsed(&call, cases[i].value));
        else
            assert_true(host->remove(&call.call, root, cases[i].pattern) > 0);
        assert_int_equal(call.failure, WHARF_OK);
        assert_text(&call, root, cases[i].result);
        adapter_call_end(&call);
    }
}

static void a_field_is_taken_as_it_is_there(void **state) {
    (void)state;
    static const struct {
        const char *root, *from, *pattern, *result;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":2}", "/a", "{\"a\":2}"},
        {"{\"a\":1}", "{}", "/a", "{}"},
        {"{}", "{\"a\":{\"b\":2}}", "/a/b", "{\"a\":{\"b\":2}}"},
        {"{}", "{}", "/a/b", "{}"},
        {"{\"a\":1}", "{\"b\":2}", "", "{\"b\":2}"},
        {"{\"l\":[{\"x\":1},{\"x\":2},{\"x\":3}]}", "{\"l\":[{\"x\":9},{}]}", "/l/*/x", "{\"l\":[{\"x\":9},{},{}]}"},
        {"{\"l\":[{},{}]}", "{\"l\":[{\"x\":9}]}", "/l/*/x", "{\"l\":[{\"x\":9},{}]}"},
        {"{\"m\":{\"p\":1,\"q\":2}}", "{\"m\":{\"q\":5,\"r\":6}}", "/m/*", "{\"m\":{\"q\":5}}"},
        {"{\"l\":[1,2,3]}", "{\"l\":[7]}", "/l/*", "{\"l\":[7]}"},
        {"{\"m\":{\"a/b\":{\"x\":1},\"*\":{\"x\":2}}}", "{\"m\":{\"a/b\":{\"x\":3},\"*\":{\"x\":4}}}", "/m/*/x",
         "{\"m\":{\"a/b\":{\"x\":3},\"*\":{\"x\":4}}}"},
        {"{}", "{\"l\":[{\"x\":9}]}", "/l/*/x", "{}"},
    };
    const wharf_host *host = services_table();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adapter_call call;
        begin(&call, &plain);
        wharf_value *root = parsed(&call, cases[i].root);
        host->take(&call.call, root, parsed(&call, cases[i].from), cases[i].pattern);
        assert_int_equal(call.failure, WHARF_OK);
        assert_text(&call, root, cases[i].result);
        adapter_call_end(&call);
    }
}

static void what_was_replaced_or_removed_can_be_read_until_the_call_ends(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    for (int way = 0; way < 6; way++) {
        struct adapter_call call;
        begin(&call, &plain);
        wharf_value *root = parsed(&call, "{\"spec\":{}}");
        host->set(&call.call, root, "/spec/key", parsed(&call, "{\"name\":\"before\",\"list\":[1,2]}"));
        const wharf_value *old = host->find(root, "/spec/key"), *item = host->find(old, "/list/1");
        const char *text = host->string(host->find(old, "/name")), *name = host->name(old);
        if (way == 0)
            host->set_string(&call.call, root, "/spec/key", "other");
        else if (way == 1)
            assert_int_equal(host->remove(&call.call, root, "/spec/key"), 1);
        else if (way == 2)
            host->set(&call.call, root, "", parsed(&call, "{}"));
        else if (way == 3)
            assert_int_equal(host->remove(&call.call, root, "/*/*"), 1);
        else if (way == 4)
            host->take(&call.call, root, parsed(&call, "{}"), "/spec/key");
        else
            host->set(&call.call, root, "/spec/*", parsed(&call, "3"));
        assert_null(host->find(root, "/spec/key/name"));
        assert_string_equal(text, "before");
        assert_string_equal(name, "key");
        assert_int_equal(host->integer(item, 0), 2);
        assert_text(&call, old, "{\"name\":\"before\",\"list\":[1,2]}");
        adapter_call_end(&call);
    }
}

static void a_part_can_be_edited(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *root = parsed(&call, "{\"l\":[{\"a\":1},{\"a\":2}]}");
    host->set_integer(&call.call, host->edit(&call.call, root, "/l/1"), "/a", 5);
    assert_ptr_equal(host->edit(&call.call, root, ""), root);
    assert_text(&call, root, "{\"l\":[{\"a\":1},{\"a\":5}]}");
    assert_int_equal(call.failure, WHARF_OK);
    adapter_call_end(&call);
}

static void what_is_set_is_a_copy(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *root = host->new_object(&call.call);
    wharf_value *item = host->new_array(&call.call);
    host->set(&call.call, root, "/a", item);
    host->set(&call.call, root, "/b/c", item);
    host->set(&call.call, item, "/-", host->new_integer(&call.call, 1));
    assert_text(&call, root, "{\"a\":[],\"b\":{\"c\":[]}}");
    host->set(&call.call, root, "/self", root);
    assert_text(&call, root, "{\"a\":[],\"b\":{\"c\":[]},\"self\":{\"a\":[],\"b\":{\"c\":[]}}}");
    adapter_call_end(&call);
}

static void setting_and_removing_follow_the_pointer(void **state) {
    (void)state;
    static const struct {
        const char *root, *pointer, *value, *result; // value NULL: remove; result NULL: rejected and unchanged
    } cases[] = {
        {"{}", "/a/b", "1", "{\"a\":{\"b\":1}}"},
        {"{\"a\":1}", "/a", "\"x\"", "{\"a\":\"x\"}"},
        {"{\"a\":[1,2]}", "/a/1", "3", "{\"a\":[1,3]}"},
        {"{\"a\":[1]}", "/a/-", "2", "{\"a\":[1,2]}"},
        {"{\"a\":[1]}", "/a/1", "2", NULL},
        {"{\"a\":[1]}", "/a/x", "2", NULL},
        {"{\"a\":1}", "/a/b", "2", NULL},
        {"{\"a\":1}", "a", "2", NULL},
        {"{\"a\":1}", "", "{\"b\":2}", "{\"b\":2}"},
        {"{\"a\":1}", "", "[1]", NULL},
        {"[3,4]", "", "[1]", "[1]"},
        {"{\"a\":1}", "", "{}", "{}"},
        {"{\"~3\":1}", "/~3", "2", NULL},
        {"{\"~\":1}", "/~3", NULL, NULL},
        {"[1]", "", "\"x\"", NULL},
        {"7", "", "{}", NULL},
        {"7", "", "8", NULL},
        {"{\"a\":1,\"b\":2}", "/a", NULL, "{\"b\":2}"},
        {"{\"a\":[1,2,3]}", "/a/0", NULL, "{\"a\":[2,3]}"},
        {"{\"a\":1}", "/b", NULL, NULL},
        {"{\"a\":1}", "", NULL, NULL},
        {"{\"a\":[1]}", "/a/-", NULL, NULL},
    };
    const wharf_host *host = services_table();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct adapter_call call;
        begin(&call, &plain);
        wharf_value *root = parsed(&call, cases[i].root);
        size_t removed = 1;
        if (cases[i].value)
            host->set(&call.call, root, cases[i].pointer, parsed(&call, cases[i].value));
        else
            removed = host->remove(&call.call, root, cases[i].pointer);
        assert_int_equal(removed == 1 && call.failure == WHARF_OK, !!cases[i].result);
        assert_text(&call, root, cases[i].result ? cases[i].result : cases[i].root);
        adapter_call_end(&call);
    }
}

static void what_was_set_at_the_root_does_not_stay_tied_to_its_source(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *root = parsed(&call, "{\"a\":{\"b\":[1,2]}}");
    host->set(&call.call, root, "", host->find(root, "/a"));
    assert_text(&call, root, "{\"b\":[1,2]}");
    adapter_call_end(&call);
}

static void shorthands_set_scalars(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *root = host->new_object(&call.call);
    host->set_string(&call.call, root, "/s", "x");
    host->set_integer(&call.call, root, "/i", INT64_MIN);
    host->set_boolean(&call.call, root, "/b", 5);
    host->set(&call.call, root, "/n", host->new_null(&call.call));
    host->set(&call.call, root, "/f", host->new_boolean(&call.call, 0));
    assert_text(&call, root, "{\"s\":\"x\",\"i\":-9223372036854775808,\"b\":true,\"n\":null,\"f\":false}");
    adapter_call_end(&call);
}

static void a_tree_cannot_be_built_deeper_than_it_can_be_read(void **state) {
    (void)state;
    const wharf_host *host = services_table();
    struct adapter_call call;
    begin(&call, &plain);
    wharf_value *root = host->new_object(&call.call);
    int steps = 0;
    while (steps < 2 * JSON_MAX_DEPTH) {
        wharf_value *around = host->new_object(&call.call);
        host->set(&call.call, around, "/a", root);
        if (call.failure != WHARF_OK)
            break;
        root = around;
        steps++;
    }
    assert_in_range(steps, JSON_MAX_DEPTH / 2, JSON_MAX_DEPTH);
    size_t len = 0;
    const char *text = host->print(&call.call, root, &len);
    assert_non_null(host->parse(&call.call, text, len));
    adapter_call_end(&call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_set_is_a_failure_with_a_sentence),
        cmocka_unit_test(other_bad_input_is_a_failure_with_a_sentence),
        cmocka_unit_test(only_the_first_failure_counts),
        cmocka_unit_test(patterns_change_every_match),
        cmocka_unit_test(a_field_is_taken_as_it_is_there),
        cmocka_unit_test(what_was_replaced_or_removed_can_be_read_until_the_call_ends),
        cmocka_unit_test(a_part_can_be_edited),
        cmocka_unit_test(what_is_set_is_a_copy),
        cmocka_unit_test(setting_and_removing_follow_the_pointer),
        cmocka_unit_test(what_was_set_at_the_root_does_not_stay_tied_to_its_source),
        cmocka_unit_test(shorthands_set_scalars),
        cmocka_unit_test(a_tree_cannot_be_built_deeper_than_it_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
