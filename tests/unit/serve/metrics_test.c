// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include "core/base/text.h"
#include "snapshot.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char *printed(const struct fake *fake) {
    struct metrics_process process = {.resident_bytes = 4096, .cpu_seconds = 1.5, .start_seconds = 1767323045.25};
    struct buffer out;
    buffer_init(&out, 1 << 20);
    assert_null(metrics_print(&fake->snapshot, &process, &out));
    char *text = buffer_take(&out, NULL);
    assert_non_null(text);
    return text;
}

static void assert_line(const char *text, const char *line) {
    size_t len = strlen(line);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, line, len) == 0 && at[len] == '\n')
            return;
    fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void accounts_are_as_old_as_their_lag_and_never_fall(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    static const char *resources[] = {"cpu", "nvidia.com/gpu"};
    static const struct account_value counted[] = {{10, 1, 0}, {-20, 0.5, 7.5}, {0, 0, 0}};
    struct account_row rows[] = {
        {.namespace_ = "team", .kind = "jobs.batch", .cluster = "w1", .counts = true, .counted = counted},
        {.namespace_ = "", .kind = "", .cluster = "", .counts = true, .counted = counted},
        {.namespace_ = "gone", .kind = "jobs.batch", .cluster = "w1", .counted = counted}};
    struct account_sums sums = {
        .begun_ns = 1000 * CLOCK_SECOND, .n_resources = 2, .resources = resources, .n_rows = 3, .rows = rows};
    fake.snapshot.stats.accounts = &sums;
    fake.snapshot.taken.mono_ns = 1021 * CLOCK_SECOND;
    char *text = printed(&fake);
    assert_line(text, "wharf_workload_seconds_total{namespace=\"team\",kind=\"jobs.batch\",cluster=\"w1\"} 30");
    assert_line(text, "wharf_workload_seconds_total{namespace=\"\",kind=\"\",cluster=\"\"} 30");
    assert_line(text, "wharf_resource_seconds_total{namespace=\"team\",kind=\"jobs.batch\",cluster=\"w1\","
                      "resource=\"cpu\"} 7.5");
    assert_null(strstr(text, "nvidia.com/gpu"));
    assert_null(strstr(text, "\"gone\"")); // nothing was counted there
    free(text);
}

