// SPDX-License-Identifier: Apache-2.0
// The loader against real shared objects: <build>/bad_adapters/*.so (tests/programs.mk), and damaged copies of them.
#include "tests/unit/adapter/adapters_stage.h"

#include "core/base/trust.h"

#include <elf.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *written(const char *name, const char *text) {
    char *target = in(folder, name);
    FILE *file = fopen(target, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(target, 0644), 0);
    return target;
}

static void a_good_adapter_is_loaded_with_all_that_is_known_of_it(void **state) {
    (void)state;
    AUTO_TEXT file = in(built, "good.so");
    struct wanted wanted = enabled("thing", file);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    assert_int_equal(adapters->count, 1);
    const struct adapter *adapter = adapters->list[0];
    assert_string_equal(adapter->name, "thing");
    assert_string_equal(adapter->version, "1.2.3");
    assert_string_equal(adapter->file, file);
    assert_int_equal(strlen(adapter->sha256), 64);
    assert_int_equal(adapter->abi_major, 1);
    assert_int_equal(adapters->n_kinds, 1);
    const struct kind *kind = adapters->kinds[0];
    assert_ptr_equal(kind, adapter->kinds[0]);
    assert_ptr_equal(kind->adapter, adapter);
    assert_string_equal(kind->plural_group, "things.example.com");
    assert_string_equal(kind->managed_by, "wharf.dev/host");
    assert_non_null(kind->abi.phase);
    adapters_free(adapters);
    drop(&wanted);
}

static void larger_structs_of_a_later_minor_are_fine(void **state) {
    (void)state;
    AUTO_TEXT file = in(built, "larger.so");
    struct wanted wanted = enabled("larger", file);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    assert_int_equal(adapters->n_kinds, 1);
    assert_true(adapters->kinds[0]->abi.size > sizeof(wharf_kind));
    adapters_free(adapters);
    drop(&wanted);
}

static void adapters_rate_workers_for_their_kinds_or_for_all(void **state) {
    (void)state;
    static const struct {
        const char *file;
        size_t n_kinds, n_scorers;
        bool every_kind;
    } cases[] = {
        {"scores.so", 1, 1, false},
        {"scores_all.so", 0, 1, true},
        {"scores_beyond.so", 1, 0, false}, // the module of an older header ends before the function
        {"good.so", 1, 0, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT file = in(built, cases[i].file);
        struct wanted wanted = enabled("x", file);
        struct problems problems = {.count = 0};
        struct adapters *adapters = load(&wanted, 1, &problems);
        assert_int_equal(problems.count, 0);
        assert_int_equal(adapters->n_kinds, cases[i].n_kinds);
        assert_int_equal(adapters->n_scorers, cases[i].n_scorers);
        const struct scorer *scorer = &adapters->list[0]->scorer;
        if (cases[i].n_scorers) {
            assert_ptr_equal(adapters->scorers[0], scorer);
            assert_int_equal(scorer->every_kind, cases[i].every_kind);
            assert_ptr_equal(scorer->owner, adapters->list[0]);
            assert_string_equal(scorer->name, "thing");
        } else {
            assert_null(scorer->score);
        }
        adapters_free(adapters);
        drop(&wanted);
    }
}

static void adapters_that_break_the_abi_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *file, *expected[3];
    } cases[] = {
        {"no_symbol.so", {"no_symbol.so", "wharf_module_v1", "not an adapter"}},
        {"major_symbol.so", {"wharf_module_v2", "built for ABI major 2", "expected major 1"}},
        {"major_field.so", {"abi_major", "found 2", "expected 1"}},
        {"minor_newer.so", {"abi_minor", "found 3", "at most 2"}},
        {"module_small.so", {"struct wharf_module", "size", "expected at least"}},
        {"kind_small.so", {"struct wharf_kind", "size", "expected at least"}},
        {"flag_unknown.so", {"flags", "0x80000000", "kind 1"}},
        {"no_phase.so", {"phase", "neither", NULL}},
        {"no_kinds.so", {"kinds", "found none", NULL}},
        {"bad_name.so", {"name", "Bad Name", "label"}},
        {"twice.so", {"things.example.com", "second time", NULL}},
        {"function.so", {"wharf_module_v1", "found no data", "wharf_module"}},
        {"cut.so", {"wharf_module_v1", "bytes", "expected at least"}},
        {"list_small.so", {"kind 1", "carried: found elements of 8 bytes", "WHARF_KIND_SIZES"}},
        {"no_start.so", {"settings: found \"speed\"", "without start", NULL}},
        {"fails_in_start.so", {"start: /a/b: cannot be set below a string", NULL, NULL}},
        {"kinds_of_start.so", {"kind 1", "suspend: found \"suspend\"", "JSON pointer"}},
        {"none_after_start.so", {"kinds: found none after start", NULL, NULL}},
        {"unresolved.so", {"unresolved.so: cannot be loaded: undefined", "nobody_has_this", NULL}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT file = in(built, cases[i].file);
        struct wanted wanted = enabled("x", file);
        assert_refused(&wanted, cases[i].expected);
        drop(&wanted);
    }
}

