// SPDX-License-Identifier: Apache-2.0
#include "core/base/namespace_map.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void names_go_there_and_back(void **state) {
    (void)state;
    static const struct {
        const char *map, *origin, *here, *there; // NULL: none
    } cases[] = {
        {NULL, "o", "team-a", "team-a"},
        {"", "o", "team-a", "team-a"},
        {"a=b", "o", "a", "b"},
        {"a=b", "o", "b", NULL}, // the name of another one
        {"a=b", "o", "c", "c"},
        {"a=b\nb=a", "o", "a", "b"},
        {"a=b\nb=a", "o", "b", "a"},
        {"team-*={origin}-{namespace}", "west", "team-a", "west-team-a"},
        {"team-*={origin}-{namespace}", "west", "team-", NULL}, // no name of a namespace
        {"team-*={origin}-{namespace}", "west", "other", "other"},
        {"team-*={origin}-{namespace}", "west", "west-team-a", NULL},
        {"team-*={origin}-{namespace}", "west", "west-team-", NULL},
        {"team-*={origin}-{namespace}", "west", "west-tea", "west-tea"},
        {"*={origin}-{namespace}", "o", "o-a", "o-o-a"},
        {"*={namespace}-{origin}-x", "o", "a", "a-o-x"},
        {"*={origin}{origin}{namespace}", "o", "a", "ooa"},
        {"a-*-z=m-{namespace}\na-*=n-{namespace}\n*=o-{namespace}", "o", "a-b-z", "m-a-b-z"},
        {"a-*-z=m-{namespace}\na-*=n-{namespace}\n*=o-{namespace}", "o", "a-b", "n-a-b"},
        {"a-*-z=m-{namespace}\na-*=n-{namespace}\n*=o-{namespace}", "o", "b", "o-b"},
        {"*-*-*=x{namespace}", "o", "a-b-c", "xa-b-c"},
        {"*-*-*=x{namespace}", "o", "a-b", "a-b"},
        {"*-*-*=x{namespace}", "o", "a--b", "xa--b"},
        {"a=x\n*=", "o", "a", "x"},
        {"a=x\n*=", "o", "b", NULL},
        {"a=x\n*=", "o", "x", NULL},
        {"*=one", "o", "a", NULL}, // all would have one name
        {"*=one", "o", "one", NULL},
        {"a=one\nb=one", "o", "a", "one"}, // the first rule has the name
        {"a=one\nb=one", "o", "b", NULL},
        {"a=one\nb=one", "o", "one", NULL},
        {"*=Team-{namespace}", "o", "a", NULL},
        {"*={namespace}-", "o", "a", NULL},
        {"*=-{namespace}", "o", "a", NULL},
        {"*={origin}-{namespace}", "o.o", "a", NULL},
        {"*={origin}-{namespace}", "O", "a", NULL},
        {"*=abc-{namespace}", "o", SIXTY, NULL}, // 64 characters
        {"*=ab-{namespace}", "o", SIXTY, "ab-" SIXTY},
        {"*={origin}-{namespace}", SIXTY, "ab", SIXTY "-ab"},
        {"*={origin}-{namespace}", SIXTY, "abc", NULL},
        {"*={origin}{origin}-{namespace}", SIXTY, "a", NULL},
        {NULL, "o", SIXTY "aaa", SIXTY "aaa"},
        {NULL, "o", SIXTY "aaaa", NULL},
        {NULL, "o", "Team", NULL},
        {NULL, "o", "", NULL},
        {NULL, "o", "a/b", NULL},
        {"*={namespac}", "o", "a", NULL},
        {"*", "o", "a", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char there[NAMESPACE_SIZE] = "", here[NAMESPACE_SIZE] = "";
        bool found = namespace_there(cases[i].map, cases[i].origin, cases[i].here, there);
        if (found == !cases[i].there || (found && strcmp(there, cases[i].there) != 0))
            fail_msg("case %zu: %s is \"%s\"", i, cases[i].here, found ? there : "none");
        if (found && (!namespace_here(cases[i].map, cases[i].origin, there, here) || strcmp(here, cases[i].here) != 0))
            fail_msg("case %zu: %s leads back to \"%s\"", i, there, here);
    }
}

