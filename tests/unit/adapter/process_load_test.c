// SPDX-License-Identifier: Apache-2.0
// Loading into a process of its own: an adapter that is refused is refused with the same words, and a table that grows
// gets a second process.
#include "core/base/text.h"
#include "core/json/yaml.h"
#include "tests/support/built.h"
#include "tests/unit/adapter/process_stage.h"

#include <dirent.h>
#include <stdio.h>

static void load_one(const char *path, bool isolated, const struct json *settings, struct problems *problems,
                     struct adapters **out) {
    AUTO_TEXT program = built_path("wharf-adapter");
    const struct adapter_wanted wanted = {
        .name = "tested", .file = path, .file_given = true, .settings = settings, .line = 7};
    struct adapters_options options = stage_options(&wanted, program);
    options.isolation = isolated ? ISOLATION_ALL : ISOLATION_NONE;
    assert_null(adapters_load(&options, problems, out));
}

// The words, without the number of the descriptor that the dynamic linker may name.
static void assert_same_refusal(const char *path, const char *settings_text) {
    struct problems here = {.count = 0}, apart = {.count = 0};
    struct adapters *adapters = NULL;
    struct yaml settings;
    assert_null(yaml_parse("settings", settings_text, strlen(settings_text), &settings));
    load_one(path, false, settings.value, &here, &adapters);
    size_t n_kinds = adapters->n_kinds;
    adapters_free(adapters);
    load_one(path, true, settings.value, &apart, &adapters);
    assert_int_equal(adapters->n_kinds, n_kinds);
    adapters_free(adapters);
    assert_int_equal(here.count, apart.count);
    if (here.count > 0)
        assert_string_equal(apart.list[0], here.list[0]);
    problems_free(&here);
    problems_free(&apart);
    json_free(settings.value);
}

static void a_refused_adapter_is_refused_with_the_same_words(void **state) {
    (void)state;
    DIR *directory = opendir(built);
    size_t count = 0;
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (!text_has_suffix(entry->d_name, ".so") || text_has_prefix(entry->d_name, "constructor"))
            continue;
        AUTO_TEXT path = in(built, entry->d_name);
        assert_same_refusal(path, "{}");
        assert_same_refusal(path, "a: 1\nunknown: 2\n");
        count++;
    }
    closedir(directory);
    assert_true(count > 20);
}

static void a_wrong_setting_has_its_line(void **state) {
    static const char *const cases[] = {
        "kinds:\n- group: example.com\n  versions: [v1]\n  kind: Sim\n  plural: 7\n",
        "kinds:\n- group: example.com\n  versions: [v1]\n  kind: Sim\n  plural: sims\n  managedBy: {field: spec}\n",
        "kinds:\n- group: example.com\n  versions: [v1]\n  kind: Sim\n  plural: sims\n  managedBy: {field: /spec/m}\n"
        "  suspend: {field: /spec/suspend}\n  carry: [/metadata/x, /spec/suspend]\n",
        "kinds:\n- group: example.com\n  versions: [v1]\n  kind: Sim\n  plural: sims\n  managedBy: {field: /spec/m}\n"
        "- group: example.com\n  versions: [v1]\n  kind: Bad\n  plural: bads\n  managedBy: {field: spec}\n",
        "kind: []\n",
        "kinds: []\n"};
    (void)state;
    AUTO_TEXT path = built_path("adapters/generic.so");
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_same_refusal(path, cases[i]);
}

static struct json *kinds(size_t count) {
    AUTO_BUFFER(text, 1 << 16);
    buffer_text(&text, "kinds:\n");
    for (size_t i = 0; i < count; i++)
        buffer_printf(&text,
                      "- {group: example.com, versions: [v1], kind: Sim%zu, plural: sim%zus, managedBy: {field: "
                      "/spec/managedBy}, phases: [{condition: Done, phase: Succeeded}]}\n",
                      i, i);
    struct yaml yaml;
    assert_null(yaml_parse("settings", text.data, text.len, &yaml));
    return yaml.value;
}

static void a_table_grows_by_a_second_process(void **state) {
    (void)state;
    AUTO_TEXT path = built_path("adapters/generic.so");
    AUTO_TEXT program = built_path("wharf-adapter");
    AUTO_JSON one = kinds(1);
    AUTO_JSON three = kinds(3);
    struct problems problems = {.count = 0};
    struct adapters *first = NULL, *second = NULL;
    load_one(path, true, one, &problems, &first);
    assert_int_equal(problems.count, 0);
    const struct adapter_wanted wanted = {.name = "tested", .file = path, .file_given = true, .settings = three};
    const struct adapters_options options = stage_options(&wanted, program);
    AUTO_BUFFER(later, 1 << 16);
    struct problems refused = {.count = 0};
    struct adapter_reports reports = {&problems, &refused, &later};
    assert_null(adapters_extend(first, &options, &reports, &second));
    assert_int_equal(problems.count + refused.count, 0);
    assert_non_null(second);
    assert_int_equal(second->n_kinds, 3);
    struct adapter_state old, new;
    assert_true(adapter_process_state(first->list[0], &old) && adapter_process_state(second->list[0], &new));
    assert_true(old.pid != new.pid &&old.state == ADAPTER_RUNS &&new.state == ADAPTER_RUNS);
    adapters_free(second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_adapter_is_refused_with_the_same_words),
        cmocka_unit_test(a_wrong_setting_has_its_line),
        cmocka_unit_test(a_table_grows_by_a_second_process),
    };
    return cmocka_run_group_tests(tests, adapters_set_up, adapters_tear_down);
}
