// SPDX-License-Identifier: Apache-2.0
// What a workload and its mirror have in common is stored once, and both can be read whatever happens to the other.
#include "core/engine/store/store.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VARIABLES 60

static struct object *object(const char *uid, int version, const char *phase) {
    char text[8192];
    int len =
        snprintf(text, sizeof text,
                 "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\",\"namespace\":"
                 "\"default\",\"uid\":\"%s\",\"resourceVersion\":\"%d\"},\"spec\":{\"env\":[",
                 uid, version);
    for (int i = 0; i < VARIABLES; i++)
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "{\"name\":\"VARIABLE_%d\",\"value\":\"a usual value\"},", i);
    len += snprintf(text + len, sizeof text - (size_t)len - 1, "{}]},\"status\":{\"phase\":\"%s\"}}", phase);
    struct object *made = NULL;
    assert_null(object_parse(text, (size_t)len, NULL, NULL, &made));
    return made;
}

#define TREES 8

// So that the next tree is read from the text.
static void use_others(struct store *store) {
    for (int i = 0; i < TREES; i++) {
        AUTO_TEXT name = text_format("other-%d", i);
        struct entry *other = store_make(store, 0, "default", name);
        assert_true(other->workload != &store->none || store_begin_workload(other));
        if (!other->workload->facts.exists)
            entry_set_object(store, other, object("o", i, ""));
        assert_non_null(doc_tree(store, &other->workload->doc));
    }
}

static void check(struct store *store, struct doc *doc, const char *uid, int version, const char *phase) {
    use_others(store);
    assert_int_equal(doc->slot, 0);
    const struct json *tree = doc_tree(store, doc);
    assert_non_null(tree);
    assert_string_equal(object_uid(tree), uid);
    AUTO_TEXT expected = text_format("%d", version);
    assert_string_equal(doc_version(store, doc), expected);
    assert_int_equal(json_size(pointer_find(tree, "/spec/env")), VARIABLES + 1);
    assert_string_equal(json_string(pointer_find(tree, "/status/phase")), phase);
}

static void they_share_their_spec_through_all_versions(void **state) {
    (void)state;
    struct store store;
    assert_null(store_init(&store, 1, TREES, 1));
    struct entry *entry = store_make(&store, 0, "default", "a");
    assert_true(store_begin_workload(entry));
    struct mirror *mirror = entry_make_mirror(entry, 1);
    for (int first = 0; first < 2; first++) { // whichever is seen first
        entry_set_object(&store, entry, first ? object("w", 1, "") : NULL);
        mirror_set_object(&store, entry, mirror, object("m", 1, ""));
        entry_set_object(&store, entry, object("w", 1, ""));
        assert_non_null(entry->workload->doc.text.block);
        assert_ptr_equal(entry->workload->doc.text.block, mirror->doc.text.block);
        for (int version = 9; version < 12; version++) {
            mirror_set_object(&store, entry, mirror, object("m", version, "Running"));
            entry_set_object(&store, entry, object("w", version + 100, "Pending"));
            assert_ptr_equal(entry->workload->doc.text.block, mirror->doc.text.block);
            assert_in_range(strlen(entry->workload->doc.text.own), 1, 400);
            check(&store, &entry->workload->doc, "w", version + 100, "Pending");
            check(&store, &mirror->doc, "m", version, "Running");
        }
        mirror_set_object(&store, entry, mirror, NULL);
        check(&store, &entry->workload->doc, "w", 111, "Pending");
    }
    store_free(&store);
}

static void a_text_that_was_taken_can_be_read_after_both_are_gone(void **state) {
    (void)state;
    struct store store;
    assert_null(store_init(&store, 1, TREES, 1));
    struct entry *entry = store_make(&store, 0, "default", "a");
    assert_true(store_begin_workload(entry));
    struct mirror *mirror = entry_make_mirror(entry, 1);
    entry_set_object(&store, entry, object("w", 1, ""));
    mirror_set_object(&store, entry, mirror, object("m", 2, "Complete"));
    assert_non_null(mirror->doc.text.block);
    struct shared_text text = mirror_take_text(&store, mirror);
    assert_false(mirror->facts.present);
    store_remove(&store, entry);
    AUTO_JSON tree = store_parse(&text);
    assert_non_null(tree);
    assert_string_equal(json_string(pointer_find(tree, "/status/phase")), "Complete");
    shared_text_clear(&text);
    assert_null(store_parse(&text));
    store_free(&store);
}

static void no_more_trees_are_kept_than_it_was_told_to(void **state) {
    (void)state;
    struct store store;
    assert_null(store_init(&store, 1, TREES, 1));
    struct entry *entry = store_make(&store, 0, "default", "a");
    assert_true(store_begin_workload(entry));
    entry_set_object(&store, entry, object("w", 1, ""));
    for (int i = 0; i < 4; i++) {
        use_others(&store);
        assert_int_equal(store.trees, TREES);
        assert_int_equal(entry->workload->doc.slot, 0);
        assert_non_null(doc_tree(&store, &entry->workload->doc));
        assert_int_equal(store.trees, TREES);
        assert_int_not_equal(entry->workload->doc.slot, 0);
    }
    store_free(&store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_share_their_spec_through_all_versions),
        cmocka_unit_test(no_more_trees_are_kept_than_it_was_told_to),
        cmocka_unit_test(a_text_that_was_taken_can_be_read_after_both_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