static void files_that_are_no_adapters_are_refused(void **state) {
    (void)state;
    AUTO_TEXT text = written("text.so", "#!/bin/sh\necho this is not a shared object\n");
    AUTO_TEXT empty = written("empty.so", "");
    AUTO_TEXT cut = written("cut.so", "\x7f"
                                      "ELF\x02\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01");
    AUTO_TEXT machine = copied("good.so", "machine.so", offsetof(Elf64_Ehdr, e_machine), EM_SPARCV9);
    AUTO_TEXT class = copied("good.so", "class.so", EI_CLASS, ELFCLASS32);
    AUTO_TEXT order = copied("good.so", "order.so", EI_DATA, ELFDATA2MSB);
    AUTO_TEXT type = copied("good.so", "type.so", offsetof(Elf64_Ehdr, e_type), ET_REL);
    AUTO_TEXT none = in(folder, "none.so");
    AUTO_TEXT link = in(folder, "link.so");
    AUTO_TEXT good = in(built, "good.so");
    assert_int_equal(symlink(good, link), 0);
    AUTO_TEXT fifo = in(folder, "fifo.so");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    const struct {
        const char *file, *expected[3];
    } cases[] = {
        {text, {"text.so", "not an ELF file", "expected"}},
        {empty, {"not an ELF file", NULL, NULL}},
        {cut, {"truncated", "expected", NULL}},
        {machine, {"wrong architecture", "ELF machine 43", "expected"}},
        {class, {"wrong architecture", "32 bits", NULL}},
        {order, {"wrong architecture", "byte order", NULL}},
        {type, {"type 1", "expected an ELF shared object", NULL}},
        {none, {"none.so", "No such file", NULL}},
        {link, {"link.so", "symlink", "expected"}},
        {fifo, {"special file", "regular file", NULL}},
        {folder, {"folder", "regular file", NULL}},
        {"relative.so", {"relative path", "absolute", NULL}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct wanted wanted = enabled("x", cases[i].file);
        assert_refused(&wanted, cases[i].expected);
        drop(&wanted);
    }
}

static void a_file_that_others_may_write_is_refused(void **state) {
    (void)state;
    AUTO_TEXT file = copied("good.so", "open.so", -1, 0);
    struct wanted wanted = enabled("x", file);
    assert_int_equal(chmod(file, 0757), 0);
    assert_refused(&wanted, (const char *const[3]){"open.so", "writable by everyone", "0757"});
    if (geteuid() == 0) {
        assert_int_equal(chmod(file, 0644), 0);
        assert_int_equal(chown(file, 12345, 0), 0);
        assert_refused(&wanted, (const char *const[3]){"open.so", "uid 12345", "expected root"});
        assert_int_equal(chown(file, 0, 12345), 0);
        assert_int_equal(chmod(file, 0664), 0);
        assert_refused(&wanted, (const char *const[3]){"open.so", "writable by group 12345", "0664"});
    }
    drop(&wanted);
}

static void a_folder_that_others_may_write_is_refused_wherever_it_is_above(void **state) {
    (void)state;
    AUTO_TEXT outer = in(folder, "outer");
    AUTO_TEXT inner = in(folder, "outer/inner");
    assert_int_equal(mkdir(outer, 0755), 0);
    assert_int_equal(mkdir(inner, 0755), 0);
    AUTO_TEXT file = copied("good.so", "outer/inner/good.so", -1, 0);
    struct wanted wanted = enabled("x", file);
    struct {
        const char *which;
        mode_t mode;
    } cases[] = {{outer, 0777}, {outer, 0757}, {inner, 0777}, {inner, 0757}, {inner, 01777}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *which = cases[i].which;
        assert_int_equal(chmod(which, cases[i].mode), 0);
        assert_refused(&wanted, (const char *const[3]){which, "folder is writable by everyone", NULL});
        assert_int_equal(chmod(which, 0755), 0);
    }
    char sha256[65];
    assert_int_equal(chmod(outer, 01777), 0); // as /tmp: nobody else can replace the folder
    assert_null(adapter_file_check(file, NULL, sha256));
    drop(&wanted);
}

static void the_folders_behind_a_symlink_are_looked_at_too(void **state) {
    (void)state;
    AUTO_TEXT open = in(folder, "open");
    AUTO_TEXT inside = in(folder, "open/inside");
    AUTO_TEXT link = in(folder, "link");
    AUTO_TEXT second = in(folder, "second");
    assert_int_equal(mkdir(open, 0755), 0);
    assert_int_equal(mkdir(inside, 0755), 0);
    assert_int_equal(symlink("open/../open/inside", link), 0);
    assert_int_equal(symlink("./link", second), 0);
    free(copied("good.so", "open/inside/good.so", -1, 0));
    AUTO_TEXT through = in(second, "good.so");
    char sha256[65];
    assert_null(adapter_file_check(through, NULL, sha256));
    assert_int_equal(chmod(open, 0777), 0);
    struct error *error = adapter_file_check(through, NULL, sha256);
    assert_non_null(error);
    assert_non_null(strstr(error_text(error), open));
    error_free(error);
    AUTO_TEXT circle = in(folder, "circle");
    assert_int_equal(symlink("circle", circle), 0);
    AUTO_TEXT never = in(circle, "good.so");
    error = adapter_file_check(never, NULL, sha256);
    assert_non_null(error);
    error_free(error);
    char *resolved = NULL;
    error = trust_folders_check(circle, &resolved);
    assert_non_null(error);
    assert_non_null(strstr(error_text(error), "too many symlinks"));
    error_free(error);
}

static void the_hash_decides_before_any_code_runs(void **state) {
    (void)state;
    AUTO_TEXT file = copied("constructor.so", "constructor.so", -1, 0);
    char sha256[65];
    assert_null(adapter_file_check(file, NULL, sha256));
    struct wanted wanted = enabled("x", file);
    unsetenv("WHARF_TEST_CONSTRUCTOR_RAN");
    wanted.sha256 = strdup(sha256);
    wanted.sha256[63] = wanted.sha256[63] == '0' ? '1' : '0';
    assert_refused(&wanted, (const char *const[3]){"wrong hash", sha256, wanted.sha256});
    assert_null(getenv("WHARF_TEST_CONSTRUCTOR_RAN"));
    text_copy(wanted.sha256, 65, sha256);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    assert_string_equal(adapters->list[0]->sha256, sha256);
    assert_non_null(getenv("WHARF_TEST_CONSTRUCTOR_RAN"));
    adapters_free(adapters);
    drop(&wanted);
}

static void the_hash_is_sha256_of_the_whole_file(void **state) {
    (void)state;
    AUTO_TEXT file = copied("good.so", "hashed.so", -1, 0);
    assert_int_equal(truncate(file, 200001), 0); // zeros behind, so that it is read in several pieces
    AUTO_BUFFER(content, 16 << 20);
    assert_null(text_read_file(file, content.max, &content));
    assert_int_equal(content.len, 200001);
    unsigned char sum[32];
    assert_int_equal(EVP_Digest(content.data, content.len, sum, NULL, EVP_sha256(), NULL), 1);
    char expected[65], sha256[65];
    for (size_t i = 0; i < sizeof(sum); i++)
        snprintf(expected + 2 * i, 3, "%02x", sum[i]);
    assert_null(adapter_file_check(file, NULL, sha256));
    assert_string_equal(sha256, expected);
}

static void one_bad_adapter_does_not_stop_the_others(void **state) {
    (void)state;
    static const char *const names[] = {"no_symbol.so", "good.so", "second_for_kind.so", "other_kind.so"};
    struct wanted list[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++) {
        AUTO_TEXT file = in(built, names[i]);
        list[i] = enabled("x", file);
    }
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(list, COUNT(names), &problems);
    assert_int_equal(adapters->count, 2);
    assert_int_equal(adapters->n_kinds, 2);
    assert_string_equal(adapters->kinds[0]->plural_group, "things.example.com");
    assert_string_equal(adapters->kinds[1]->plural_group, "gadgets.example.com");
    assert_ptr_not_equal(adapters->list[0]->handle, adapters->list[1]->handle);
    assert_int_equal(problems.count, 2);
    assert_non_null(strstr(problems.list[1], "second adapter"));
    assert_non_null(strstr(problems.list[1], "good.so"));
    assert_non_null(strstr(problems.list[1], "second_for_kind.so"));
    problems_free(&problems);
    adapters_free(adapters);
    for (size_t i = 0; i < COUNT(names); i++)
        drop(&list[i]);
}

static void what_the_directory_is_asked_for_must_be_in_it(void **state) {
    (void)state;
    AUTO_TEXT inside = in(built, "good.so");
    AUTO_TEXT outside = copied("good.so", "outside.so", -1, 0);
    AUTO_TEXT dotted = text_format("%s/../%s/outside.so", built, strrchr(folder, '/') + 1);
    struct wanted wanted = enabled("x", inside);
    wanted.file_given = false;
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    adapters_free(adapters);
    drop(&wanted);
    const char *const others[] = {outside, dotted};
    for (size_t i = 0; i < COUNT(others); i++) {
        wanted = enabled("x", others[i]);
        wanted.file_given = false;
        assert_refused(&wanted, (const char *const[3]){"outside.so", "not in adapters.directory", "absolute"});
        drop(&wanted);
    }
}

static void the_directory_may_be_directly_below_a_sticky_folder(void **state) {
    (void)state;
    AUTO_TEXT outer = in(folder, "sticky");
    AUTO_TEXT inner = in(folder, "sticky/adapters");
    assert_int_equal(mkdir(outer, 0755), 0);
    assert_int_equal(mkdir(inner, 0755), 0);
    AUTO_TEXT file = copied("good.so", "sticky/adapters/good.so", -1, 0);
    assert_int_equal(chmod(outer, 01777), 0);
    struct adapter_wanted wanted = {.name = "good", .file = file};
    struct adapters_options options = {
        .controller_name = "wharf.dev/host", .directory = inner, .wanted = &wanted, .n_wanted = 1};
    struct problems problems = {.count = 0};
    struct adapters *adapters = NULL;
    AUTO_JSON settings = json_new_object();
    wanted.settings = settings;
    assert_null(adapters_load(&options, &problems, &adapters));
    if (problems.count > 0)
        fail_msg("%s", problems.list[0]);
    assert_int_equal(adapters->count, 1);
    adapters_free(adapters);
}

static void settings_reach_the_adapter_and_outlive_the_configuration(void **state) {
    (void)state;
    AUTO_TEXT file = in(built, "by_settings.so");
    struct wanted wanted = enabled("widget", file);
    assert_true(json_set(wanted.settings, "refuse", json_new_string("not today")));
    assert_refused(&wanted, (const char *const[3]){"refused to be loaded", "settings say: not today", NULL});
    assert_true(json_set(wanted.settings, "refuse", json_new_bool(true)));
    assert_refused(&wanted, (const char *const[3]){"refused to be loaded", "no reason", NULL});
    assert_true(json_remove(wanted.settings, "refuse"));
    assert_true(json_set(wanted.settings, "plural", json_new_string("Wotsits")));
    assert_refused(&wanted,
                   (const char *const[3]){"adapter widget: settings.plural: found \"Wotsits\"", "expected", NULL});
    assert_true(json_set(wanted.settings, "plural", json_new_string("wotsits")));
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_true(json_set(wanted.settings, "spe/ed", json_new_bool(true)));
    assert_refused(&wanted,
                   (const char *const[3]){"settings.spe/ed", "unknown setting", "expected one of refuse, plural"});
    drop(&wanted);
    assert_int_equal(problems.count, 0);
    assert_string_equal(adapters->list[0]->version, "0");
    assert_string_equal(adapters->kinds[0]->plural_group, "wotsits");
    adapters_free(adapters);
}

// None of its functions is called, not even start, which would leave a trace.
static void what_is_wrong_with_the_data_is_found_before_start(void **state) {
    (void)state;
    static const struct {
        const char *file, *expected[3];
    } cases[] = {{"traced_kind.so", {"kind 1", "managed_by", "JSON pointer"}},
                 {"traced.so", {"settings.speed", "unknown setting", "none"}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT file = in(built, cases[i].file);
        struct wanted wanted = enabled("x", file);
        assert_true(json_set(wanted.settings, "speed", json_new_bool(true)));
        unsetenv("WHARF_TEST_START_RAN");
        if (i == 0)
            assert_true(json_remove(wanted.settings, "speed"));
        assert_refused(&wanted, cases[i].expected);
        assert_null(getenv("WHARF_TEST_START_RAN"));
        drop(&wanted);
    }
    AUTO_TEXT file = in(built, "traced.so");
    struct wanted wanted = enabled("x", file);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    assert_string_equal(getenv("WHARF_TEST_START_RAN"), "the host was there");
    adapters_free(adapters);
    drop(&wanted);
}

static void lists_of_larger_elements_are_read_with_their_own_step(void **state) {
    (void)state;
    AUTO_TEXT file = in(built, "larger.so");
    struct wanted wanted = enabled("larger", file);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    const wharf_kind *kind = &adapters->kinds[0]->abi;
    assert_string_equal(kind->carried[0].pointer, "/spec/suspend");
    assert_string_equal(kind->carried[1].pointer, "/spec/jobs/*/replicas");
    assert_string_equal(kind->carried[1].key, "title");
    assert_null(kind->carried[2].pointer);
    assert_string_equal(kind->pods[1].templates, "/spec/head");
    assert_null(kind->pods[2].templates);
    assert_string_equal(kind->phases[1].value, "Failed");
    assert_int_equal(kind->phases[1].phase, WHARF_FAILED);
    assert_null(kind->phases[2].pointer);
    assert_string_equal(kind->suspended_status[1].name, "/status/active");
    assert_null(kind->suspended_status[2].name);
    assert_null(kind->resumed_status);
    adapters_free(adapters);
    drop(&wanted);
}

static void the_configured_value_must_be_one_that_the_kind_accepts(void **state) {
    (void)state;
    AUTO_TEXT closed = in(built, "closed.so");
    AUTO_TEXT good = in(built, "good.so");
    struct wanted wanted = enabled("x", closed);
    wanted.managed_by = strdup("acme.example/x");
    assert_refused(&wanted, (const char *const[3]){"managedBy", "acme.example/x", "kueue.x-k8s.io/multikueue"});
    drop(&wanted);
    wanted = enabled("x", good);
    wanted.managed_by = strdup("example.com/builtin");
    assert_refused(&wanted, (const char *const[3]){"managedBy", "example.com/builtin", "own controller"});
    drop(&wanted);
    wanted = enabled("x", closed);
    struct problems problems = {.count = 0};
    struct adapters *adapters = load(&wanted, 1, &problems);
    assert_int_equal(problems.count, 0);
    assert_string_equal(adapters->kinds[0]->managed_by, "kueue.x-k8s.io/multikueue");
    adapters_free(adapters);
    drop(&wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_adapter_is_loaded_with_all_that_is_known_of_it),
        cmocka_unit_test(larger_structs_of_a_later_minor_are_fine),
        cmocka_unit_test(adapters_rate_workers_for_their_kinds_or_for_all),
        cmocka_unit_test(adapters_that_break_the_abi_are_refused),
        cmocka_unit_test(files_that_are_no_adapters_are_refused),
        cmocka_unit_test(a_file_that_others_may_write_is_refused),
        cmocka_unit_test(a_folder_that_others_may_write_is_refused_wherever_it_is_above),
        cmocka_unit_test(the_folders_behind_a_symlink_are_looked_at_too),
        cmocka_unit_test(the_hash_decides_before_any_code_runs),
        cmocka_unit_test(the_hash_is_sha256_of_the_whole_file),
        cmocka_unit_test(one_bad_adapter_does_not_stop_the_others),
        cmocka_unit_test(what_the_directory_is_asked_for_must_be_in_it),
        cmocka_unit_test(the_directory_may_be_directly_below_a_sticky_folder),
        cmocka_unit_test(settings_reach_the_adapter_and_outlive_the_configuration),
        cmocka_unit_test(what_is_wrong_with_the_data_is_found_before_start),
        cmocka_unit_test(lists_of_larger_elements_are_read_with_their_own_step),
        cmocka_unit_test(the_configured_value_must_be_one_that_the_kind_accepts),
    };
    return cmocka_run_group_tests(tests, adapters_set_up, adapters_tear_down);
}
