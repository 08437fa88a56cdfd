// SPDX-License-Identifier: Apache-2.0
#include "core/json/pointer.h"
#include "core/json/yaml.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AUTO_YAML __attribute__((cleanup(yaml_cleanup))) struct yaml

static struct yaml read_yaml(const char *text) {
    struct yaml yaml;
    struct error *error = yaml_parse("f.yaml", text, strlen(text), &yaml);
    if (error)
        fail_msg("%s: %s", text, error->message);
    return yaml;
}

static void assert_reads(const char *text, const char *expected) {
    AUTO_YAML yaml = read_yaml(text);
    AUTO_TEXT json = json_text(yaml.value, NULL);
    assert_string_equal(json, expected);
}

static void assert_refused(const char *text, enum error_code code, const char *part) {
    struct yaml yaml;
    struct error *error = yaml_parse("f.yaml", text, strlen(text), &yaml);
    if (!error) {
        fail_msg("%s was taken", text);
        return;
    }
    assert_null(yaml.value);
    assert_int_equal(error->code, code);
    if (!strstr(error->message, part))
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
    error_free(error);
}

// What sigs.k8s.io/yaml makes of each.
static const char *const typed[][2] = {
    {"", "null"},
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"nULL", "\"nULL\""},
    {"true", "true"},
    {"True", "true"},
    {"TRUE", "true"},
    {"yes", "true"},
    {"Yes", "true"},
    {"YES", "true"},
    {"yEs", "\"yEs\""},
    {"on", "true"},
    {"On", "true"},
    {"ON", "true"},
    {"y", "true"},
    {"Y", "true"},
    {"false", "false"},
    {"no", "false"},
    {"No", "false"},
    {"NO", "false"},
    {"off", "false"},
    {"Off", "false"},
    {"OFF", "false"},
    {"n", "false"},
    {"N", "false"},
    {"0", "0"},
    {"-0", "0"},
    {"+5", "5"},
    {"-5", "-5"},
    {"42", "42"},
    {"1_000", "1000"},
    {"0x1F", "31"},
    {"0X1f", "31"},
    {"-0x10", "-16"},
    {"0o17", "15"},
    {"017", "15"},
    {"00", "0"},
    {"08", "8"},
    {"0b101", "5"},
    {"-0b11", "-3"},
    {"0x", "\"0x\""},
    {"0xg", "\"0xg\""},
    {"0b2", "\"0b2\""},
    {"1.5", "1.5"},
    {"1.0", "1.0"},
    {"5.", "5"},
    {".5", "0.5"},
    {"-.5", "-0.5"},
    {"+.5e1", "0.5e1"},
    {"1e3", "1e3"},
    {"1E-3", "1E-3"},
    {"00.5", "0.5"},
    {"1e400", "\"1e400\""},
    {"1e", "\"1e\""},
    {"1.2.3", "\"1.2.3\""},
    {"-", "\"-\""},
    {"+", "\"+\""},
    {".", "\".\""},
    {"1 2", "\"1 2\""},
    {"12:30", "\"12:30\""},
    {"10.0.0.1", "\"10.0.0.1\""},
    {"9007199254740993", "9007199254740993"},
    {"18446744073709551615", "18446744073709551615"},
    {"0xFFFFFFFFFFFFFFFF", "18446744073709551615"},
    {"-0x8000000000000000", "-9223372036854775808"},
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    {"2026-01-02", "\"2026-01-02\""},
    {"2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\""},
    {"100m", "\"100m\""},
    {"64Mi", "\"64Mi\""},
    {"<<", "\"<<\""},
    {"\"5\"", "\"5\""},
    {"'true'", "\"true\""},
    {"\"\"", "\"\""},
    {"\"a\\0b\"", "\"a\\u0000b\""},
    {"\"\\u00e4\\x41\\n\"", "\"\xC3\xA4"
                            "A\\n\""},
};

static void plain_scalars_are_typed_as_kubernetes_types_them(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(typed); i++) {
        AUTO_TEXT text = text_format("a: %s\n", typed[i][0]);
        AUTO_TEXT expected = text_format("{\"a\":%s}", typed[i][1]);
        if (text_equal(typed[i][0], "-")) // as a value it would begin a list
            assert_reads("a: [-]\n", "{\"a\":[\"-\"]}");
        else
            assert_reads(text, expected);
    }
}

