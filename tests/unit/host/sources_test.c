// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/log.h"
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct stage {
    struct sources *sources;
    struct buffer set;   // "w1=Secret a/b cordoned;w2=..." of the last call
    struct buffer notes; // "Secret a/b w1: problem;"
    enum removal removal;
    unsigned calls;
};

static void note_specs(struct stage *stage, const struct worker_spec *specs, size_t count) {
    static const char *const drains[] = {"", " finish", " move"};
    buffer_reset(&stage->set);
    for (size_t i = 0; i < count; i++)
        buffer_printf(
            &stage->set, "%s=%s%s%s%s%s%s;", specs[i].settings.name, specs[i].origin_text,
            specs[i].cordoned ? " cordoned" : "", drains[specs[i].drain], specs[i].settings.recorded ? " (" : "",
            specs[i].settings.recorded ? specs[i].settings.recorded : "", specs[i].settings.recorded ? ")" : "");
}

static void note_notes(struct stage *stage, const struct source_note *notes, size_t count) {
    buffer_reset(&stage->notes);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&stage->notes, "%s %s: %s;", notes[i].origin_text, notes[i].name ? notes[i].name : "-",
                      notes[i].problem ? notes[i].problem : "good");
}

static void apply(void *ctx, struct source_list *list, enum removal removal) {
    struct stage *stage = ctx;
    note_specs(stage, list->specs, list->count);
    note_notes(stage, list->notes, list->n_notes);
    stage->removal = removal;
    stage->calls++;
    source_list_clear(list);
}

static void begin(struct stage *stage) {
    log_setup(LOG_TEXT, LOG_ERROR);
    *stage = (struct stage){.calls = 0};
    buffer_init(&stage->set, 65536);
    buffer_init(&stage->notes, 65536);
    struct sources_options options = {.apply = apply, .ctx = stage};
    assert_null(sources_new(&options, &stage->sources));
}

static void end(struct stage *stage) {
    sources_free(stage->sources);
    buffer_free(&stage->set);
    buffer_free(&stage->notes);
}

// "w1,w2" from a source.
static void set(struct stage *stage, enum worker_source source, const char *names) {
    static const char *const from[] = {"config", "file", "Secret", "ClusterProfile"};
    struct worker_spec *specs = calloc(8, sizeof *specs);
    size_t count = 0;
    for (const char *at = names; *at != '\0'; count++) {
        size_t len = strcspn(at, ",");
        specs[count] = (struct worker_spec){.settings.name = strndup(at, len), .source = source};
        specs[count].origin_text = text_format("%s%zu", from[source], count);
        at += len + (at[len] == ',');
    }
    sources_set(stage->sources, source, (struct source_list){.specs = specs, .count = count});
}

static void known(struct stage *stage) {
    sources_override(stage->sources, NULL);
}

static void the_first_source_of_a_name_wins_and_the_others_are_told(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    known(&stage);
    set(&stage, SOURCE_SECRET, "w1,w2,w2");
    assert_string_equal(stage.set.data, "w1=Secret0;w2=Secret1;");
    assert_string_equal(stage.notes.data, "Secret2 w2: worker w2 comes from Secret1 already;");
    set(&stage, SOURCE_CONFIG, "w0,w1");
    set(&stage, SOURCE_CLUSTER_PROFILE, "w0,w9");
    assert_string_equal(stage.set.data, "w0=config0;w1=config1;w2=Secret1;w9=ClusterProfile1;");
    assert_non_null(strstr(stage.notes.data, "Secret0 w1: worker w1 comes from config1 already;"));
    assert_non_null(strstr(stage.notes.data, "ClusterProfile0 w0: worker w0 comes from config0 already;"));
    set(&stage, SOURCE_CONFIG, "");
    set(&stage, SOURCE_DIRECTORY, "w2");
    assert_string_equal(stage.set.data, "w2=file0;w1=Secret0;w0=ClusterProfile0;w9=ClusterProfile1;");
    end(&stage);
}

// A worker of an object: "Secret z" with the name w1.
static void offer(struct worker_spec *specs, size_t *count, enum worker_source source, const char *from,
                  const char *created) {
    specs[(*count)++] = (struct worker_spec){.settings.name = strdup("w1"),
                                             .source = source,
                                             .origin_text = strdup(from),
                                             .created = created ? strdup(created) : NULL};
}

