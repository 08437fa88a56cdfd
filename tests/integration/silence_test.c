// SPDX-License-Identifier: Apache-2.0
// A worker whose API server accepts connections and does not respond: it is reported within 20 s, and the others do the
// work.
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_worker_that_hangs_is_suspect_within_twenty_seconds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