static void names_of_others_lead_nowhere(void **state) {
    (void)state;
    static const struct {
        const char *map, *there;
    } cases[] = {
        {"a=b", "a"},
        {"*={origin}-{namespace}", "o-"},
        {"*={origin}-{namespace}", "p-a"},
        {"*=x-{namespace}-y", "x-y"},
        {"*=x-{namespace}-y", "x--y"},
        {"a=x\n*=", "a"},
        {"*=", "a"},
        {"team-*=x-{namespace}", "x-team-"},
        {NULL, ""},
        {NULL, "A"},
        {"*=one", "one"},
        {NULL, SIXTY "aaaa"},
    };
    char here[NAMESPACE_SIZE];
    for (size_t i = 0; i < COUNT(cases); i++)
        if (namespace_here(cases[i].map, "o", cases[i].there, here))
            fail_msg("case %zu: %s leads back to \"%s\"", i, cases[i].there, here);
}

// Maps at random, and all names of up to four of these characters.

#define CHARACTERS "ab-"
#define NAMES 120

static char names[NAMES][8];

static void make_names(void) {
    size_t n = 0;
    for (size_t len = 1; len <= 4; len++)
        for (size_t code = 0, all = 1; code < (all = len == 1 ? 3 : len == 2 ? 9 : len == 3 ? 27 : 81); code++) {
            size_t rest = code;
            for (size_t i = 0; i < len; i++, rest /= 3)
                names[n][i] = CHARACTERS[rest % 3];
            names[n++][len] = '\0';
        }
    assert_int_equal(n, NAMES);
}

// `valid`: rules that a configuration may have.
static void make_map(struct random *random, bool valid, char *out, size_t size) {
    static const char *const patterns[] = {"*",   "a",   "b",     "a*", "*a",  "b*", "*b", "a*b", "*-*",
                                           "a-*", "*-a", "*a*b*", "aa", "a-b", "**", "-*", "a**", "b-*-a"};
    static const char *const templates[] = {"{namespace}",
                                            "a{namespace}",
                                            "{namespace}a",
                                            "{origin}-{namespace}",
                                            "b-{namespace}",
                                            "a",
                                            "b",
                                            "{namespace}-{origin}",
                                            "{origin}",
                                            "",
                                            "a{namespace}b",
                                            "ab",
                                            "ba"};
    size_t len = 0, rules = 1 + random_below(random, 3);
    while (rules > 0) {
        AUTO_BUFFER(problem, 4096);
        const char *pattern = patterns[random_below(random, COUNT(patterns))];
        const char *name = templates[random_below(random, COUNT(templates))];
        if (valid && namespace_rule_problem(pattern, name, "a", &problem))
            continue;
        len += (size_t)snprintf(out + len, size - len, "%s=%s\n", pattern, name);
        rules--;
    }
    assert_true(len < size);
}

static void any_map_is_one_to_one(void **state) {
    (void)state;
    struct random random = {7};
    size_t named = 0, unnamed = 0;
    for (size_t trial = 0; trial < 3000; trial++) {
        char map[256], there[NAMES][NAMESPACE_SIZE], back[NAMESPACE_SIZE];
        make_map(&random, false, map, sizeof map);
        const char *origin = trial % 2 ? "a" : "b-a";
        for (size_t i = 0; i < NAMES; i++) {
            bool found = namespace_there(map, origin, names[i], there[i]);
            if (found && (!text_is_dns_label(there[i]) || !namespace_here(map, origin, there[i], back) ||
                          strcmp(back, names[i]) != 0))
                fail_msg("map %s: %s is %s, which leads to %s", map, names[i], there[i], back);
            // The other way: each name of a cluster.
            if (namespace_here(map, origin, names[i], back)) {
                char again[NAMESPACE_SIZE] = "";
                if (!namespace_there(map, origin, back, again) || strcmp(again, names[i]) != 0)
                    fail_msg("map %s: %s leads to %s, which is %s", map, names[i], back, again);
            }
            if (!found)
                there[i][0] = '\0';
            named += found;
            unnamed += !found && text_is_dns_label(names[i]);
            for (size_t j = 0; j < i && found; j++)
                if (strcmp(there[i], there[j]) == 0)
                    fail_msg("map %s: %s and %s are both %s", map, names[i], names[j], there[i]);
        }
    }
    assert_true(named > 10000 && unnamed > 10000);
}

