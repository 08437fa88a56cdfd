// SPDX-License-Identifier: Apache-2.0
// The running guard and one API server on virtual time: which mirrors it stops, and what it tells of those that it
// cannot stop.
#include "core/base/log.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"
#include "core/host/lease/guard_run.h"
#include "tests/unit/plugins/job_harness.h"
#include "tests/world/sim_transport.h"

#include <unistd.h>

#define START_NS (INT64_C(1767225600) * CLOCK_SECOND)
#define JOBS 12
#define MANY 3000

struct play {
    struct sim_net *net;
    struct world_cluster *world;
    struct transport *transport;
    struct kind *kind;
    struct guard_run *run;
    int64_t now_ns, due_ns;
    bool refuses, forbids; // to suspend them: now, or for ever
    bool keeps_leases;     // nobody may change those of the host
    struct buffer reports; // "2 1 0 ": how many mirrors each report had
};

static int admit(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    const struct play *play = ctx;
    if (play->keeps_leases && verb == WORLD_UPDATE && text_has_prefix(object_name(object), "wharf-fence-")) {
        snprintf(message, 256, "leases are forbidden");
        return 403;
    }
    if (play->forbids && verb == WORLD_UPDATE && strcmp(plural, "jobs") == 0) {
        snprintf(message, 256, "a policy forbids it");
        return 403;
    }
    if (!play->refuses || verb != WORLD_UPDATE || strcmp(plural, "jobs") != 0)
        return 0;
    snprintf(message, 256, "the webhook does not answer");
    return 500;
}

static void apply(struct play *play, const char *group, const char *plural, const char *text) {
    AUTO_JSON object = harness_json(text);
    assert_in_range(world_apply(play->world, group, plural, object, play->now_ns), 200, 201);
}

// A Lease of two shards; `held` false: it was given back.
static void put_lease(struct play *play, unsigned shard, bool held) {
    AUTO_TEXT text = text_format(
        "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'wharf-fence-here.%u-of-2',"
        "'namespace':'wharf-system','labels':{'wharf.dev/origin':'here'},'annotations':{'wharf.dev/shard':'%u-of-2'}},"
        "'spec':{'holderIdentity':'%s','leaseDurationSeconds':80}}",
        shard, shard, held ? "h" : "");
    apply(play, "coordination.k8s.io", "leases", text);
}

static void put_mirror(struct play *play, unsigned number) {
    AUTO_TEXT text = text_format(
        "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a-%u','namespace':'default','labels':{"
        "'wharf.dev/origin':'here','wharf.dev/uid':'w-%u','wharf.dev/kind':'jobs.batch'},'annotations':{"
        "'wharf.dev/attempt':'1'}},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c',"
        "'image':'i'}]}}}}",
        number, number);
    apply(play, "batch", "jobs", text);
}

static void take_report(void *ctx, const char *body, size_t len) {
    struct play *play = ctx;
    AUTO_JSON patch = NULL;
    assert_null(json_parse(body, len, &patch));
    buffer_printf(&play->reports, "%zu ", json_size(json_get(patch, "data")));
}

static void begin(struct play *play) {
    *play = (struct play){.now_ns = START_NS, .reports = {.max = 4096}};
    play->net = sim_net_new(7, START_NS);
    play->world = world_new(&(struct world_options){.name = "worker", .no_controllers = true}, START_NS);
    world_set_admission(play->world, admit, play);
    assert_null(kind_check(job_kind, NULL, "wharf.dev/host", &play->kind));
    apply(play, "", "namespaces", "{'metadata':{'name':'wharf-system'}}");
    for (unsigned i = 0; i < JOBS; i++)
        put_mirror(play, i);
    play->transport = sim_transport_new(play->net, play->world);
    struct guard_run_options options = {.guard = {.origin = "here", .namespace_ = "wharf-system", .identity = "g"},
                                        .transport = play->transport,
                                        .kinds = &play->kind,
                                        .n_kinds = 1,
                                        .seed = 1,
                                        .report = take_report,
                                        .report_ctx = play};
    assert_null(guard_run_new(&options, (struct moment){play->now_ns, play->now_ns}, &play->run));
}

