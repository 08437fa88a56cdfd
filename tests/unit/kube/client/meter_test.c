// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"

#include "core/base/clock.h"
#include "tests/unit/kube/fake_transport.h"

static struct meter_reading read(const struct meter *meter) {
    struct meter_reading reading;
    meter_read(meter, &reading);
    return reading;
}

static void a_request_is_counted_by_verb_and_code_in_the_bucket_of_its_time(void **state) {
    (void)state;
    struct meter meter = {0};
    meter_request(&meter, METER_CREATE, 201, 5 * CLOCK_MS); // a bound belongs to its bucket
    meter_request(&meter, METER_CREATE, 201, 5 * CLOCK_MS + 1);
    meter_request(&meter, METER_CREATE, 201, CLOCK_MINUTE);
    meter_request(&meter, METER_GET, 0, CLOCK_MS);
    meter_request(NULL, METER_GET, 200, CLOCK_MS);
    struct meter_reading reading = read(&meter);
    assert_int_equal(reading.n_series, 2);
    assert_int_equal(reading.series[0].verb, METER_CREATE);
    assert_int_equal(reading.series[0].code, 201);
    assert_int_equal(reading.series[0].buckets[0], 1);
    assert_int_equal(reading.series[0].buckets[1], 1);
    assert_int_equal(reading.series[0].buckets[METER_BUCKETS - 1], 1);
    assert_int_equal(reading.series[0].sum_ns, CLOCK_MINUTE + 10 * CLOCK_MS + 1);
    assert_int_equal(reading.series[1].verb, METER_GET);
    assert_int_equal(reading.series[1].code, 0);
}

static void verbs_and_codes_beyond_the_bound_are_counted_together(void **state) {
    (void)state;
    struct meter meter = {0};
    for (int code = 400; code < 500; code++)
        meter_request(&meter, METER_PATCH, code, CLOCK_MS);
    meter_request(&meter, METER_PATCH, 400, CLOCK_MS);
    struct meter_reading reading = read(&meter);
    assert_int_equal(reading.n_series, METER_SERIES);
    assert_int_equal(reading.series[0].buckets[0], 2);
    assert_int_equal(reading.series[METER_SERIES - 1].verb, METER_OTHER);
    assert_int_equal(reading.series[METER_SERIES - 1].buckets[0], 100 - (METER_SERIES - 1));
}

static double recent_ms(const struct meter *meter, int64_t now_ns, double part) {
    struct histogram recent;
    meter_recent(meter, now_ns, &recent);
    return (double)histogram_quantile(&recent, METER_RECENT_NS, part) / 1e6;
}

static void recent_durations_forget_those_of_a_while_ago(void **state) {
    (void)state;
    static const struct {
        int64_t after_s;
        double least_ms, most_ms; // of the median
    } cases[] = {{0, 64, 128}, {29, 64, 128}, {59, 64, 128}, {90, 0, 0}, {120, 0, 0}, {100000, 0, 0}};
    int64_t begin_ns = 4321 * METER_SPAN_NS;
    struct meter meter = {0};
    assert_true(recent_ms(&meter, begin_ns, 0.5) == 0);
    for (size_t i = 0; i < 100; i++)
        meter_answered(&meter, begin_ns, 100 * CLOCK_MS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double median_ms = recent_ms(&meter, begin_ns + cases[i].after_s * CLOCK_SECOND, 0.5);
        assert_true(median_ms >= cases[i].least_ms && median_ms <= cases[i].most_ms);
    }
    // The server has become fast: nothing of the slow time is left after it has passed by.
    for (int64_t s = 1; s <= 95; s++)
        meter_answered(&meter, begin_ns + s * CLOCK_SECOND, 2 * CLOCK_MS);
    assert_true(recent_ms(&meter, begin_ns + 60 * CLOCK_SECOND, 0.99) > 64);
    assert_true(recent_ms(&meter, begin_ns + 95 * CLOCK_SECOND, 0.99) <= 2);
    // The span that all began with is used again.
    meter_answered(&meter, begin_ns + METER_SPANS * METER_SPAN_NS, CLOCK_MS);
    assert_true(recent_ms(&meter, begin_ns + (METER_SPANS + 2) * METER_SPAN_NS, 0.99) <= 1);
    meter_answered(NULL, begin_ns, CLOCK_MS);
}

static void a_quantile_is_interpolated_within_its_bucket(void **state) {
    (void)state;
    struct histogram histogram = {.buckets = {0, 50, 25, 25}}; // up to 2, 4 and 8 ms
    static const struct {
        double part;
        int64_t wanted_ns;
    } cases[] = {{0.25, CLOCK_MS * 3 / 2},
                 {0.5, 2 * CLOCK_MS},
                 {0.75, 4 * CLOCK_MS},
                 {0.875, 6 * CLOCK_MS},
                 {1.0, 8 * CLOCK_MS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(histogram_quantile(&histogram, CLOCK_MS, cases[i].part), cases[i].wanted_ns);
    histogram.buckets[HISTOGRAM_BUCKETS - 1] = 1000; // has no bound of its own
    assert_int_equal(histogram_quantile(&histogram, CLOCK_MS, 0.5), CLOCK_MS << (HISTOGRAM_BUCKETS - 2));
}

static void ignore(void *ctx, struct response *response) {
    (void)ctx;
    (void)response;
}

static void a_client_counts_each_exchange_also_one_without_a_response(void **state) {
    (void)state;
    struct meter meter = {0};
    struct fake_transport fake;
    fake_init(&fake);
    fake.can_refresh = true;
    struct client *client;
    struct client_options options = {.cluster = "w1", .transport = &fake.base, .meter = &meter};
    assert_null(client_new(&options, &client));
    struct request request = {.verb = VERB_STATUS_PATCH,
                              .resource = {"batch", "v1", "jobs", false},
                              .namespace_ = "n",
                              .name = "a",
                              .body = "{}",
                              .body_len = 2};
    assert_null(client_submit(client, &request, ignore, NULL, NULL));
    client_tick(client, (struct moment){0});
    fake_answer(&fake, 1, 401, "{}"); // sent once more, with other credentials
    client_tick(client, (struct moment){0});
    fake_refuse(&fake, 2);
    struct meter_reading reading = read(&meter);
    assert_int_equal(reading.n_series, 2);
    assert_int_equal(reading.series[0].verb, METER_PATCH_STATUS);
    assert_int_equal(reading.series[0].code, 401);
    assert_int_equal(reading.series[1].code, 0);
    for (size_t i = 0; i < 2; i++) {
        uint64_t count = 0;
        for (size_t b = 0; b < METER_BUCKETS; b++)
            count += reading.series[i].buckets[b];
        assert_int_equal(count, 1);
        assert_in_range(reading.series[i].sum_ns, 0, CLOCK_SECOND);
    }
    struct histogram recent; // the one that got a response
    meter_recent(&meter, clock_now().mono_ns, &recent);
    uint64_t answered = 0;
    for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++)
        answered += recent.buckets[b];
    assert_int_equal(answered, 1);
    client_free(client);
    fake_free(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_counted_by_verb_and_code_in_the_bucket_of_its_time),
        cmocka_unit_test(verbs_and_codes_beyond_the_bound_are_counted_together),
        cmocka_unit_test(recent_durations_forget_those_of_a_while_ago),
        cmocka_unit_test(a_quantile_is_interpolated_within_its_bucket),
        cmocka_unit_test(a_client_counts_each_exchange_also_one_without_a_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