static void what_was_counted_is_printed_under_its_labels(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    fake.clusters[0].answers[VERB_STATUS_PATCH][REASON_OK] = 7;
    fake.clusters[1].answers[VERB_CREATE][REASON_ALREADY_EXISTS] = 2;
    fake.clusters[1].sent[VERB_CREATE] = 3;
    fake.clusters[2].active = 5;
    fake.clusters[2].mirrors = 6;
    fake.feeds[1][0] = (struct stats_watch){REFLECTOR_LOST, .seen = 11, .gone = 12, .lists = 13, .losses = 14};
    fake.feeds[2][0].eligible = true;
    fake.clusters[2].policy = WORKER_DRAIN_MOVE;
    fake.clusters[2].leaving = true;
    fake.kind_stats[0] =
        (struct stats_kind){.phases = {1, 2, 3, 4, 5}, .adapter_errors = 8, .failures = {3, 2, 1}, .aside = 4};
    struct stats *stats = &fake.snapshot.stats;
    stats->placements = 21;
    stats->replacements = 22;
    stats->unscored = 24;
    stats->conflicts = 23;
    stats->orphans = 24;
    stats->events = 25;
    stats->queued = 26;
    fake.snapshot.workloads = 27;
    stats->unknown[0] = (struct stats_unknown){"w9", 28};
    stats->n_unknown = 1;
    stats->unknown_rest = 29;
    char *text = printed(&fake);
    static const char *const lines[] = {
        "wharf_requests_total{cluster=\"management\",verb=\"patch_status\",reason=\"OK\"} 7",
        "wharf_requests_total{cluster=\"w1\",verb=\"create\",reason=\"AlreadyExists\"} 2",
        "wharf_requests_sent_total{cluster=\"w1\",verb=\"create\"} 3",
        "wharf_worker_active_workloads{cluster=\"w2\"} 5",
        "wharf_worker_mirrors{cluster=\"w2\"} 6",
        "wharf_worker_eligible{cluster=\"w1\",kind=\"jobs.batch\"} 0",
        "wharf_worker_eligible{cluster=\"w2\",kind=\"jobs.batch\"} 1",
        "wharf_watch_state{cluster=\"w1\",kind=\"jobs.batch\",state=\"lost\"} 1",
        "wharf_watch_state{cluster=\"w1\",kind=\"jobs.batch\",state=\"connected\"} 0",
        "wharf_watch_state{cluster=\"w2\",kind=\"jobs.batch\",state=\"connected\"} 1",
        "wharf_watch_objects_seen_total{cluster=\"w1\",kind=\"jobs.batch\"} 11",
        "wharf_watch_objects_gone_total{cluster=\"w1\",kind=\"jobs.batch\"} 12",
        "wharf_watch_lists_total{cluster=\"w1\",kind=\"jobs.batch\"} 13",
        "wharf_watch_losses_total{cluster=\"w1\",kind=\"jobs.batch\"} 14",
        "wharf_workloads{kind=\"jobs.batch\",phase=\"pending\"} 1",
        "wharf_workloads{kind=\"jobs.batch\",phase=\"suspended\"} 2",
        "wharf_workloads{kind=\"jobs.batch\",phase=\"active\"} 3",
        "wharf_workloads{kind=\"jobs.batch\",phase=\"succeeded\"} 4",
        "wharf_workloads{kind=\"jobs.batch\",phase=\"failed\"} 5",
        "wharf_adapter_errors_total{kind=\"jobs.batch\"} 8",
        "wharf_adapter_failures_total{adapter=\"\",kind=\"jobs.batch\",reason=\"limit\"} 2",
        "wharf_workloads_set_aside{kind=\"jobs.batch\"} 4",
        "wharf_placements_total 21",
        "wharf_replacements_total 22",
        "wharf_placements_unscored_total 24",
        "wharf_conflicts_total 23",
        "wharf_orphans_deleted_total 24",
        "wharf_events_recorded_total 25",
        "wharf_queue_length 26",
        "wharf_tracked_objects 27",
        "wharf_workloads_on_unknown_worker{cluster=\"w9\"} 28",
        "wharf_workloads_on_unknown_worker{cluster=\"others\"} 29",
        "wharf_worker_policy{cluster=\"w1\",policy=\"active\"} 1",
        "wharf_worker_policy{cluster=\"w2\",policy=\"active\"} 0",
        "wharf_worker_policy{cluster=\"w2\",policy=\"drain_move\"} 1",
        "wharf_worker_leaving{cluster=\"w1\"} 0",
        "wharf_worker_leaving{cluster=\"w2\"} 1",
        "wharf_in_sync 1",
        // NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
        "wharf_build_info{version=\"" WHARF_VERSION "\",abi=\"1.2\"} 1",
        "process_resident_memory_bytes 4096",
        "process_cpu_seconds_total 1.5",
        "process_start_time_seconds 1767323045.25",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_line(text, lines[i]);
    assert_null(strstr(text, "wharf_worker_mirrors{cluster=\"management\"}"));
    free(text);
}

static void what_was_refused_and_dropped_is_printed_by_its_reason(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    text_copy(fake.clusters[2].refused, sizeof fake.clusters[2].refused, "another cluster");
    static const enum meter_pods dropped[] = {METER_PODS_OTHER, METER_PODS_LIMITED, METER_PODS_CROWDED,
                                              METER_PODS_UNREAD};
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        fake.readings[1].meter.pod_events[dropped[i]] = 31 + i;
    fake.clusters[1].pod_reports_refused = 35;
    char *text = printed(&fake);
    static const char *const lines[] = {
        "wharf_cluster_refused{cluster=\"w1\"} 0",
        "wharf_cluster_refused{cluster=\"w2\"} 1",
        "wharf_pod_events_dropped_total{cluster=\"w1\",reason=\"not-of-a-mirror\"} 31",
        "wharf_pod_events_dropped_total{cluster=\"w1\",reason=\"limit\"} 32",
        "wharf_pod_events_dropped_total{cluster=\"w1\",reason=\"crowded\"} 33",
        "wharf_pod_events_dropped_total{cluster=\"w1\",reason=\"unreadable\"} 34",
        "wharf_pod_events_dropped_total{cluster=\"w1\",reason=\"host-limit\"} 35",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_line(text, lines[i]);
    free(text);
}

static void what_nodes_have_left_is_printed_where_they_are_looked_at(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    char *text = printed(&fake);
    assert_null(strstr(text, "wharf_worker_capacity_known"));
    free(text);
    fake.clusters[1].capacity = (struct stats_capacity){
        .state = CAPACITY_KNOWN, .nodes = 3, .n_resources = 2, .resources = {{"cpu", 12500, 500}, {"memory", 64, -1}}};
    fake.clusters[2].capacity.state = CAPACITY_UNKNOWN;
    text = printed(&fake);
    static const char *const lines[] = {
        "wharf_worker_capacity_known{cluster=\"w1\"} 1",
        "wharf_worker_capacity_known{cluster=\"w2\"} 0",
        "wharf_worker_nodes{cluster=\"w1\"} 3",
        "wharf_worker_allocatable{cluster=\"w1\",resource=\"cpu\"} 12.5",
        "wharf_worker_unused{cluster=\"w1\",resource=\"cpu\"} 0.5",
        "wharf_worker_unused{cluster=\"w1\",resource=\"memory\"} -1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_line(text, lines[i]);
    free(text);
}

static void the_histogram_is_cumulative_and_in_seconds(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    struct stats *stats = &fake.snapshot.stats;
    stats->status_latency.buckets[0] = 4;
    stats->status_latency.buckets[5] = 2; // up to 32 * 50 us
    stats->status_latency.buckets[HISTOGRAM_BUCKETS - 1] = 1;
    stats->status_latency.sum_ns = 2500000000;
    char *text = printed(&fake);
    assert_line(text, "wharf_status_latency_seconds_bucket{le=\"5e-05\"} 4");
    assert_line(text, "wharf_status_latency_seconds_bucket{le=\"0.0008\"} 4");
    assert_line(text, "wharf_status_latency_seconds_bucket{le=\"0.0016\"} 6");
    assert_line(text, "wharf_status_latency_seconds_bucket{le=\"0.8192\"} 6");
    assert_line(text, "wharf_status_latency_seconds_bucket{le=\"+Inf\"} 7");
    assert_line(text, "wharf_status_latency_seconds_sum 2.5");
    assert_line(text, "wharf_status_latency_seconds_count 7");
    free(text);
}

// Of what is omitted while it is 0.
static void count_a_bit(struct fake *fake) {
    fake->kind_stats[0].calls[FUNCTION_STATUS] = (struct call_time){3, 1500000};
    struct meter_reading *meter = &fake->readings[1].meter;
    meter->expires_ns = CLOCK_SECOND;
    meter->series[meter->n_series++] = (struct meter_series){
        .verb = METER_CREATE, .code = 201, .buckets = {2, 1, 0, 0, 0, 0, 1}, .sum_ns = 12 * CLOCK_SECOND};
    meter->series[meter->n_series++] = (struct meter_series){.verb = METER_LIST, .buckets = {1}};
    meter->series[meter->n_series++] = (struct meter_series){.verb = METER_OTHER, .buckets = {0, 5}};
}

static void what_is_measured_is_printed_in_seconds(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    count_a_bit(&fake);
    fake.readings[2] = (struct cluster_reading){
        .meter.restarts = 3, .silence_ns = 2500 * CLOCK_MS, .inbox = 17, .inbox_since_ns = 40 * CLOCK_MS};
    fake.readings[0].meter.events_lost = 9;
    fake.readings[1].meter.expires_ns = 1767323045 * CLOCK_SECOND;
    fake.snapshot.stats.unplaced[WAITING_NO_WORKER] = 4;
    fake.snapshot.stats.unplaced[WAITING_NOT] = 2;
    fake.snapshot.stats.dispatch_latency = (struct histogram){.buckets = {0, 2}, .sum_ns = 3 * CLOCK_MS};
    fake.snapshot.steps = (struct histogram){.buckets = {5, 0, 1}, .sum_ns = CLOCK_MS / 20};
    char *text = printed(&fake);
    static const char *const lines[] = {
        "wharf_request_duration_seconds_bucket{cluster=\"w1\",verb=\"create\",code=\"201\",le=\"0.005\"} 2",
        "wharf_request_duration_seconds_bucket{cluster=\"w1\",verb=\"create\",code=\"201\",le=\"10\"} 3",
        "wharf_request_duration_seconds_bucket{cluster=\"w1\",verb=\"create\",code=\"201\",le=\"+Inf\"} 4",
        "wharf_request_duration_seconds_sum{cluster=\"w1\",verb=\"create\",code=\"201\"} 12",
        "wharf_request_duration_seconds_count{cluster=\"w1\",verb=\"create\",code=\"201\"} 4",
        "wharf_request_duration_seconds_count{cluster=\"w1\",verb=\"list\",code=\"none\"} 1",
        "wharf_request_duration_seconds_count{cluster=\"w1\",verb=\"other\",code=\"other\"} 5",
        "wharf_adapter_call_duration_seconds_sum{kind=\"jobs.batch\",function=\"status\"} 0.0015",
        "wharf_adapter_call_duration_seconds_count{kind=\"jobs.batch\",function=\"status\"} 3",
        "wharf_cluster_silence_seconds{cluster=\"w2\"} 2.5",
        "wharf_client_certificate_expiry_timestamp_seconds{cluster=\"w1\"} 1767323045",
        "wharf_inbox_events{cluster=\"w2\"} 17",
        "wharf_inbox_oldest_age_seconds{cluster=\"w2\"} 0.04",
        "wharf_watch_restarts_total{cluster=\"w2\"} 3",
        "wharf_recorder_events_lost_total 9",
        "wharf_workloads_unplaced{reason=\"no-worker\"} 4",
        "wharf_workloads_unplaced{reason=\"turn\"} 2",
        "wharf_dispatch_latency_seconds_bucket{le=\"0.001\"} 0",
        "wharf_dispatch_latency_seconds_bucket{le=\"0.002\"} 2",
        "wharf_dispatch_latency_seconds_sum 0.003",
        "wharf_engine_step_duration_seconds_bucket{le=\"1e-05\"} 5",
        "wharf_engine_step_duration_seconds_bucket{le=\"4e-05\"} 6",
        "wharf_leader 1",
        "wharf_shards_held 0",
        "wharf_other_host 0",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_line(text, lines[i]);
    free(text);
}

// The family that a series belongs to: its name without labels, and without a histogram's endings.
static void family_of(const char *line, char *out, size_t size) {
    size_t len = strcspn(line, "{ ");
    static const char *const endings[] = {"_bucket", "_sum", "_count"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (len > ending && strncmp(line + len - ending, endings[i], ending) == 0)
            len -= ending;
    }
    assert_true(len > 0 && len < size);
    memcpy(out, line, len);
    out[len] = '\0';
}

static void every_series_follows_the_help_and_type_of_its_family(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    fake.clusters[0].answers[VERB_GET][REASON_OK] = 1;
    fake.clusters[0].sent[VERB_GET] = 1;
    count_a_bit(&fake);
    char *text = printed(&fake), *rest = NULL, name[128] = "", family[128], seen[8192] = " ";
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            size_t len = strcspn(line + 7, " ");
            assert_true(len < sizeof name && len > 0 && line[7 + len] == ' ' && line[7 + len + 1] != '\0');
            memcpy(name, line + 7, len);
            name[len] = '\0';
            char word[160];
            snprintf(word, sizeof word, " %s ", name);
            assert_null(strstr(seen, word)); // a family stands in one piece
            strncat(seen, word + 1, sizeof seen - strlen(seen) - 1);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_memory_equal(line + 7, name, strlen(name));
            const char *type = line + 7 + strlen(name) + 1;
            bool total = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;
            assert_int_equal(total, strcmp(type, "counter") == 0);
        } else {
            family_of(line, family, sizeof family);
            assert_string_equal(family, name);
            assert_true(isdigit((unsigned char)strrchr(line, ' ')[1]));
        }
    }
    free(text);
}

static void every_family_is_in_the_manual(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    struct buffer manual;
    buffer_init(&manual, 1 << 20);
    assert_null(text_read_file("docs/metrics.md", manual.max, &manual));
    char *text = printed(&fake), *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[128], type[128], row[300];
        if (sscanf(line, "# TYPE %127s %127s", name, type) != 2)
            continue;
        snprintf(row, sizeof row, "\n| `%s` | %s |", name, type);
        if (!strstr(manual.data, row))
            fail_msg("docs/metrics.md has no row for the %s %s", type, name);
    }
    free(text);
    buffer_free(&manual);
}

#define MANY 2000
#define MANY_RESOURCES 64

static void many_accounts_fit_the_answer(void **state) {
    (void)state;
    static const char *resources[MANY_RESOURCES];
    static struct account_value counted[MANY_RESOURCES + 1];
    static struct account_row rows[MANY];
    static char name[254];
    struct fake fake;
    fake_init(&fake);
    memset(name, 'x', sizeof name - 1);
    for (size_t i = 0; i <= MANY_RESOURCES; i++)
        counted[i].least = 12345678901234.5;
    for (size_t i = 0; i < MANY_RESOURCES; i++)
        resources[i] = name;
    for (size_t i = 0; i < MANY; i++)
        rows[i] = (struct account_row){
            .namespace_ = name + 190, .kind = name, .cluster = name + 190, .counts = true, .counted = counted};
    struct account_sums sums = {.n_resources = MANY_RESOURCES, .resources = resources, .n_rows = MANY, .rows = rows};
    fake.snapshot.stats.accounts = &sums;
    struct metrics_process process = {.resident_bytes = 1};
    AUTO_BUFFER(out, (size_t)16 << 20);
    assert_null(metrics_print(&fake.snapshot, &process, &out));
    size_t series = 0;
    for (const char *at = out.data; (at = strstr(at, "\nwharf_resource_seconds_total{")); at++)
        series++;
    assert_int_equal(series, 10000);
}

static void label_values_are_escaped(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    fake.names[1] = "a\"b\\c\nd";
    char *text = printed(&fake);
    assert_line(text, "wharf_worker_mirrors{cluster=\"a\\\"b\\\\c\\nd\"} 0");
    free(text);
}

static void what_does_not_fit_is_an_error(void **state) {
    (void)state;
    struct fake fake;
    fake_init(&fake);
    struct metrics_process process = {.resident_bytes = 0};
    struct buffer out;
    buffer_init(&out, 100);
    struct error *error = metrics_print(&fake.snapshot, &process, &out);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_LIMIT);
    error_free(error);
    buffer_free(&out);
}

