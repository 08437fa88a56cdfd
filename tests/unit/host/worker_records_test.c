// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"
#include "core/kube/client/client.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/kube/transport/gate.h"
#include "tests/unit/kube/fake_transport.h"

#include <stddef.h>

#define PATH "/api/v1/namespaces/ours/configmaps"

struct stage {
    struct fake_transport fake;
    struct client *client;
    struct worker_records *records;
    struct gate gate;
    int64_t now_ns;
};

static void begin(struct stage *stage) {
    log_setup(LOG_TEXT, LOG_ERROR);
    *stage = (struct stage){.now_ns = CLOCK_MINUTE};
    fake_init(&stage->fake);
    stage->gate.until_ns = CLOCK_NEVER;
    assert_null(worker_records_new(&stage->records));
    assert_null(
        client_new(&(struct client_options){.cluster = "management", .transport = &stage->fake.base}, &stage->client));
}

static void end(struct stage *stage) {
    worker_records_stop(stage->records);
    worker_records_free(stage->records);
    client_free(stage->client);
    fake_free(&stage->fake);
}

// How many requests were sent in this time.
static size_t run(struct stage *stage, int64_t duration_ns) {
    size_t before = stage->fake.count;
    struct worker_records_place place = {.management = stage->client, .namespace_ = "ours", .gate = &stage->gate};
    for (int64_t until_ns = stage->now_ns + duration_ns; stage->now_ns <= until_ns; stage->now_ns += CLOCK_SECOND / 4) {
        (void)worker_records_tick(stage->records, &place, (struct moment){.mono_ns = stage->now_ns});
        (void)client_tick(stage->client, (struct moment){.mono_ns = stage->now_ns});
    }
    return stage->fake.count - before;
}

// The ConfigMap with these annotations.
static char *map_text(const char *version, const char *annotations) {
    char *text =
        text_format("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"ours\",\"name\":"
                    "\"wharf-workers\",\"uid\":\"u\",\"resourceVersion\":\"%s\",\"annotations\":{%s}}}",
                    version, annotations);
    assert_non_null(text);
    return text;
}

static void see(struct stage *stage, const char *version, const char *annotations) {
    AUTO_TEXT text = map_text(version, annotations);
    AUTO_JSON map = NULL;
    assert_null(json_parse(text, strlen(text), &map));
    worker_records_see(stage->records, map);
}

static void answer(struct stage *stage, const char *version, const char *annotations) {
    AUTO_TEXT text = map_text(version, annotations);
    fake_answer(&stage->fake, stage->fake.count, 200, text);
}

static const char *sent(const struct stage *stage) {
    return stage->fake.exchanges[stage->fake.count - 1].request.body;
}

static void a_worker_is_recorded_with_its_object_once(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    assert_true(worker_records_set(stage.records, "w1", "", "Secret ours/w1", NULL));
    assert_true(worker_records_set(stage.records, "w2", "k2", NULL, NULL));
    assert_int_equal(run(&stage, CLOCK_MINUTE), 0); // what is recorded is not known yet
    worker_records_see(stage.records, NULL);
    assert_int_equal(run(&stage, CLOCK_SECOND), 1);
    assert_string_equal(fake_last(&stage.fake)->request.path, PATH "?fieldManager=wharf");
    assert_non_null(strstr(sent(&stage), "\"annotations\":{\"known.wharf.dev/w2\":\"k2\"}"));
    answer(&stage, "1", "\"known.wharf.dev/w2\":\"k2\"");
    assert_true(worker_records_set(stage.records, "w1", "k1", "Secret ours/w1", NULL));
    assert_int_equal(run(&stage, 2 * CLOCK_SECOND), 1);
    assert_non_null(strstr(fake_last(&stage.fake)->request.path, PATH "/wharf-workers"));
    assert_string_equal(sent(&stage), "{\"metadata\":{\"annotations\":{\"known.wharf.dev/w1\":\"k1 Secret ours/w1\"},"
                                      "\"resourceVersion\":\"1\"}}");
    answer(&stage, "2", "\"known.wharf.dev/w1\":\"k1 Secret ours/w1\",\"known.wharf.dev/w2\":\"k2\"");
    assert_int_equal(run(&stage, 10 * CLOCK_MINUTE), 0);
    assert_true(worker_records_set(stage.records, "w2", "k2", NULL, "a=b\nc-*=x-{namespace}\n"));
    assert_int_equal(run(&stage, 2 * CLOCK_SECOND), 1);
    assert_non_null(strstr(sent(&stage), "{\"known.wharf.dev/w2\":\"k2 names=a=b,c-*=x-{namespace}\"}"));
    answer(&stage, "3",
           "\"known.wharf.dev/w1\":\"k1 Secret ours/w1\",\"known.wharf.dev/w2\":\"k2 names=a=b,c-*=x-{namespace}\"");
    assert_int_equal(run(&stage, 10 * CLOCK_MINUTE), 0);
    assert_true(worker_records_set(stage.records, "w1", NULL, NULL, NULL)); // it has left
    assert_int_equal(run(&stage, 2 * CLOCK_SECOND), 1);
    assert_non_null(strstr(sent(&stage), "\"annotations\":{\"known.wharf.dev/w1\":null}"));
    end(&stage);
}