static void explicit_tags_are_obeyed(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"!!str 5", "\"5\""},
        {"!!str true", "\"true\""},
        {"!!str", "\"\""},
        {"! 5", "\"5\""},
        {"!!int \"7\"", "7"},
        {"!!int 0x10", "16"},
        {"!!float 5", "5"},
        {"!!float '1.5'", "1.5"},
        {"!!bool \"yes\"", "true"},
        {"!!null ''", "null"},
        {"!!timestamp 2026-01-02", "\"2026-01-02\""},
        {"!own 5", "\"5\""},
        {"!!map {a: 1}", "{\"a\":1}"},
        {"!!seq [1]", "[1]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_reads(cases[i][0], cases[i][1]);
    assert_refused("a: !!int x", ERROR_INVALID, "f.yaml:1:4: \"x\" is not what its tag says");
    assert_refused("a: !!int 1.5", ERROR_INVALID, "is not what its tag says");
    assert_refused("a: !!bool 1", ERROR_INVALID, "is not what its tag says");
    assert_refused("a: !!float x", ERROR_INVALID, "is not what its tag says");
    assert_refused("a: !!null x", ERROR_INVALID, "is not what its tag says");
    assert_refused("a: !!binary aGk=", ERROR_UNSUPPORTED, "!!binary is not supported");
}

static void block_and_flow_styles_are_read(void **state) {
    (void)state;
    assert_reads("a:\n- 1\n- b: [x, {c: d}]\n  e:\n  - - 1\n    - 2\n",
                 "{\"a\":[1,{\"b\":[\"x\",{\"c\":\"d\"}],\"e\":[[1,2]]}]}");
    assert_reads("a: |\n  one\n  two\nb: >-\n  x\n  y\nc: |+\n  z\n\nd: plain\n  goes on\n",
                 "{\"a\":\"one\\ntwo\\n\",\"b\":\"x y\",\"c\":\"z\\n\\n\",\"d\":\"plain goes on\"}");
    assert_reads("{\"a\": [1, \"x\", null, true], \"b\": {}}", "{\"a\":[1,\"x\",null,true],\"b\":{}}");
    assert_reads("# nothing but a comment\n", "null");
    assert_reads("", "null");
    assert_reads("---\n...\n", "null");
    assert_reads("%YAML 1.1\n---\nx\n", "\"x\"");
    assert_reads("just text", "\"just text\"");
    assert_reads("\xEF\xBB\xBF"
                 "a: 1",
                 "{\"a\":1}");
}

static void keys_become_text(void **state) {
    (void)state;
    assert_reads("1: a\n0x10: b\ntrue: c\nno: d\n\"on\": e\n? x y\n: f\n",
                 "{\"1\":\"a\",\"16\":\"b\",\"true\":\"c\",\"false\":\"d\",\"on\":\"e\",\"x y\":\"f\"}");
    assert_refused("1.10: a", ERROR_INVALID, "f.yaml:1:1: a key that is a fractional number");
    assert_refused("a: 1\n~: a", ERROR_INVALID, "f.yaml:2:1: a key is null");
    assert_refused("[a]: b", ERROR_INVALID, "a key must be a scalar");
    assert_refused("{a: 1}: b", ERROR_INVALID, "a key must be a scalar");
    assert_refused("\"a\\0\": b", ERROR_INVALID, "a key with U+0000");
}

static void a_tab_in_the_indentation_is_named(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a: 1\n\tb: 2\n", "2:1"},       {"a:\n\tb: 2\n", "2:1"}, {"a:\n  b: 1\n\tc: 2\n", "3:1"},
        {"a:\n b: 1\n \tc: 1\n", "3:2"}, {"\t- a\n", "1:1"},      {"a: |\n\tb\n", "2:1"},
        {"- x\n- y\n\t- z: 1\n", "3:1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_TEXT sentence = text_format(
            "f.yaml:%s: found a tab, expected spaces: YAML does not allow tabs for indentation", cases[i][1]);
        assert_refused(cases[i][0], ERROR_INVALID, sentence);
    }
    assert_refused("a: [\t@\n", ERROR_INVALID, "f.yaml:1:6: found character that cannot start any token");
}

