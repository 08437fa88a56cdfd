// SPDX-License-Identifier: Apache-2.0
// A worker whose API server accepts connections and does not respond is reported within 20 s, and the others do the
// work. One that is stopped, and keeps its watches open for a while, is reported at once.
#include "tests/integration/stage.h"
#include "tests/unit/kube/tls_server.h"

static bool never_answer(void *ctx, struct peer *peer, const char *request) {
    (void)ctx, (void)request;
    peer_wait_closed(peer);
    return false;
}

static void a_worker_that_hangs_is_suspect_within_twenty_seconds(void **state) {
    (void)state;
    struct server *server = server_start(&(struct server_options){.serve = never_answer});
    struct scene *scene = stage_open(1, true, "");
    AUTO_TEXT url = text_format("http://127.0.0.1:%u", server_port(server));
    AUTO_TEXT kubeconfig = certs_kubeconfig(NULL, "hung", url);
    assert_null(scene_write(scene, "hung.kubeconfig", kubeconfig));
    assert_null(scene_configure(scene, "- {name: hung, kubeconfig: hung.kubeconfig}\n", ""));
    assert_null(wharf_start(scene));
    UNTIL(scene, 10, wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"good\"}") == 1);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_cluster_contact{cluster=\"management\",contact=\"good\"}") == 1);
    assert_true(wharf_metric(scene, "wharf_cluster_contact{cluster=\"hung\",contact=\"good\"}") == 0);
    stage_submit_many(scene, "job", 3);
    UNTIL(scene, 10, stage_complete(scene, "job") == 3);
    UNTIL_NS(scene, stage_deadline_ns(20),
             wharf_metric(scene, "wharf_cluster_contact{cluster=\"hung\",contact=\"suspect\"}") == 1);
    UNTIL(scene, 5,
          wharf_logged(scene, "the cluster does not respond: nothing new is placed there until it does") == 1);
    stage_close(scene);
    server_stop(server);
}

// The host has nothing to write, and the watches go on: what it notices is that an idle connection is closed.
static void a_worker_that_is_stopped_is_told_as_lost_though_its_watches_are_open(void **state) {
    (void)state;
    struct scene *scene = stage_run(2, false, "");
    stage_submit_held(scene, "a");
    UNTIL(scene, 10, stage_mirrors(scene) == 1);
    size_t where = (size_t)stage_worker_of(scene, "a");
    struct front *front = scene->clusters[where].front;
    UNTIL(scene, 15, front_connections(front).open > front_connections(front).streams); // that of a probe
    AUTO_TEXT good = text_format("wharf_cluster_contact{cluster=\"w%zu\",contact=\"good\"}", where);
    UNTIL(scene, 10, wharf_metric(scene, good) == 1);
    size_t streams = front_connections(front).streams;
    int64_t begun_ns = clock_now().mono_ns;
    front_leave(front);
    UNTIL(scene, 2, stage_is_told(scene, "a", "WorkerLost"));
    print_message("told %lld ms after the server began to stop\n",
                  (long long)((clock_now().mono_ns - begun_ns) / CLOCK_MS));
    assert_int_equal(front_connections(front).streams, streams);
    front_down(front);
    assert_null(front_up(front));
    UNTIL(scene, 30, stage_is_told(scene, "a", "WorkerBack"));
    assert_int_equal(stage_attempt_of(scene, "a"), 1);
    stage_let_end(scene);
    UNTIL(scene, 10, stage_is_complete(scene, "a"));
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_hangs_is_suspect_within_twenty_seconds),
        cmocka_unit_test(a_worker_that_is_stopped_is_told_as_lost_though_its_watches_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