static void the_uid_of_a_recorded_worker_is_not_recorded_for_another(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    see(&stage, "1", "\"known.wharf.dev/w1\":\"k1 Secret ours/w1\",\"known.wharf.dev/gone\":\"k3\"");
    worker_records_set(stage.records, "w1", "", "Secret ours/w1", NULL);
    worker_records_set(stage.records, "w2", "k1", NULL, NULL);
    assert_int_equal(run(&stage, CLOCK_MINUTE), 0);
    worker_records_set(stage.records, "w3", "k3", NULL, NULL); // that of a worker that is no more
    assert_int_equal(run(&stage, 2 * CLOCK_SECOND), 1);
    assert_non_null(strstr(sent(&stage), "\"annotations\":{\"known.wharf.dev/w3\":\"k3\"}"));
    answer(&stage, "2", "\"known.wharf.dev/w1\":\"k1 Secret ours/w1\",\"known.wharf.dev/w3\":\"k3\"");
    worker_records_set(stage.records, "w1", "k2", "Secret ours/w1", NULL); // the two were exchanged
    assert_int_equal(run(&stage, 2 * CLOCK_SECOND), 1);
    assert_non_null(strstr(sent(&stage), "\"known.wharf.dev/w1\":\"k2 Secret ours/w1\""));
    assert_non_null(strstr(sent(&stage), "\"known.wharf.dev/w2\":\"k1\""));
    end(&stage);
}

static void another_writer_is_not_fought(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    see(&stage, "1", "");
    worker_records_set(stage.records, "w1", "k1", NULL, NULL);
    size_t writes = 0;
    for (int i = 0; i < 60 * 60; i++) {
        size_t before = writes;
        writes += run(&stage, CLOCK_SECOND);
        if (writes == before)
            continue;
        answer(&stage, "2", "\"known.wharf.dev/w1\":\"k1\"");
        see(&stage, "3", i % 2 ? "\"known.wharf.dev/w1\":\"k9\"" : "");
    }
    assert_in_range(writes, 5, 20);
    end(&stage);
}

static void failures_are_tried_again_with_growing_delays_and_on_a_standby_nothing_is_written(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    stage.gate.until_ns = 0;
    see(&stage, "1", "");
    worker_records_set(stage.records, "w1", "k1", NULL, NULL);
    assert_int_equal(run(&stage, CLOCK_MINUTE), 0);
    stage.gate.until_ns = CLOCK_NEVER;
    size_t writes = 0;
    for (int i = 0; i < 60 * 60; i++) {
        size_t before = writes;
        writes += run(&stage, CLOCK_SECOND);
        if (writes > before)
            fake_answer(&stage.fake, stage.fake.count, 403,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
                        "\"message\":\"no\",\"code\":403}");
    }
    assert_in_range(writes, 5, 20);
    end(&stage);
}

static void a_record_is_read_as_it_was_written(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *uid, *source, *names;
    } cases[] = {{"known.wharf.dev/w1", "k1", "k1", "", ""},
                 {"known.wharf.dev/w1", "k1 Secret ours/w1", "k1", "Secret ours/w1", ""},
                 {"known.wharf.dev/w1", "k1 names=a=b,c-*=x-{namespace}", "k1", "", "a=b\nc-*=x-{namespace}"},
                 {"known.wharf.dev/w1", "k1 Secret ours/w1 names=a=b", "k1", "Secret ours/w1", "a=b"},
                 {"known.wharf.dev/w1", "", NULL, NULL, NULL},
                 {"known.wharf.dev/w1", " Secret ours/w1", NULL, NULL, NULL},
                 {"known.wharf.dev/w1", "0123456789012345678901234567890123456789", NULL, NULL, NULL},
                 {"known.wharf.dev/w1", NULL, NULL, NULL, NULL},
                 {"wharf.dev/w1", "k1", NULL, NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct worker_record_text found;
        assert_int_equal(worker_record_read(cases[i].key, cases[i].value, &found), (bool)cases[i].uid);
        if (!cases[i].uid)
            continue;
        assert_string_equal(found.uid, cases[i].uid);
        assert_string_equal(found.source, cases[i].source);
        assert_string_equal(found.names, cases[i].names);
        free(found.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_is_recorded_with_its_object_once),
        cmocka_unit_test(the_uid_of_a_recorded_worker_is_not_recorded_for_another),
        cmocka_unit_test(another_writer_is_not_fought),
        cmocka_unit_test(failures_are_tried_again_with_growing_delays_and_on_a_standby_nothing_is_written),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