static void end(struct play *play) {
    guard_run_free(play->run);
    play->transport->ops->free(play->transport);
    sim_net_free(play->net);
    world_free(play->world);
    kind_free(play->kind);
    buffer_free(&play->reports);
}

static void pass(struct play *play, int64_t ns) {
    for (int64_t end_ns = play->now_ns + ns; play->now_ns < end_ns;) {
        play->now_ns += 100 * CLOCK_MS;
        sim_net_advance(play->net, play->now_ns);
        (void)guard_run_tick(play->run, (struct moment){play->now_ns, play->now_ns});
    }
}

static const struct json *mirror(struct play *play, unsigned number) {
    char name[16];
    snprintf(name, sizeof name, "a-%u", number);
    return world_object(play->world, "batch", "jobs", "default", name);
}

static bool is_stopped(struct play *play, unsigned number) {
    return json_bool(pointer_find(mirror(play, number), "/spec/suspend"), false);
}

static uint32_t shard_of(unsigned number) {
    char key[24];
    snprintf(key, sizeof key, "default/a-%u", number);
    return shard_hash_at(shard_hash("jobs.batch", key), 2);
}

static void mirrors_are_stopped_shard_by_shard(void **state) {
    (void)state;
    struct play play;
    struct guard_status status;
    begin(&play);
    pass(&play, CLOCK_MINUTE);
    put_lease(&play, 0, true);
    pass(&play, CLOCK_MINUTE);
    put_lease(&play, 1, true); // expires later
    for (int expired = 0; expired < 3; expired++) {
        size_t stopped = 0;
        for (unsigned i = 0; i < JOBS; i++) {
            stopped += is_stopped(&play, i);
            assert_int_equal(is_stopped(&play, i), (int)shard_of(i) < expired);
        }
        guard_run_status(play.run, &status);
        assert_int_equal(status.missed, expired);
        assert_int_equal(status.suspended, stopped);
        assert_true(status.reachable);
        assert_non_null(strstr(status.late, "wharf-fence-here.0-of-2: not renewed since 2026-01-01T00:01:"));
        assert_int_equal(strstr(status.late, "0-of-2: not renewed since 2026-01-01T00:01") &&
                             strstr(status.late, "; its mirrors will be stopped at 2026-01-01T00:02:"),
                         expired == 0);
        pass(&play, CLOCK_MINUTE);
    }
    end(&play);
}

static size_t count(const char *text, const char *part) {
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static void read_log(int from, char *out, size_t size) {
    ssize_t len = read(from, out, size - 1);
    assert_true(len > 0);
    out[len] = '\0';
    close(from);
}

static void a_lease_that_cannot_be_given_back_is_logged_once(void **state) {
    (void)state;
    struct play play;
    struct guard_status status;
    int ends[2];
    char text[65536];
    begin(&play);
    put_lease(&play, 0, true);
    pass(&play, CLOCK_MINUTE);
    apply(&play, "coordination.k8s.io", "leases",
          "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'wharf-fence-here','namespace':"
          "'wharf-system','labels':{'wharf.dev/origin':'here'}},'spec':{'holderIdentity':'h',"
          "'leaseDurationSeconds':80}}");
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_TEXT, LOG_WARN);
    log_to(ends[1]);
    play.keeps_leases = true;
    pass(&play, CLOCK_MINUTE);
    play.keeps_leases = false;
    log_to(2);
    close(ends[1]);
    read_log(ends[0], text, sizeof text);
    guard_run_status(play.run, &status);
    assert_true(status.reachable);
    assert_int_equal(strncmp(status.unreturned, "wharf-fence-here.0-of-2: ", 25), 0);
    assert_non_null(strstr(status.unreturned, "leases are forbidden"));
    assert_int_equal(count(text, "a Lease of a former number of shards cannot be given back yet"), 1);
    pass(&play, 15 * CLOCK_SECOND);
    guard_run_status(play.run, &status);
    assert_string_equal(status.unreturned, "");
    end(&play);
}