static void duplicate_keys_are_refused_with_both_lines(void **state) {
    (void)state;
    assert_refused("a: 1\nb: 2\na: 3\n", ERROR_INVALID,
                   "f.yaml:3:1: \"a\" is a duplicate key: it is already on line 1");
    assert_refused("x:\n  a: 1\n  'a': 3\n", ERROR_INVALID,
                   "f.yaml:3:3: \"a\" is a duplicate key: it is already on line 2");
    assert_refused("1: x\n\"1\": y", ERROR_INVALID, "duplicate key");
    assert_refused("yes: x\ntrue: y", ERROR_INVALID, "duplicate key");
    assert_reads("a: {x: 1}\nb: {x: 1}\nA: 1\n", "{\"a\":{\"x\":1},\"b\":{\"x\":1},\"A\":1}");
    struct buffer text;
    buffer_init(&text, 1 << 20);
    for (int i = 0; i < 500; i++)
        buffer_printf(&text, "key-%d: %d\n", i, i);
    buffer_text(&text, "key-77: x\n");
    assert_refused(text.data, ERROR_INVALID, "f.yaml:501:1: \"key-77\" is a duplicate key: it is already on line 78");
    buffer_free(&text);
}

static void aliases_are_expanded(void **state) {
    (void)state;
    assert_reads("a: &x {b: [1]}\nc: *x\nd: [*x, *x]\n",
                 "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]},\"d\":[{\"b\":[1]},{\"b\":[1]}]}");
    assert_reads("a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}");
    assert_reads("&k key: 1\nother: *k\n", "{\"key\":1,\"other\":\"key\"}");
    assert_reads("a: &x name\n*x : 2\n", "{\"a\":\"name\",\"name\":2}");
    assert_refused("a: *x\n", ERROR_INVALID, "f.yaml:1:4: an alias without an anchor");
    assert_refused("a: &x [1, *x]\n", ERROR_INVALID, "an alias within its own anchor");
}

static void merge_keys_add_what_is_not_written_out(void **state) {
    (void)state;
    const char *expected = "{\"x\":{\"a\":1,\"b\":2},\"z\":{\"b\":3,\"c\":4,\"a\":1}}";
    assert_reads("x: &x {a: 1, b: 2}\nz: {<<: *x, b: 3, c: 4}\n", expected);
    assert_reads("x: &x {a: 1, b: 2}\nz: {b: 3, c: 4, <<: *x}\n", expected);
    assert_reads("x: &x {a: 1}\nw: &y {a: 2, b: 2}\nz: {<<: [*x, *y, {c: 3}]}\n",
                 "{\"x\":{\"a\":1},\"w\":{\"a\":2,\"b\":2},\"z\":{\"a\":1,\"b\":2,\"c\":3}}");
    assert_reads("a: {<<: {x: &v [1]}, z: *v}\nb: *v\n", "{\"a\":{\"z\":[1],\"x\":[1]},\"b\":[1]}");
    assert_reads("{\"<<\": 1}", "{\"<<\":1}");
    assert_refused("a: 1\n<<: 1", ERROR_INVALID, "f.yaml:2:1: << needs a mapping");
    assert_refused("<<: [{a: 1}, 2]", ERROR_INVALID, "<< needs a mapping");
}

static void documents_that_explode_are_refused(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, 1 << 20);
    buffer_text(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        buffer_printf(&text, "a%d: &a%d [", i, i);
        for (int n = 0; n < 10; n++)
            buffer_printf(&text, "%s*a%d", n ? ", " : "", i - 1);
        buffer_text(&text, "]\n");
    }
    assert_refused(text.data, ERROR_LIMIT, "too many aliases");
    buffer_reset(&text);
    buffer_text(&text, "a: &a ");
    for (int i = 0; i < 100000; i++)
        buffer_char(&text, 'x');
    buffer_text(&text, "\nb: [");
    for (int n = 0; n < 1000; n++)
        buffer_text(&text, "*a, ");
    buffer_text(&text, "]\n");
    assert_refused(text.data, ERROR_LIMIT, "too many aliases");
    buffer_reset(&text);
    buffer_text(&text, "a: &a {x: 1, y: 2}\nb: [");
    for (int n = 0; n < 1000; n++)
        buffer_text(&text, "*a, ");
    buffer_text(&text, "]\n");
    AUTO_YAML yaml = read_yaml(text.data);
    assert_int_equal(json_size(json_get(yaml.value, "b")), 1000);
    buffer_free(&text);
}