// As many workers as docs/performance.md has, with every adapter's kinds, and all that is omitted while it is 0.
static void what_50_workers_count_fits_the_answer(void **state) {
    (void)state;
    enum { CLUSTERS = 51, KINDS = 18 };
    static struct stats_cluster clusters[CLUSTERS];
    static struct stats_watch watches[CLUSTERS][KINDS];
    static struct stats_kind kind_stats[KINDS];
    static struct cluster_reading readings[CLUSTERS];
    static const struct kind *kinds[KINDS];
    static const char *names[CLUSTERS];
    static char name[] = "a-name-that-is-as-long-as-a-name-of-a-worker-may-be-63-characters";
    struct kind kind = {.plural_group = name};
    memset(clusters, 1, sizeof clusters); // large numbers
    memset(kind_stats, 1, sizeof kind_stats);
    memset(readings, 1, sizeof readings);
    for (size_t c = 0; c < CLUSTERS; c++) {
        names[c] = name;
        clusters[c].watches = watches[c];
        clusters[c].vacant = false;
        clusters[c].capacity.n_resources = STATS_RESOURCES;
        for (size_t i = 0; i < STATS_RESOURCES; i++)
            text_copy(clusters[c].capacity.resources[i].name, sizeof clusters->capacity.resources->name, name);
        struct meter_reading *meter = &readings[c].meter;
        meter->n_series = METER_SERIES;
        for (size_t i = 0; i < METER_SERIES; i++) {
            meter->series[i].verb = METER_PATCH_STATUS;
            meter->series[i].code = 599;
        }
    }
    for (size_t k = 0; k < KINDS; k++)
        kinds[k] = &kind;
    struct host_snapshot snapshot = {
        .stats = {.clusters = clusters, .n_clusters = CLUSTERS, .kinds = kind_stats, .n_kinds = KINDS},
        .readings = readings,
        .names = names,
        .kinds = kinds};
    struct metrics_process process = {.resident_bytes = 0};
    struct buffer out;
    buffer_init(&out, (size_t)16 << 20); // BODY_MAX of the server
    assert_null(metrics_print(&snapshot, &process, &out));
    assert_in_range(out.len, 2 << 20, 8 << 20);
    buffer_free(&out);
}

static void the_process_is_described_as_the_system_sees_it(void **state) {
    (void)state;
    struct metrics_process process;
    metrics_process_read(&process);
    assert_true(process.resident_bytes > 100000);
    assert_true(process.cpu_seconds >= 0);
    double age = (double)time(NULL) - process.start_seconds;
    assert_true(age > -5 && age < 3600);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_as_old_as_their_lag_and_never_fall),
        cmocka_unit_test(what_was_counted_is_printed_under_its_labels),
        cmocka_unit_test(what_is_measured_is_printed_in_seconds),
        cmocka_unit_test(what_was_refused_and_dropped_is_printed_by_its_reason),
        cmocka_unit_test(what_nodes_have_left_is_printed_where_they_are_looked_at),
        cmocka_unit_test(the_histogram_is_cumulative_and_in_seconds),
        cmocka_unit_test(every_series_follows_the_help_and_type_of_its_family),
        cmocka_unit_test(every_family_is_in_the_manual),
        cmocka_unit_test(many_accounts_fit_the_answer),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(what_does_not_fit_is_an_error),
        cmocka_unit_test(what_50_workers_count_fits_the_answer),
        cmocka_unit_test(the_process_is_described_as_the_system_sees_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