static void mirrors_that_cannot_be_stopped_do_not_fill_the_log(void **state) {
    (void)state;
    struct play play;
    struct guard_status status;
    int ends[2];
    begin(&play);
    put_lease(&play, 0, true);
    put_lease(&play, 1, true);
    play.refuses = true;
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_TEXT, LOG_ERROR);
    log_to(ends[1]);
    pass(&play, 12 * CLOCK_MINUTE);
    log_to(2);
    close(ends[1]);
    char text[65536];
    read_log(ends[0], text, sizeof text);
    guard_run_status(play.run, &status);
    assert_true(status.failures > 1000); // 12 of them, every 2 s
    assert_int_equal(status.suspended, 0);
    assert_in_range(count(text, "the mirror cannot be stopped yet"), 6, 20);
    assert_non_null(strstr(text, "moreSinceLast=0"));
    assert_true(count(text, "moreSinceLast=") > count(text, "moreSinceLast=0"));
    play.refuses = false;
    pass(&play, 10 * CLOCK_SECOND);
    for (unsigned i = 0; i < JOBS; i++)
        assert_true(is_stopped(&play, i));
    end(&play);
}

// With many mirrors and a slow API server, until the host is missed and some are stopped.
static void begin_many(struct play *play, bool forbids) {
    begin(play);
    play->forbids = forbids;
    for (unsigned i = JOBS; i < MANY; i++)
        put_mirror(play, i);
    sim_net_set_faults(play->net,
                       &(struct sim_faults){.latency_min_ns = 25 * CLOCK_MS, .latency_max_ns = 225 * CLOCK_MS});
    put_lease(play, 0, true);
    put_lease(play, 1, true);
    struct guard_status status;
    do {
        pass(play, CLOCK_SECOND / 10);
        guard_run_status(play->run, &status);
        assert_true(play->now_ns < START_NS + 5 * CLOCK_MINUTE);
    } while (status.suspended + status.deleted == 0);
}

static struct guard_record record_of(struct play *play) {
    struct guard_record record;
    const struct json *lease =
        world_object(play->world, "coordination.k8s.io", "leases", "wharf-system", "wharf-guard-here");
    assert_true(guard_record_read(json_path(lease, "metadata", "annotations", GUARD_RECORD "g", NULL), &record));
    return record;
}

// The shards of which the guard says that it stops their mirrors.
static uint64_t reported(struct play *play) {
    struct guard_watched watched;
    uint64_t mask = 0;
    struct guard_record record = record_of(play);
    while (guard_record_next(&record, &watched))
        mask |= (uint64_t)watched.stops << watched.part.shard;
    return mask;
}

// Sends back the last beat of the guard.
static void renew_lease(struct play *play, unsigned shard) {
    AUTO_TEXT text = text_format(
        "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'wharf-fence-here.%u-of-2',"
        "'namespace':'wharf-system','labels':{'wharf.dev/origin':'here'},'annotations':{'wharf.dev/shard':'%u-of-2',"
        "'wharf.dev/beat':'x_1/7 g/%u'}},'spec':{'holderIdentity':'h','leaseDurationSeconds':80}}",
        shard, shard, (unsigned)record_of(play).beat);
    apply(play, "coordination.k8s.io", "leases", text);
}

static void pass_until_missed(struct play *play, size_t missed, int64_t most_ns) {
    struct guard_status status;
    int64_t end_ns = play->now_ns + most_ns;
    do {
        assert_true(play->now_ns < end_ns);
        pass(play, CLOCK_SECOND / 10);
        guard_run_status(play->run, &status);
    } while (status.missed != missed);
}

static size_t count_stopped(struct play *play, unsigned shard) {
    size_t stopped = 0;
    for (unsigned i = 0; i < MANY; i++)
        stopped += shard_of(i) == shard && is_stopped(play, i);
    return stopped;
}