static void nesting_is_bounded_with_and_without_aliases(void **state) {
    (void)state;
    for (size_t depth = JSON_MAX_DEPTH - 1; depth <= JSON_MAX_DEPTH + 1; depth++) {
        struct buffer text;
        buffer_init(&text, 1 << 20);
        for (size_t i = 0; i < depth; i++)
            buffer_char(&text, '[');
        for (size_t i = 0; i < depth; i++)
            buffer_char(&text, ']');
        if (depth <= JSON_MAX_DEPTH)
            assert_reads(text.data, text.data);
        else
            assert_refused(text.data, ERROR_LIMIT, "nested too deeply");
        buffer_free(&text);
    }
    struct buffer text;
    buffer_init(&text, 1 << 20);
    buffer_text(&text, "- &a0 [x]\n");
    for (int i = 1; i < 600; i++)
        buffer_printf(&text, "- &a%d [*a%d]\n", i, i - 1);
    assert_refused(text.data, ERROR_LIMIT, "too");
    buffer_free(&text);
}

static void what_is_not_yaml_is_refused_with_its_place(void **state) {
    (void)state;
    assert_refused("a: [1", ERROR_INVALID, "f.yaml:2:1: did not find expected");
    assert_refused("a: 1\n b: 2\n", ERROR_INVALID, "f.yaml:2:");
    assert_refused("a: 'x\n", ERROR_INVALID, "f.yaml:");
    assert_refused("a:\n\t- 1\n", ERROR_INVALID, "f.yaml:2:1");
    assert_refused("a: b: c\n", ERROR_INVALID, "f.yaml:1:5: mapping values are not allowed");
    assert_refused("a: @x\n", ERROR_INVALID, "f.yaml:1:4");
    assert_refused("a: 1\nb: \xff\n", ERROR_INVALID, "f.yaml:2:4: ");
    assert_refused("a: \xED\xA0\x80\n", ERROR_INVALID, "f.yaml:1:4: ");
    assert_refused("a: \x01\n", ERROR_INVALID, "f.yaml:1:4: control characters");
    assert_refused("a: .inf", ERROR_INVALID, "f.yaml:1:4: \".inf\" cannot be written in JSON");
    assert_refused("a: -.INF", ERROR_INVALID, "cannot be written in JSON");
    assert_refused("a: .nan", ERROR_INVALID, "cannot be written in JSON");
    assert_refused("a: 0x10000000000000000", ERROR_INVALID, "more than 64 bits");
    assert_refused("a: 1\n---\nb: 2\n", ERROR_INVALID, "f.yaml:2:1: a second document");
}

static void a_document_cut_off_anywhere_does_no_harm(void **state) {
    (void)state;
    const char *text =
        "a: &x {b: [1, 'x', \"y\\n\"]}\nc:\n  <<: *x\n  d: |\n    text\n  ? e\n  : !!str 5\n--- {f: ~}\n";
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        AUTO_TEXT part = text_format("%.*s", (int)cut, text);
        struct yaml yaml;
        struct error *error = yaml_parse("f.yaml", part, cut, &yaml);
        assert_true(!error == !!yaml.value);
        error_free(error);
        yaml_cleanup(&yaml);
        error = yaml_parse_all("f.yaml", part, cut, &yaml);
        error_free(error);
        yaml_cleanup(&yaml);
    }
}

static void a_stream_becomes_a_list_of_documents(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "[]"},
        {"# only this\n", "[]"},
        {"a: 1", "[{\"a\":1}]"},
        {"---\na: 1\n---\n- 2\n---\n", "[{\"a\":1},[2],null]"},
        {"a: &x 1\n--- \nb: &x 2\nc: *x\n...\n", "[{\"a\":1},{\"b\":2,\"c\":2}]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_YAML yaml;
        assert_null(yaml_parse_all("f.yaml", cases[i][0], strlen(cases[i][0]), &yaml));
        AUTO_TEXT json = json_text(yaml.value, NULL);
        assert_string_equal(json, cases[i][1]);
    }
    struct yaml yaml;
    const char *text = "a: &x 1\n---\nb: *x\n"; // an anchor ends with its document
    struct error *error = yaml_parse_all("f.yaml", text, strlen(text), &yaml);
    assert_non_null(error);
    error_free(error);
}

