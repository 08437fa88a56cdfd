// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/api/events.h"
#include "tests/unit/kube/fake_transport.h"

#include <stdio.h>

#define OBJECT "{\"kind\":\"Event\",\"metadata\":{\"name\":\"e\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}"
#define CREATE_PATH "/apis/events.k8s.io/v1/namespaces/n/events?fieldManager=wharf"
#define START_WALL_NS (INT64_C(1767323045) * CLOCK_SECOND) // 2026-01-02T03:04:05Z

struct fixture {
    struct fake_transport fake;
    struct client *client;
    struct recorder *recorder;
    int64_t now_ns, next_ns;
};

static const struct event placed = {.api_version = "batch/v1",
                                    .kind = "Job",
                                    .namespace_ = "n",
                                    .name = "a",
                                    .uid = "u1",
                                    .reason = "Placed",
                                    .action = "Place",
                                    .note = "placed in w1"};

static struct moment now(const struct fixture *f) {
    return (struct moment){.mono_ns = f->now_ns, .wall_ns = START_WALL_NS + f->now_ns};
}

static void tick(struct fixture *f) {
    f->next_ns = recorder_tick(f->recorder, now(f));
    client_tick(f->client, now(f));
}

static void begin(struct fixture *f) {
    *f = (struct fixture){0};
    fake_init(&f->fake);
    struct client_options options = {.cluster = "mgmt", .transport = &f->fake.base};
    assert_null(client_new(&options, &f->client));
    assert_null(recorder_new(f->client, "wharf.dev/host", "host-1", 7, &f->recorder));
}

static void end(struct fixture *f) {
    recorder_free(f->recorder);
    assert_int_equal(client_pending(f->client), 0);
    client_free(f->client);
    fake_free(&f->fake);
}

static void record(struct fixture *f, const struct event *event) {
    recorder_event(f->recorder, now(f), event);
    tick(f);
}

static void answer(struct fixture *f, int status) {
    fake_answer(&f->fake, f->fake.count, status, status < 300 ? OBJECT : "");
    tick(f);
}

static void pass(struct fixture *f, int64_t duration_ns) {
    f->now_ns += duration_ns;
    tick(f);
}

static struct json *body(struct fixture *f) {
    struct json *value = NULL;
    const struct http_request *request = &fake_last(&f->fake)->request;
    assert_null(json_parse(request->body, strlen(request->body), &value));
    return value;
}

static void expect_text(const struct json *value, const char *pointer_a, const char *pointer_b, const char *text) {
    const struct json *found = pointer_b ? json_path(value, pointer_a, pointer_b, NULL) : json_get(value, pointer_a);
    assert_string_equal(json_string_or(found, "(absent)"), text);
}

// The count in the series of the last request; 0: it has no series.
static int64_t series_count(struct fixture *f) {
    AUTO_JSON value = body(f);
    return json_int64(json_path(value, "series", "count", NULL), 0);
}

static void the_first_occurrence_is_created_with_all_that_the_api_requires(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    assert_int_equal(f.fake.count, 1);
    assert_int_equal(fake_last(&f.fake)->request.method, HTTP_POST);
    assert_string_equal(fake_last(&f.fake)->request.path, CREATE_PATH);
    AUTO_JSON value = body(&f);
    expect_text(value, "apiVersion", NULL, "events.k8s.io/v1");
    expect_text(value, "kind", NULL, "Event");
    expect_text(value, "metadata", "namespace", "n");
    assert_true(text_has_prefix(json_string(json_path(value, "metadata", "name", NULL)), "a.1886"));
    expect_text(value, "eventTime", NULL, "2026-01-02T03:04:05.000000Z");
    expect_text(value, "type", NULL, "Normal");
    expect_text(value, "reason", NULL, "Placed");
    expect_text(value, "action", NULL, "Place");
    expect_text(value, "note", NULL, "placed in w1");
    expect_text(value, "reportingController", NULL, "wharf.dev/host");
    expect_text(value, "reportingInstance", NULL, "host-1");
    expect_text(value, "regarding", "apiVersion", "batch/v1");
    expect_text(value, "regarding", "kind", "Job");
    expect_text(value, "regarding", "namespace", "n");
    expect_text(value, "regarding", "name", "a");
    expect_text(value, "regarding", "uid", "u1");
    assert_null(json_get(value, "series"));
    end(&f);
}

