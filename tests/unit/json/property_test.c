// SPDX-License-Identifier: Apache-2.0
// What must hold for every document.
#include "core/json/pointer.h"
#include "core/json/yaml.h"
#include "tests/unit/json/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DOCUMENTS 3000

static void a_document_survives_printing(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
        struct random random = {seed};
        AUTO_JSON first = generate_value(&random, 6);
        AUTO_JSON second = NULL;
        size_t len;
        AUTO_TEXT text = json_text(first, &len);
        if (!first || !text || json_parse(text, len, &second)) {
            fail_msg("seed %lu", (unsigned long)seed);
            return;
        }
        AUTO_TEXT again = json_text(second, NULL);
        if (!json_equal(first, second) || !text_equal(text, again))
            fail_msg("seed %lu: %s became %s", (unsigned long)seed, text, again);
        assert_int_equal(len, strlen(text));
    }
}

static void a_copy_prints_the_same(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
        struct random random = {seed};
        AUTO_JSON value = generate_value(&random, 5);
        AUTO_JSON copy = json_copy(value);
        AUTO_TEXT a = json_text(value, NULL);
        AUTO_TEXT b = json_text(copy, NULL);
        assert_true(json_equal(value, copy));
        assert_string_equal(a, b);
    }
}

// Members change their places, at every level.
static void shuffle(struct random *random, struct json *value) {
    for (struct json *child = json_first(value); child; child = json_next(child))
        shuffle(random, child);
    size_t size = json_size(value);
    for (size_t i = 0; json_is(value, JSON_OBJECT) && i < size; i++) {
        struct json *member = json_first(value);
        for (uint64_t skip = random_below(random, size); skip > 0; skip--)
            member = json_next(member);
        AUTO_TEXT key = text_format("%s", json_key(member));
        assert_true(json_set(value, key, json_detach(value, key)));
    }
}

static void order_does_not_matter_and_any_change_does(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DOCUMENTS / 3; seed++) {
        struct random random = {seed};
        AUTO_JSON value = generate_value(&random, 4);
        AUTO_JSON other = json_copy(value);
        shuffle(&random, other);
        assert_true(json_equal(value, other));
        assert_true(json_equal(other, value));
        struct json *part = other; // somewhere in it
        while (json_first(part) && random_below(&random, 4) > 0)
            part = json_first(part);
        if (json_is(part, JSON_OBJECT))
            assert_true(json_set(part, "a key that is never generated", json_new_null()));
        else if (json_is(part, JSON_ARRAY))
            assert_true(json_append(part, json_new_null()));
        else
            continue;
        assert_false(json_equal(value, other));
        assert_false(json_equal(other, value));
    }
}

static struct json *generate_object(struct random *random) {
    for (;;) {
        struct json *value = generate_value(random, 4);
        if (json_is(value, JSON_OBJECT))
            return value;
        json_free(value);
    }
}

static bool has_null_member(const struct json *value) {
    if (!json_is(value, JSON_OBJECT))
        return false;
    for (const struct json *member = json_first(value); member; member = json_next(member))
        if (json_is(member, JSON_NULL) || has_null_member(member))
            return true;
    return false;
}

// In arrays a merge patch does carry nulls.
static void drop_null_members(struct json *value) {
    struct json *next;
    for (struct json *member = json_first(value); json_is(value, JSON_OBJECT) && member; member = next) {
        next = json_next(member);
        if (json_is(member, JSON_NULL))
            json_remove_child(value, member);
        else
            drop_null_members(member);
    }
}

static void a_patch_leads_from_one_document_to_the_other(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
        struct random random = {seed};
        AUTO_JSON from = generate_object(&random);
        AUTO_JSON to = random_below(&random, 3) ? generate_object(&random) : json_copy(from);
        drop_null_members(from);
        drop_null_members(to);
        if (json_first(to) && random_below(&random, 2))
            json_remove_child(to, json_first(to));
        AUTO_JSON patch = patch_diff(from, to, NULL);
        AUTO_JSON reached = json_copy(from);
        assert_non_null(patch);
        assert_true(patch_apply(&reached, patch));
        assert_true(json_equal(reached, to));
        assert_int_equal(!json_first(patch), json_equal(from, to));
        AUTO_JSON nothing = patch_diff(reached, to, NULL);
        assert_null(json_first(nothing));
    }
}

static void applying_a_patch_to_nothing_leaves_no_null_members(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
        struct random random = {seed};
        AUTO_JSON patch = generate_object(&random);
        AUTO_JSON target = json_new_object();
        assert_true(patch_apply(&target, patch));
        assert_false(has_null_member(target));
    }
}

struct seen {
    const struct json *root;
    size_t count;
};

static bool find_again(void *ctx, const char *pointer, struct json *value) {
    struct seen *seen = ctx;
    seen->count++;
    struct error *error = pointer_check(pointer, false);
    assert_null(error);
    assert_ptr_equal(pointer_find(seen->root, pointer), value);
    return true;
}

static void every_value_is_found_by_the_pointer_to_it(void **state) {
    (void)state;
    static const char *const patterns[] = {"", "/*", "/*/*", "/*/*/*", "/*/*/*/*"};
    for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
        struct random random = {seed};
        AUTO_JSON value = generate_value(&random, 4);
        struct seen seen = {value, 0};
        for (size_t i = 0; i < 5; i++)
            assert_true(pointer_each(value, patterns[i], find_again, &seen));
        assert_true(seen.count >= 1 + json_size(value));
    }
}

// 1e400 is a string in YAML, as no float64 holds it, and integers lose their notation there.
static void soften_numbers(struct json *value) {
    struct json *next;
    for (struct json *child = json_first(value); child; child = next) {
        next = json_next(child);
        if (text_equal(json_number_text(child), "1e400"))
            assert_true(json_replace(value, child, json_new_int64(1)));
        else
            soften_numbers(child);
    }
}

static void a_document_survives_yaml(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DOCUMENTS; seed++) {
        struct random random = {seed};
        AUTO_JSON value = generate_value(&random, 4);
        soften_numbers(value);
        if (text_equal(json_number_text(value), "1e400"))
            continue;
        struct buffer text;
        buffer_init(&text, 1 << 24);
        assert_true(yaml_print(value, &text));
        struct yaml yaml;
        struct error *error = yaml_parse("generated", text.data, text.len, &yaml);
        if (error)
            fail_msg("seed %lu: %s\n%s", (unsigned long)seed, error->message, text.data);
        if (!json_equal(value, yaml.value))
            fail_msg("seed %lu:\n%s", (unsigned long)seed, text.data);
        yaml_cleanup(&yaml);
        buffer_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_survives_printing),
        cmocka_unit_test(a_copy_prints_the_same),
        cmocka_unit_test(order_does_not_matter_and_any_change_does),
        cmocka_unit_test(a_patch_leads_from_one_document_to_the_other),
        cmocka_unit_test(applying_a_patch_to_nothing_leaves_no_null_members),
        cmocka_unit_test(every_value_is_found_by_the_pointer_to_it),
        cmocka_unit_test(a_document_survives_yaml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