static const char *reason_of(const char *map, const char *origin, const char *name, struct buffer *out) {
    buffer_reset(out);
    namespace_describe_none(map, origin, name, out);
    return out->data;
}

// A namespace without a name because of a rule for another one: the check of the map finds the two rules.
static void collisions_of_rules_are_found(void **state) {
    (void)state;
    struct random random = {11};
    AUTO_BUFFER(text, 4096);
    AUTO_BUFFER(found, 4096);
    size_t n_collisions = 0, n_missed = 0, n_clean = 0;
    for (size_t trial = 0; trial < 3000; trial++) {
        char map[256], there[NAMESPACE_SIZE], owner[64] = "", name[64] = "";
        make_map(&random, true, map, sizeof map - 3);
        text_copy(map + strlen(map), 4, "*=\n"); // no name without a rule
        buffer_reset(&found);
        bool collides = namespace_map_collision(map, "a", &found);
        bool missed = false;
        for (size_t i = 0; i < NAMES && !collides; i++)
            missed |= text_is_dns_label(names[i]) && !namespace_there(map, "a", names[i], there) &&
                      strstr(reason_of(map, "a", names[i], &text), "which is that of namespace ");
        n_collisions += collides;
        n_missed += missed;
        n_clean += !collides && !missed;
        if (!collides)
            continue;
        // The named ones collide indeed: the second has no name.
        assert_int_equal(sscanf(found.data, "namespaces %63s and %63s", owner, name), 2);
        if (!namespace_there(map, "a", owner, there) || namespace_there(map, "a", name, there))
            fail_msg("map %s: %s", map, found.data);
    }
    // Missed are some of which an earlier rule has the first example.
    if (n_collisions < 100 || n_clean < 100 || n_missed * 20 > n_collisions)
        fail_msg("%zu maps collide, %zu were missed, %zu are clean", n_collisions, n_missed, n_clean);
}