static void what_acts_on_a_terminal_is_escaped_as_in_the_log(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    struct event event = placed;
    event.warning = true;
    event.reason = "Bad\x1b[2J";
    event.note = "rejected:\x1b[31m red\r\nWARN forged \xe2\x80\xae txt.exe \xc2\x9b \xef\xbb\xbf \xff \xc3\xa9";
    record(&f, &event);
    AUTO_JSON value = body(&f);
    expect_text(value, "reason", NULL, "Bad\\u001b[2J");
    expect_text(value, "note", NULL,
                "rejected:\\u001b[31m red  WARN forged \\u202e txt.exe \\u009b \\ufeff \xEF\xBF\xBD \xc3\xa9");
    end(&f);
}

static void an_event_about_a_cluster_scoped_object_lives_in_default(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    struct event event = placed;
    event.namespace_ = "";
    event.warning = true;
    record(&f, &event);
    AUTO_JSON value = body(&f);
    expect_text(value, "metadata", "namespace", "default");
    expect_text(value, "type", NULL, "Warning");
    assert_null(json_path(value, "regarding", "namespace", NULL));
    end(&f);
}

static void repeats_become_one_series_that_is_written_seldom(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    answer(&f, 201);
    pass(&f, CLOCK_SECOND);
    record(&f, &placed);
    assert_int_equal(f.fake.count, 2);
    assert_int_equal(fake_last(&f.fake)->request.method, HTTP_PATCH);
    AUTO_JSON patch = body(&f);
    assert_int_equal(json_size(patch), 1);
    expect_text(patch, "series", "lastObservedTime", "2026-01-02T03:04:06.000000Z");
    assert_int_equal(series_count(&f), 2);
    answer(&f, 200);
    for (int minute = 0; minute < 29; minute++) {
        pass(&f, CLOCK_MINUTE);
        record(&f, &placed);
    }
    assert_int_equal(f.fake.count, 2);
    pass(&f, CLOCK_MINUTE);
    assert_int_equal(f.fake.count, 3); // half an hour after the last write
    assert_int_equal(series_count(&f), 31);
    answer(&f, 200);
    pass(&f, CLOCK_SECOND);
    record(&f, &placed);
    pass(&f, 6 * CLOCK_MINUTE - 1);
    assert_int_equal(f.fake.count, 3);
    pass(&f, 1);
    assert_int_equal(f.fake.count, 4); // six minutes after the last occurrence
    assert_int_equal(series_count(&f), 32);
    answer(&f, 200);
    assert_int_equal(f.next_ns, CLOCK_NEVER);
    pass(&f, CLOCK_MINUTE);
    record(&f, &placed); // a new event
    assert_int_equal(fake_last(&f.fake)->request.method, HTTP_POST);
    assert_int_equal(series_count(&f), 0);
    end(&f);
}

static void an_event_that_does_not_repeat_is_forgotten_after_six_minutes(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    answer(&f, 201);
    assert_int_equal(f.next_ns, 6 * CLOCK_MINUTE);
    pass(&f, 6 * CLOCK_MINUTE);
    assert_int_equal(f.next_ns, CLOCK_NEVER);
    assert_int_equal(f.fake.count, 1);
    assert_int_equal(recorder_dropped(f.recorder), 0);
    end(&f);
}

static void repeats_during_a_request_are_counted_and_written_after_it(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    record(&f, &placed);
    record(&f, &placed);
    assert_int_equal(f.fake.count, 1);
    answer(&f, 201);
    assert_int_equal(f.fake.count, 2);
    assert_int_equal(series_count(&f), 3);
    record(&f, &placed);
    answer(&f, 200);
    assert_int_equal(f.fake.count, 2); // the fourth waits for its time
    pass(&f, 6 * CLOCK_MINUTE);
    assert_int_equal(series_count(&f), 4);
    end(&f);
}

static void repeats_before_the_first_request_are_created_as_a_series(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    recorder_event(f.recorder, now(&f), &placed);
    recorder_event(f.recorder, now(&f), &placed);
    tick(&f);
    assert_int_equal(series_count(&f), 2);
    answer(&f, 201);
    assert_int_equal(f.fake.count, 1);
    end(&f);
}

static void a_series_that_expired_on_the_server_is_created_anew_with_its_count(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    answer(&f, 201);
    record(&f, &placed);
    fake_answer(&f.fake, f.fake.count, 404,
                "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"x\",\"kind\":\"events\"}}");
    tick(&f);
    assert_int_equal(fake_last(&f.fake)->request.method, HTTP_POST);
    assert_int_equal(series_count(&f), 2);
    AUTO_JSON value = body(&f);
    expect_text(value, "note", NULL, "placed in w1");
    end(&f);
}