#define EARLY "2026-01-01T00:00:00Z"
#define LATE "2026-02-01T00:00:00Z"

// Secrets a and z, if they were created; both have the name w1.
static void offer_secrets(struct stage *stage, const char *a, const char *z) {
    struct worker_spec *specs = calloc(3, sizeof *specs);
    size_t count = 0;
    if (a)
        offer(specs, &count, SOURCE_SECRET, "Secret a", a);
    if (z)
        offer(specs, &count, SOURCE_SECRET, "Secret z", z);
    sources_set(stage->sources, SOURCE_SECRET, (struct source_list){.specs = specs, .count = count});
}

static void record(struct stage *stage, const char *uid, const char *source) {
    struct map overrides;
    map_init(&overrides, 1);
    const struct worker_override entry = {.name = "w1", .uid = uid, .source = source ? source : "", .names = ""};
    assert_true(blocks_put(&overrides, &entry, sizeof entry, WORKER_OVERRIDE_TEXTS));
    sources_override(stage->sources, &overrides);
}

static void a_secret_does_not_take_the_name_of_a_worker_in_use(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    known(&stage);
    offer_secrets(&stage, NULL, LATE);
    assert_string_equal(stage.set.data, "w1=Secret z;");
    offer_secrets(&stage, EARLY, LATE); // its author has changed the name of an older one
    assert_string_equal(stage.set.data, "w1=Secret z;");
    assert_string_equal(stage.notes.data, "Secret a w1: worker w1 comes from Secret z already;");
    offer_secrets(&stage, EARLY, NULL);
    assert_string_equal(stage.set.data, "w1=Secret a;");
    struct worker_spec *specs = calloc(2, sizeof *specs);
    size_t count = 0;
    offer(specs, &count, SOURCE_CLUSTER_PROFILE, "ClusterProfile b", "2025-01-01T00:00:00Z");
    sources_set(stage.sources, SOURCE_CLUSTER_PROFILE, (struct source_list){.specs = specs, .count = count});
    assert_string_equal(stage.set.data, "w1=Secret a;");
    set(&stage, SOURCE_CONFIG, "w1"); // the operator's own word
    assert_string_equal(stage.set.data, "w1=config0;");
    end(&stage);
}

static void a_secret_does_not_take_the_name_of_a_worker_after_a_restart(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    record(&stage, "k1", "Secret z");
    offer_secrets(&stage, EARLY, LATE);
    assert_string_equal(stage.set.data, "w1=Secret z (k1);");
    record(&stage, "k1", "Secret a"); // of a moment ago: it does not count for what is in use
    assert_string_equal(stage.set.data, "w1=Secret z (k1);");
    end(&stage);
    begin(&stage); // in another order, as the ConfigMap may be read last
    offer_secrets(&stage, EARLY, LATE);
    record(&stage, "k1", "Secret z");
    assert_string_equal(stage.set.data, "w1=Secret z (k1);");
    end(&stage);
}

static void without_a_record_the_oldest_object_has_the_name(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    known(&stage);
    offer_secrets(&stage, LATE, EARLY);
    assert_string_equal(stage.set.data, "w1=Secret z;");
    assert_string_equal(stage.notes.data, "Secret a w1: worker w1 comes from Secret z already;");
    end(&stage);
}

static void all_workers_are_cordoned_until_the_config_map_is_known(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    set(&stage, SOURCE_CONFIG, "w1,w2,w3");
    assert_string_equal(stage.set.data, "w1=config0 cordoned;w2=config1 cordoned;w3=config2 cordoned;");
    static const struct worker_override list[] = {
        {.name = "w2", .uid = "", .source = "", .names = "", .sets_cordoned = true, .cordoned = true},
        {.name = "w3", .uid = "", .source = "", .names = "", .sets_drain = true, .drain = DRAIN_MOVE},
        {.name = "nobody", .uid = "", .source = "", .names = "", .sets_drain = true, .drain = DRAIN_MOVE}};
    struct map overrides;
    map_init(&overrides, 1);
    for (size_t i = 0; i < 3; i++)
        assert_true(blocks_put(&overrides, &list[i], sizeof list[i], WORKER_OVERRIDE_TEXTS));
    sources_override(stage.sources, &overrides);
    assert_string_equal(stage.set.data, "w1=config0;w2=config1 cordoned;w3=config2 move;");
    known(&stage);
    assert_string_equal(stage.set.data, "w1=config0;w2=config1;w3=config2;");
    end(&stage);
}

