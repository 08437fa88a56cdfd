// SPDX-License-Identifier: Apache-2.0
#include "core/conform/report.h"

#include "core/base/error.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct json *parsed(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static void add(struct report *report, enum rule rule, const char *kind, const char *cause, const char *object,
                const char *inputs) {
    struct finding finding = {.rule = rule,
                              .function = CALL_MIRROR,
                              .kind = kind,
                              .cause = cause,
                              .object = object,
                              .found = "what was found",
                              .inputs = inputs ? parsed(inputs) : NULL};
    assert_true(report_add(report, &finding) < report->count);
}

static char *printed(const struct report *report) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    report_print(report, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void findings_of_one_cause_are_one_with_the_smallest_object(void **state) {
    (void)state;
    struct report report = {.list = NULL};
    add(&report, RULE_MIRROR, "things.example.com", "uid", "a large one", "[{\"spec\":{\"a\":1,\"b\":2}}]");
    add(&report, RULE_MIRROR, "things.example.com", "uid", "a small one", "[{}]");
    add(&report, RULE_MIRROR, "things.example.com", "uid", "one without inputs", NULL);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.list[0]->more, 2);
    assert_string_equal(report.list[0]->object, "a small one");
    AUTO_TEXT text = printed(&report);
    assert_non_null(strstr(text, "1. mirror-clean: kind things.example.com, function mirror\n"));
    assert_non_null(strstr(text, "2 more like this"));
    assert_non_null(strstr(text, "a small one"));
    report_free(&report);
}

static void other_rules_kinds_and_causes_are_findings_of_their_own(void **state) {
    (void)state;
    struct report report = {.list = NULL};
    add(&report, RULE_MIRROR, "things.example.com", "uid", "an object", NULL);
    add(&report, RULE_MIRROR, "things.example.com", "finalizers", "an object", NULL);
    add(&report, RULE_MIRROR, "others.example.com", "uid", "an object", NULL);
    add(&report, RULE_MARKS, "things.example.com", "uid", "an object", NULL);
    assert_int_equal(report.count, 4);
    report_free(&report);
}

static void every_rule_says_what_it_expects_and_where_it_is_written(void **state) {
    (void)state;
#define ROW(id, name, where, expected) {name, where, expected},
    static const char *const rows[N_RULES][3] = {RULES(ROW)};
    for (enum rule rule = RULE_FILE; rule < N_RULES; rule++) {
        for (size_t text = 0; text < 3; text++)
            assert_true(rows[rule][text][0] != '\0');
        for (enum rule other = RULE_FILE; other < rule; other++)
            assert_string_not_equal(rows[rule][0], rows[other][0]);
    }
}

static void the_inputs_of_a_finding_are_saved_as_yaml(void **state) {
    (void)state;
    char folder[] = "/tmp/wharf-report-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct report report = {.list = NULL};
    add(&report, RULE_DELAY, "things.example.com", "", "none", NULL);
    add(&report, RULE_MIRROR, "things.example.com", "uid", "an object", "[{\"kind\":\"Thing\"},{\"kind\":\"Mirror\"}]");
    char *told = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&told, &len);
    assert_null(report_save(&report, folder, out));
    assert_int_equal(fclose(out), 0);
    AUTO_TEXT path = text_format("%s/2-mirror-clean.yaml", folder);
    assert_non_null(strstr(told, path));
    AUTO_BUFFER(text, 4096);
    assert_null(text_read_file(path, 4096, &text));
    assert_non_null(strstr(text.data, "---\nkind: Thing\n---\nkind: Mirror\n"));
    free(told);
    report_free(&report);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); // nothing was saved for what has no inputs
}

static void a_warning_is_told_once_and_after_the_findings(void **state) {
    (void)state;
    struct report report = {.list = NULL};
    add(&report, RULE_MARKS, "things.example.com", "", "an object", NULL);
    report_warn(&report, "things.example.com", "carried: /spec/a is in none of the 2 objects given");
    report_warn(&report, "things.example.com", "carried: /spec/a is in none of the 2 objects given");
    report_warn(&report, "others.example.com", "carried: /spec/a is in none of the 2 objects given");
    assert_int_equal(report.warnings.count, 2);
    char *told = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&told, &len);
    report_print(&report, out);
    assert_int_equal(fclose(out), 0);
    const char *list = strstr(told, "\nwarnings:\n");
    assert_true(list > strstr(told, "1. marks"));
    assert_string_equal(list, "\nwarnings:\n"
                              "  things.example.com: carried: /spec/a is in none of the 2 objects given\n"
                              "  others.example.com: carried: /spec/a is in none of the 2 objects given\n");
    free(told);
    report_free(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_of_one_cause_are_one_with_the_smallest_object),
        cmocka_unit_test(other_rules_kinds_and_causes_are_findings_of_their_own),
        cmocka_unit_test(every_rule_says_what_it_expects_and_where_it_is_written),
        cmocka_unit_test(the_inputs_of_a_finding_are_saved_as_yaml),
        cmocka_unit_test(a_warning_is_told_once_and_after_the_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
