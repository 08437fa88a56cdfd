// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kube/plugin_kit.h"

static void expect(struct error *error, enum error_code code, const char *message) {
    if (!error || strcmp(error_text(error), message) != 0 || error->code != code)
        fail_msg("found %d\n  %s\nexpected %d\n  %s", error ? (int)error->code : -1, error_text(error), (int)code,
                 message);
    error_free(error);
}

static void only_commands_that_are_allowed_are_found(void **state) {
    struct plugin_kit *kit = *state;
    plugin_kit_write(kit, "aws", "", 0755);
    plugin_kit_write(kit, "other", "", 0755);
    plugin_kit_write(kit, "no-program", "", 0644);
    AUTO_TEXT aws = plugin_kit_path(kit, "aws");
    AUTO_TEXT link = plugin_kit_path(kit, "link");
    assert_int_equal(symlink("aws", link), 0);
    AUTO_TEXT roundabout = text_format("/.//%s", aws);
    AUTO_TEXT path = text_format(".::bin:%s:/usr/bin:/bin", kit->folder);
    setenv("PATH", path, 1);
    const struct {
        const char *allow, *command, *directory;
        bool found;
    } cases[] = {
        {"aws", "aws", NULL, true},
        {aws, "aws", NULL, true},
        {"aws", aws, NULL, true},
        {aws, aws, NULL, true},
        {aws, roundabout, NULL, true},
        {roundabout, aws, NULL, true},
        {aws, "./aws", kit->folder, true},
        {"aws", "other", NULL, false},
        {"aws", "link", NULL, false},
        {"aws", link, NULL, false},
        {"", "aws", NULL, false},
        {"aws ", "aws", NULL, false},
        {"aws", "./other", kit->folder, false},
        {"aws", "/usr/bin/aws", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *allow[] = {(char *)"no-such-plugin", (char *)cases[i].allow};
        const struct exec_policy policy = {.allow = allow, .n_allow = 2, .setting = (char *)"x.allow in y.yaml"};
        char *found = NULL;
        struct error *error = exec_policy_resolve(&policy, cases[i].command, cases[i].directory, &found);
        if (cases[i].found != !error || (found && strcmp(found, aws) != 0))
            fail_msg("case %zu: %s: %s", i, found ? found : "nothing", error_text(error));
        if (!cases[i].found) {
            const char *name = strrchr(cases[i].command, '/') ? strrchr(cases[i].command, '/') + 1 : cases[i].command;
            bool absolute = cases[i].command[0] == '/' || strcmp(cases[i].command, "aws ") == 0;
            AUTO_TEXT where = absolute ? strdup("") : text_format(" (%s/%s)", kit->folder, name);
            AUTO_TEXT message =
                text_format("the command \"%s\"%s may not be run: add it to x.allow in y.yaml to allow it",
                            cases[i].command, where);
            expect(error, ERROR_REFUSED, message);
        }
        free(found);
    }
}

static void a_name_means_an_allowed_path_that_ends_with_it(void **state) {
    struct plugin_kit *kit = *state;
    AUTO_TEXT folder = plugin_kit_path(kit, "opt");
    assert_int_equal(mkdir(folder, 0755), 0);
    plugin_kit_write(kit, "opt/aws", "", 0755);
    plugin_kit_write(kit, "both", "", 0755); // in PATH, and not allowed there
    plugin_kit_write(kit, "opt/both", "", 0755);
    AUTO_TEXT aws = plugin_kit_path(kit, "opt/aws");
    AUTO_TEXT both = plugin_kit_path(kit, "opt/both");
    AUTO_TEXT in_path = plugin_kit_path(kit, "both");
    char *allow[] = {aws, both, (char *)"both"};
    plugin_kit_search(kit);
    const struct {
        const char *command, *path;
        size_t n_allow;
    } cases[] = {{"aws", aws, 2}, {"both", both, 2}, {"both", in_path, 3}, {"ws", NULL, 3}, {"opt/aws", NULL, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct exec_policy policy = {.allow = allow, .n_allow = cases[i].n_allow};
        char *found = NULL;
        struct error *error = exec_policy_resolve(&policy, cases[i].command, kit->folder, &found);
        bool relative = strchr(cases[i].command, '/'); // below the kubeconfig's folder, which is the kit's
        if (!text_equal(found, relative ? aws : cases[i].path))
            fail_msg("case %zu: %s: %s", i, found ? found : "nothing", error_text(error));
        error_free(error);
        free(found);
    }
}

static void a_command_that_cannot_be_run_is_told(void **state) {
    struct plugin_kit *kit = *state;
    plugin_kit_write(kit, "plain", "", 0644);
    plugin_kit_write(kit, "data", "", 0644);
    char *allow[] = {(char *)"plain", (char *)"missing", plugin_kit_path(kit, "gone"), plugin_kit_path(kit, "data")};
    const struct exec_policy policy = {.allow = allow, .n_allow = 4};
    AUTO_TEXT gone = text_format("%s: No such file or directory", allow[2]);
    AUTO_TEXT plain = text_format("%s: found no executable file", allow[3]);
    const struct {
        const char *command, *message;
        enum error_code code;
    } cases[] = {
        {"missing", "found no \"missing\" in PATH, expected the credential plugin to be installed", ERROR_NOT_FOUND},
        {"plain", "found no \"plain\" in PATH, expected the credential plugin to be installed", ERROR_NOT_FOUND},
        {"bin/plain", "found the relative path \"bin/plain\", expected a name or an absolute path", ERROR_REFUSED},
        {allow[2], gone, ERROR_NOT_FOUND},
        {allow[3], plain, ERROR_REFUSED},
    };
    plugin_kit_search(kit);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *found = NULL;
        expect(exec_policy_resolve(&policy, cases[i].command, NULL, &found), cases[i].code, cases[i].message);
        assert_null(found);
    }
    free(allow[2]);
    free(allow[3]);
}

static void what_others_could_replace_is_not_run(void **state) {
    struct plugin_kit *kit = *state;
    AUTO_TEXT inner = plugin_kit_path(kit, "inner");
    assert_int_equal(mkdir(inner, 0755), 0);
    plugin_kit_write(kit, "inner/aws", "", 0755);
    AUTO_TEXT path = plugin_kit_path(kit, "inner/aws");
    char *allow[] = {path};
    struct exec_policy policy = {.allow = allow, .n_allow = 1};
    const struct {
        unsigned folder, file;
        const char *says;
    } cases[] = {{0755, 0755, NULL},
                 {0755, 0757, "the file is writable by everyone (mode 0757)"},
                 {0777, 0755, "the folder is writable by everyone (mode 0777)"}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(chmod(inner, cases[i].folder), 0);
        assert_int_equal(chmod(path, cases[i].file), 0);
        char *found = NULL;
        struct error *error = exec_policy_resolve(&policy, path, NULL, &found);
        if (cases[i].says ? !error || !strstr(error_text(error), cases[i].says) : !found)
            fail_msg("case %zu: %s", i, error_text(error));
        assert_true(!error || error->code == ERROR_REFUSED);
        error_free(error);
        free(found);
    }
    policy = (struct exec_policy){.any = true}; // as for the user that runs kubectl
    char *found = NULL;
    assert_null(exec_policy_resolve(&policy, path, NULL, &found));
    assert_string_equal(found, path);
    free(found);
}

static void without_a_policy_nothing_is_allowed(void **state) {
    (void)state;
    char *found = NULL;
    expect(exec_policy_resolve(NULL, "/bin/sh", NULL, &found), ERROR_REFUSED,
           "the command \"/bin/sh\" may not be run: add it to the allowed credential plugins to allow it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_kit(only_commands_that_are_allowed_are_found),    with_kit(a_name_means_an_allowed_path_that_ends_with_it),
        with_kit(a_command_that_cannot_be_run_is_told),        with_kit(what_others_could_replace_is_not_run),
        cmocka_unit_test(without_a_policy_nothing_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