static void every_value_knows_its_line(void **state) {
    (void)state;
    AUTO_YAML yaml = read_yaml("# comment\n"
                               "kind: x\n"
                               "spec:\n"
                               "\n"
                               "  list:\n"
                               "  - 1\n"
                               "  - name: a\n"
                               "    'b/c':\n"
                               "      deep: {p: 1,\n"
                               "        q: 2}\n"
                               "base: &b {m: 1}\n"
                               "used: *b\n");
    static const struct {
        const char *pointer;
        size_t line;
    } cases[] = {
        {"", 2},
        {"/kind", 2},
        {"/spec", 3},
        {"/spec/list", 5},
        {"/spec/list/0", 6},
        {"/spec/list/1", 7},
        {"/spec/list/1/name", 7},
        {"/spec/list/1/b~1c", 8},
        {"/spec/list/1/b~1c/deep", 9},
        {"/spec/list/1/b~1c/deep/q", 10},
        {"/used", 12},
        {"/used/m", 11},
        {"/nothing", 0},
        {"/spec/list/2", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (json_line(pointer_find(yaml.value, cases[i].pointer)) != cases[i].line)
            fail_msg("%s: %zu", cases[i].pointer, json_line(pointer_find(yaml.value, cases[i].pointer)));
}

static void values_are_printed_for_people(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{\"a\":1.0,\"b\":[1,{\"c\":null,\"d\":[]}],\"e\":{},\"f\":\"\"}",
         "a: 1.0\nb:\n- 1\n- c: null\n  d: []\ne: {}\nf: \"\"\n"},
        {"{\"a\":\"true\",\"b\":\"yes\",\"c\":\"5\",\"d\":\"0x1F\",\"e\":\"~\",\"f\":\"plain text\"}",
         "a: \"true\"\nb: \"yes\"\nc: \"5\"\nd: \"0x1F\"\ne: \"~\"\nf: plain text\n"},
        {"{\"time\":\"2026-01-02T03:04:05Z\",\"at\":\"12:30\"}", "time: \"2026-01-02T03:04:05Z\"\nat: \"12:30\"\n"},
        {"{\"script\":\"one\\ntwo\\n\",\"on\":\"x\"}", "script: |\n  one\n  two\n\"on\": x\n"},
        {"{\"a\":\"x: y\",\"b\":\"# c\",\"c\":\"- d\"}", "a: 'x: y'\nb: '# c'\nc: '- d'\n"},
        {"{\"a\":\"\\u0000\\r\"}", "a: \"\\0\\r\"\n"},
        // What acts on a terminal is escaped.
        {"{\"a\":\"x\xE2\x80\xAEy\"}", "a: \"x\\u202Ey\"\n"},
        {"{\"a\xE2\x81\xA6\":\"gr\xC3\xBCn\"}", "\"a\\u2066\": \"gr\\xFCn\"\n"},
        {"[\"\\u001b[2J\",\"\xC2\x9B\"]", "- \"\\e[2J\"\n- \"\\x9B\"\n"},
        {"[\"gr\xC3\xBCn\"]", "- gr\xC3\xBCn\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON value = NULL;
        assert_null(json_parse(cases[i][0], strlen(cases[i][0]), &value));
        struct buffer out;
        buffer_init(&out, 10000);
        assert_true(yaml_print(value, &out));
        assert_string_equal(out.data, cases[i][1]);
        assert_reads(out.data, cases[i][0]);
        buffer_free(&out);
    }
}

static void printing_stops_at_the_maximum_of_the_buffer(void **state) {
    (void)state;
    AUTO_JSON value = json_new_array();
    for (int i = 0; i < 100; i++)
        assert_true(json_append(value, json_new_string("text")));
    struct buffer out;
    buffer_init(&out, 100);
    assert_false(yaml_print(value, &out));
    assert_true(out.len <= 100);
    assert_false(yaml_print(NULL, &out));
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_are_typed_as_kubernetes_types_them),
        cmocka_unit_test(explicit_tags_are_obeyed),
        cmocka_unit_test(block_and_flow_styles_are_read),
        cmocka_unit_test(keys_become_text),
        cmocka_unit_test(a_tab_in_the_indentation_is_named),
        cmocka_unit_test(duplicate_keys_are_refused_with_both_lines),
        cmocka_unit_test(aliases_are_expanded),
        cmocka_unit_test(merge_keys_add_what_is_not_written_out),
        cmocka_unit_test(documents_that_explode_are_refused),
        cmocka_unit_test(nesting_is_bounded_with_and_without_aliases),
        cmocka_unit_test(what_is_not_yaml_is_refused_with_its_place),
        cmocka_unit_test(a_document_cut_off_anywhere_does_no_harm),
        cmocka_unit_test(a_stream_becomes_a_list_of_documents),
        cmocka_unit_test(every_value_knows_its_line),
        cmocka_unit_test(values_are_printed_for_people),
        cmocka_unit_test(printing_stops_at_the_maximum_of_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