static void a_collision_is_one_sentence(void **state) {
    (void)state;
    static const struct {
        const char *map, *sentence; // NULL: none
    } cases[] = {
        {NULL, NULL},
        {"a=x\nb=x", "namespaces a and b would both be namespace x there"},
        {"a=x\na=x", NULL},
        {"team-*={origin}-{namespace}\nprod-*={origin}-{namespace}", NULL},
        {"team-*={namespace}-prod\nteam-eu-*=team-eu-{namespace}", NULL}, // the first rule matches both
        {"*-eu={namespace}-prod\nteam-*=x-{namespace}",
         "namespaces x-team-eu and team-eu-prod would both be namespace x-team-eu-prod there"},
        {"*-eu={namespace}-p\nteam-*={namespace}-x", NULL},
        {"a-*={namespace}-b\n*-b=a-{namespace}", "namespaces a-x and x-b would both be namespace a-x-b there"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUFFER(out, 4096);
        bool found = namespace_map_collision(cases[i].map, "o", &out);
        if (found == !cases[i].sentence)
            fail_msg("case %zu: %s", i, found ? out.data : "no collision");
        if (found)
            assert_string_equal(out.data, cases[i].sentence);
    }
}

static void rules_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name, *origin, *problem; // NULL: none
    } cases[] = {
        {"team-*", "{origin}-{namespace}", NULL, NULL},
        {"team-*", "{origin}-{namespace}", "west", NULL},
        {"a", "b", NULL, NULL},
        {"*", "{namespace}", NULL, NULL},
        {"a", "{namespace}", NULL, NULL},
        {"*", "{namespace}-{origin}", "9", NULL},
        {"", "b", NULL, "found \"\", expected a namespace, or a pattern such as team-*"},
        {"Team", "b", NULL, "found \"Team\", expected a namespace, or a pattern such as team-*"},
        {"a=b", "b", NULL, "found \"a=b\", expected a namespace, or a pattern such as team-*"},
        {SIXTY "aaaa", "b", NULL, "found \"" SIXTY "aaaa\", expected a namespace, or a pattern such as team-*"},
        {"a", "", NULL,
         "found \"\", expected a name of lower-case letters, digits, '-', {origin}, and {namespace} once"},
        {"a", "B", NULL,
         "found \"B\", expected a name of lower-case letters, digits, '-', {origin}, and {namespace} once"},
        {"a", "{name}", NULL,
         "found \"{name}\", expected a name of lower-case letters, digits, '-', {origin}, and {namespace} once"},
        {"*", "{namespace}-{namespace}", NULL,
         "found \"{namespace}-{namespace}\", expected a name of lower-case letters, digits, '-', {origin}, and "
         "{namespace} once"},
        {"*", "{origin}", NULL, "found \"{origin}\" without {namespace}, expected a separate name for each namespace"},
        {"*", "{origin}-{namespace}", "my.origin",
         "found origin \"my.origin\", expected an RFC 1123 label, since the name contains {origin}"},
        {"*", "x-{namespace}", "my.origin", NULL},
        {"*", "-{namespace}", NULL,
         "found \"-{namespace}\", which is no RFC 1123 label (at most 63 characters, no '-' at either end) for any "
         "namespace"},
        {"*", "{namespace}-", NULL,
         "found \"{namespace}-\", which is no RFC 1123 label (at most 63 characters, no '-' at either end) for any "
         "namespace"},
        {"*", SIXTY "-{namespace}", NULL, NULL},
        {"*", SIXTY "--{namespace}", NULL, NULL},
        {"*", SIXTY "---{namespace}", NULL,
         "found \"" SIXTY "---{namespace}\", which is no RFC 1123 label (at most 63 characters, no '-' at either end) "
         "for any namespace"},
        {"team-*", SIXTY "-{namespace}", NULL,
         "found \"" SIXTY "-{namespace}\", which is no RFC 1123 label (at most 63 characters, no '-' at either end) "
         "for any namespace"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUFFER(out, 4096);
        bool wrong = namespace_rule_problem(cases[i].pattern, cases[i].name, cases[i].origin, &out);
        if (wrong == !cases[i].problem || (wrong && strcmp(out.data, cases[i].problem) != 0))
            fail_msg("case %zu: %s", i, wrong ? out.data : "no problem");
    }
}

static void a_namespace_without_a_name_has_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *map, *name, *reason;
    } cases[] = {
        {"a=x\n*=", "b", "the worker's namespaces.map has no rule for namespace b"},
        {"a=b", "b", "the worker's namespaces.map gives namespace b the name b, which is that of namespace a"},
        {"*=one", "b", "the worker's namespaces.map gives several namespaces the name one"},
        {"*={origin}-xx-{namespace}", SIXTY,
         "the worker's namespaces.map gives namespace " SIXTY " no valid name: found \"{origin}-xx-{namespace}\", "
         "expected an RFC 1123 label of at most 63 characters"},
    };
    AUTO_BUFFER(out, 4096);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(reason_of(cases[i].map, "o", cases[i].name, &out), cases[i].reason);
}

int main(void) {
    make_names();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_there_and_back),
        cmocka_unit_test(names_of_others_lead_nowhere),
        cmocka_unit_test(any_map_is_one_to_one),
        cmocka_unit_test(collisions_of_rules_are_found),
        cmocka_unit_test(a_collision_is_one_sentence),
        cmocka_unit_test(rules_are_checked),
        cmocka_unit_test(a_namespace_without_a_name_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