static void what_differs_is_another_event(void **state) {
    (void)state;
    struct event others[] = {placed, placed, placed, placed, placed, placed, placed, placed};
    others[0].warning = true;
    others[1].reason = "Other";
    others[2].action = "Other";
    others[3].uid = "u2";
    others[4].name = "b";
    others[5].namespace_ = "m";
    others[6].kind = "Other";
    others[7].note = "in other words";
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    answer(&f, 201);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        record(&f, &others[i]);
        assert_int_equal(f.fake.count, 2 + i);
        assert_int_equal(fake_last(&f.fake)->request.method, HTTP_POST);
        answer(&f, 201);
    }
    record(&f, &placed);
    assert_int_equal(fake_last(&f.fake)->request.method, HTTP_PATCH);
    end(&f);
}

static void trouble_is_retried_twelve_times_and_a_rejection_never(void **state) {
    (void)state;
    static const struct {
        int status;
        size_t tries;
    } cases[] = {{500, 12}, {503, 12}, {429, 12}, {504, 12}, {0, 12}, {400, 1}, {403, 1}, {404, 1}, {422, 1}, {401, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        begin(&f);
        record(&f, &placed);
        while (fake_last(&f.fake)->live) {
            if (cases[i].status == 0) {
                fake_refuse(&f.fake, f.fake.count);
                tick(&f);
            } else {
                answer(&f, cases[i].status);
            }
            if (f.next_ns != CLOCK_NEVER) {
                assert_in_range(f.next_ns - f.now_ns, 10 * CLOCK_SECOND, 11 * CLOCK_SECOND);
                pass(&f, f.next_ns - f.now_ns);
            }
        }
        assert_int_equal(f.fake.count, cases[i].tries);
        assert_int_equal(recorder_dropped(f.recorder), 1);
        end(&f);
    }
}

static void a_second_try_of_a_create_that_took_effect_is_success(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record(&f, &placed);
    fake_break(&f.fake, 1, 0);
    tick(&f);
    pass(&f, 11 * CLOCK_SECOND);
    assert_string_equal(fake_at(&f.fake, 2)->request.body, fake_at(&f.fake, 1)->request.body);
    answer(&f, 409);
    record(&f, &placed);
    assert_int_equal(fake_last(&f.fake)->request.method, HTTP_PATCH);
    assert_int_equal(recorder_dropped(f.recorder), 0);
    end(&f);
}

// Occurrences that each need a request: rejected ones leave nothing behind.
static size_t rejected(struct fixture *f, size_t times) {
    size_t before = f->fake.count;
    for (size_t i = 0; i < times; i++) {
        record(f, &placed);
        if (fake_last(&f->fake)->live)
            answer(f, 403);
    }
    return f->fake.count - before;
}

static void an_object_and_reason_have_a_burst_of_25_and_then_one_in_five_minutes(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(rejected(&f, 40), 25);
    assert_int_equal(recorder_dropped(f.recorder), 40);
    pass(&f, 299 * CLOCK_SECOND);
    assert_int_equal(rejected(&f, 1), 0);
    pass(&f, CLOCK_SECOND);
    assert_int_equal(rejected(&f, 2), 1);
    struct event other = placed;
    other.name = "b";
    record(&f, &other);
    assert_true(fake_last(&f.fake)->live);
    end(&f);
}

static void a_note_is_cut_at_1024_bytes_and_at_a_whole_character(void **state) {
    (void)state;
    char note[1100];
    memset(note, 'x', sizeof(note));
    memcpy(note + 1022, "\xe2\x82\xac", 3); // its bytes 1022 to 1024
    note[sizeof(note) - 1] = '\0';
    struct event event = placed;
    event.note = note;
    event.reason = note + 1030; // not over 128
    event.action = note;
    struct fixture f;
    begin(&f);
    record(&f, &event);
    AUTO_JSON value = body(&f);
    assert_int_equal(strlen(json_string(json_get(value, "note"))), 1022);
    assert_int_equal(strlen(json_string(json_get(value, "action"))), 128);
    end(&f);
}

static void a_note_that_is_no_utf8_is_made_to_be(void **state) {
    (void)state;
    struct event event = placed;
    event.note = "a\xff\xc3\xa9\xed\xa0\x80\"\n";
    struct fixture f;
    begin(&f);
    record(&f, &event);
    AUTO_JSON value = body(&f);
    expect_text(value, "note", NULL, "a\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\" ");
    end(&f);
}

static void names_are_unique_valid_and_the_same_for_the_same_seed(void **state) {
    (void)state;
    char long_name[254];
    memset(long_name, 'x', 253);
    long_name[253] = '\0';
    const char *const objects[] = {"a", "a", "system:node", long_name};
    char names[2][4][300];
    for (size_t run = 0; run < 2; run++) {
        struct fixture f;
        begin(&f);
        for (size_t i = 0; i < 4; i++) {
            struct event event = placed;
            event.name = objects[i];
            event.uid = i == 1 ? "u2" : "u1";
            record(&f, &event);
            AUTO_JSON value = body(&f);
            const char *name = json_string(json_path(value, "metadata", "name", NULL));
            assert_true(text_is_dns_subdomain(name));
            text_copy(names[run][i], sizeof(names[run][i]), name);
            answer(&f, 201);
        }
        end(&f);
    }
    assert_string_not_equal(names[0][0], names[0][1]);
    assert_int_equal(strlen(names[0][2]), 36);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(names[0][i], names[1][i]);
}

static void an_event_without_its_words_is_dropped(void **state) {
    (void)state;
    struct event cases[] = {placed, placed, placed};
    cases[0].reason = "";
    cases[1].action = "";
    cases[2].name = "";
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < 3; i++)
        record(&f, &cases[i]);
    assert_int_equal(f.fake.count, 0);
    assert_int_equal(recorder_dropped(f.recorder), 3);
    end(&f);
}

