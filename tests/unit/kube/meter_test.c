// SPDX-License-Identifier: Apache-2.0
#include "core/kube/meter.h"

#include "core/base/clock.h"
#include "core/kube/client.h"
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
    client_free(client);
    fake_free(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_counted_by_verb_and_code_in_the_bucket_of_its_time),
        cmocka_unit_test(verbs_and_codes_beyond_the_bound_are_counted_together),
        cmocka_unit_test(a_client_counts_each_exchange_also_one_without_a_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