static void the_policy_of_removal_goes_with_each_set(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    set(&stage, SOURCE_CONFIG, "w1");
    assert_int_equal(stage.removal, REMOVAL_FINISH);
    sources_set_removal(stage.sources, REMOVAL_ABANDON);
    assert_int_equal(stage.calls, 1);
    set(&stage, SOURCE_CONFIG, "");
    assert_int_equal(stage.removal, REMOVAL_ABANDON);
    end(&stage);
}

static void accept(struct source_items *items, const char *key, const char *name) {
    struct worker_spec spec = {.settings.name = strdup(name), .origin_text = strdup(key), .source = items->source};
    struct source_item *item = source_items_at(items, key, key);
    item->seen = true;
    source_item_accept(items, item, &spec);
    assert_null(spec.settings.name);
}

static void an_item_that_turns_bad_stays_as_it_was(void **state) {
    (void)state;
    struct stage stage;
    struct source_items items = {.source = SOURCE_SECRET};
    begin(&stage);
    known(&stage);
    accept(&items, "b", "wb");
    accept(&items, "a", "wa");
    source_items_publish(&items, stage.sources);
    assert_string_equal(stage.set.data, "wa=a;wb=b;");
    unsigned calls = stage.calls;
    source_items_publish(&items, stage.sources);
    assert_int_equal(stage.calls, calls); // nothing has changed
    source_item_refuse(&items, source_items_at(&items, "a", "a"), error_new(ERROR_INVALID, "key kubeconfig: bad"));
    source_item_refuse(&items, source_items_at(&items, "c", "c"), error_new(ERROR_INVALID, "worse"));
    source_items_publish(&items, stage.sources);
    assert_string_equal(stage.set.data, "wa=a;wb=b;");
    assert_string_equal(stage.notes.data, "a wa: key kubeconfig: bad;b wb: good;c -: worse;");
    accept(&items, "a", "wa2");
    source_items_publish(&items, stage.sources);
    assert_string_equal(stage.set.data, "wa2=a;wb=b;");
    source_items_free(&items);
    end(&stage);
}

static void what_a_list_lacks_is_removed_unless_it_is_held(void **state) {
    (void)state;
    struct stage stage;
    struct source_items items = {.source = SOURCE_SECRET};
    begin(&stage);
    known(&stage);
    accept(&items, "a", "wa");
    accept(&items, "b", "wb");
    accept(&items, "c", "wc");
    source_items_unsee(&items);
    source_items_find(&items, "a")->seen = true;
    source_items_find(&items, "c")->seen = true;
    source_items_sweep(&items);
    source_items_unsee(&items);
    accept(&items, "d", "wd");
    assert_int_equal(source_items_hold(&items), 2);
    source_items_sweep(&items);
    source_items_publish(&items, stage.sources);
    assert_string_equal(stage.set.data, "wa=a;wc=c;wd=d;");
    source_items_unsee(&items);
    source_items_sweep(&items); // those that are held stay, in later lists too
    source_items_remove(&items, "a");
    source_items_publish(&items, stage.sources);
    assert_string_equal(stage.set.data, "wc=c;");
    source_items_free(&items);
    end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_source_of_a_name_wins_and_the_others_are_told),
        cmocka_unit_test(a_secret_does_not_take_the_name_of_a_worker_in_use),
        cmocka_unit_test(a_secret_does_not_take_the_name_of_a_worker_after_a_restart),
        cmocka_unit_test(without_a_record_the_oldest_object_has_the_name),
        cmocka_unit_test(all_workers_are_cordoned_until_the_config_map_is_known),
        cmocka_unit_test(the_policy_of_removal_goes_with_each_set),
        cmocka_unit_test(an_item_that_turns_bad_stays_as_it_was),
        cmocka_unit_test(what_a_list_lacks_is_removed_unless_it_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