static void record_many(struct fixture *f, size_t count) {
    char uid[32];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(uid, sizeof(uid), "many-%zu", i);
        struct event event = placed;
        event.uid = uid;
        recorder_event(f->recorder, now(f), &event);
    }
    tick(f);
}

static void what_is_too_much_is_dropped_and_few_requests_are_under_way(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record_many(&f, 1500);
    assert_int_equal(recorder_dropped(f.recorder), 500);
    assert_int_equal(client_pending(f.client), 1);
    for (size_t i = 1; i <= 1000; i++) {
        fake_answer(&f.fake, i, 201, OBJECT);
        tick(&f);
        assert_true(client_pending(f.client) <= 1);
    }
    assert_int_equal(f.fake.count, 1000);
    // All that are there have been written: a new one takes the place of the oldest.
    record(&f, &placed);
    assert_int_equal(f.fake.count, 1001);
    assert_int_equal(recorder_dropped(f.recorder), 500);
    end(&f);
}

static void nothing_is_left_when_it_goes_with_requests_under_way(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    record_many(&f, 20);
    assert_int_equal(client_pending(f.client), 1);
    end(&f); // checks that the client has none left
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_occurrence_is_created_with_all_that_the_api_requires),
        cmocka_unit_test(what_acts_on_a_terminal_is_escaped_as_in_the_log),
        cmocka_unit_test(an_event_about_a_cluster_scoped_object_lives_in_default),
        cmocka_unit_test(repeats_become_one_series_that_is_written_seldom),
        cmocka_unit_test(an_event_that_does_not_repeat_is_forgotten_after_six_minutes),
        cmocka_unit_test(repeats_during_a_request_are_counted_and_written_after_it),
        cmocka_unit_test(repeats_before_the_first_request_are_created_as_a_series),
        cmocka_unit_test(a_series_that_expired_on_the_server_is_created_anew_with_its_count),
        cmocka_unit_test(what_differs_is_another_event),
        cmocka_unit_test(trouble_is_retried_twelve_times_and_a_rejection_never),
        cmocka_unit_test(a_second_try_of_a_create_that_took_effect_is_success),
        cmocka_unit_test(an_object_and_reason_have_a_burst_of_25_and_then_one_in_five_minutes),
        cmocka_unit_test(a_note_is_cut_at_1024_bytes_and_at_a_whole_character),
        cmocka_unit_test(a_note_that_is_no_utf8_is_made_to_be),
        cmocka_unit_test(names_are_unique_valid_and_the_same_for_the_same_seed),
        cmocka_unit_test(an_event_without_its_words_is_dropped),
        cmocka_unit_test(what_is_too_much_is_dropped_and_few_requests_are_under_way),
        cmocka_unit_test(nothing_is_left_when_it_goes_with_requests_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