static size_t count_of(unsigned shard) {
    size_t found = 0;
    for (unsigned i = 0; i < MANY; i++)
        found += shard_of(i) == shard;
    return found;
}

// What was sent before the host was heard of arrives; the others of its shard are left alone, and only those.
static void nothing_more_is_stopped_once_the_host_is_heard_of(void **state) {
    (void)state;
    struct play play;
    begin_many(&play, false);
    renew_lease(&play, 0);
    pass_until_missed(&play, 1, 8 * CLOCK_SECOND);
    pass(&play, CLOCK_SECOND / 2);
    size_t stopped = count_stopped(&play, 0);
    assert_in_range(stopped, 1, count_of(0) - 1);
    pass(&play, 12 * CLOCK_SECOND);
    assert_int_equal(reported(&play), 2);
    pass(&play, 28 * CLOCK_SECOND);
    assert_int_equal(count_stopped(&play, 0), stopped);
    assert_int_equal(count_stopped(&play, 1), count_of(1));
    pass(&play, CLOCK_MINUTE); // the other one expires again
    assert_int_equal(count_stopped(&play, 0), count_of(0));
    end(&play);
}

static size_t count_deleted(struct play *play) {
    size_t deleted = 0;
    for (unsigned i = 0; i < MANY; i++)
        deleted += !mirror(play, i) || object_is_being_deleted(mirror(play, i));
    return deleted;
}

static void what_cannot_be_suspended_is_not_deleted_once_the_host_is_heard_of(void **state) {
    (void)state;
    struct play play;
    begin_many(&play, true);
    renew_lease(&play, 0);
    renew_lease(&play, 1);
    pass_until_missed(&play, 0, 8 * CLOCK_SECOND);
    pass(&play, 3 * CLOCK_SECOND / 10);
    size_t deleted = count_deleted(&play);
    assert_in_range(deleted, 1, MANY / 2);
    pass(&play, 30 * CLOCK_SECOND);
    assert_int_equal(count_deleted(&play), deleted);
    end(&play);
}

static void count_failure(struct play *play, unsigned number) {
    AUTO_TEXT name = text_format("a-%u", number);
    assert_int_equal(world_patch(play->world, "batch", "jobs", "default", name, "status", "{\"status\":{\"failed\":1}}",
                                 play->now_ns),
                     200);
}

// The counts at the time of the stop, and later counts; of the mirrors of a lost shard only, until the host is back.
static void what_stopped_mirrors_have_achieved_is_reported(void **state) {
    (void)state;
    struct play play;
    unsigned lost = 0, other = 0;
    begin(&play);
    while (shard_of(lost) != 0)
        lost++;
    while (shard_of(other) != 1)
        other++;
    count_failure(&play, lost);
    count_failure(&play, other);
    put_lease(&play, 0, true);
    pass(&play, CLOCK_MINUTE);
    put_lease(&play, 1, true);
    assert_null(play.reports.data);
    pass(&play, 35 * CLOCK_SECOND);
    assert_true(is_stopped(&play, lost) && !is_stopped(&play, other));
    assert_string_equal(play.reports.data, "1 1 "); // as it was seen, and once it is suspended
    renew_lease(&play, 0);
    pass_until_missed(&play, 0, 20 * CLOCK_SECOND);
    pass(&play, 2 * CLOCK_SECOND);
    assert_string_equal(play.reports.data, "1 1 0 ");
    end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirrors_are_stopped_shard_by_shard),
        cmocka_unit_test(a_lease_that_cannot_be_given_back_is_logged_once),
        cmocka_unit_test(mirrors_that_cannot_be_stopped_do_not_fill_the_log),
        cmocka_unit_test(what_stopped_mirrors_have_achieved_is_reported),
        cmocka_unit_test(nothing_more_is_stopped_once_the_host_is_heard_of),
        cmocka_unit_test(what_cannot_be_suspended_is_not_deleted_once_the_host_is_heard_of),
    };
    return cmocka_run_group_tests(tests, harness_load, NULL);
}
