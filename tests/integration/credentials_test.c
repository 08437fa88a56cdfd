// SPDX-License-Identifier: Apache-2.0
// Credentials that come from plugins and are rotated: kubeconfigs as EKS, GKE and AKS write them, with scripts in the
// place of their programs, and API servers that check the token.
#include "core/base/text.h"
#include "tests/integration/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLUGINS "credentialPlugins: {allow: [aws, gke-gcloud-auth-plugin, kubelogin]}\n"

static const struct provider {
    const char *file, *command, *expects; // `expects` fails unless it is called as the kubeconfig says
} providers[] = {
    {"eks.yaml", "aws",
     "[ \"$*,$AWS_PROFILE\" = '--region eu-west-1 eks get-token --cluster-name prod --output json,acme' ]"},
    {"gke.yaml", "gke-gcloud-auth-plugin",
     "case \"$KUBERNETES_EXEC_INFO\" in *'\"server\":\"https://127.0.0.1:'*) true;; *) false;; esac"},
    {"aks.yaml", "kubelogin",
     "[ \"$*\" = 'get-token --login workloadidentity --server-id 6dae42f8-4368-4678-94ff-3960e28e3630' ]"},
};

static void write_file(struct scene *scene, const char *name, const char *text, unsigned mode) {
    AUTO_TEXT next = text_format("%s/next", scene->directory);
    AUTO_TEXT path = text_format("%s/%s", scene->directory, name);
    struct error *error = scene_write(scene, "next", text);
    assert_string_equal(error_text(error), "no error");
    assert_int_equal(chmod(next, mode), 0);
    assert_int_equal(rename(next, path), 0);
}

// How often the plugin has run.
static size_t runs_of(struct scene *scene, const char *command) {
    AUTO_TEXT path = text_format("%s/%s.runs", scene->directory, command);
    AUTO_BUFFER(text, 1 << 20);
    error_free(text_read_file(path, 1 << 20, &text));
    return text.len;
}

// The token that the plugin gives from now on; `life_s` 0: without an expiry.
static void set_token(struct scene *scene, const char *command, const char *token, int life_s) {
    AUTO_TEXT file = text_format("%s.token", command);
    AUTO_TEXT text = text_format("%s %d\n", token, life_s);
    write_file(scene, file, text, 0600);
}

static void write_plugin(struct scene *scene, const struct provider *provider) {
    AUTO_TEXT script = text_format(
        "#!/bin/sh\n"
        "%s || { echo \"called in another way: $*\" >&2; exit 1; }\n"
        "printf . >> %s/%s.runs\n"
        "read -r token life < %s/%s.token\n"
        "[ $life = 0 ] || expiry=\",\\\"expirationTimestamp\\\":\\\"$(date -u -d \"+$life seconds\" +%%FT%%TZ)\\\"\"\n"
        "echo "
        "\"{\\\"kind\\\":\\\"ExecCredential\\\",\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1beta1\\\",\"\n"
        "echo \"\\\"status\\\":{\\\"token\\\":\\\"$token\\\"$expiry}}\"\n",
        provider->expects, scene->directory, provider->command, scene->directory, provider->command);
    write_file(scene, provider->command, script, 0755);
}

static void replace(struct buffer *text, const char *word, const char *by) {
    AUTO_BUFFER(out, 1 << 20);
    char *at = strstr(text->data, word);
    assert_non_null(at);
    buffer_append(&out, text->data, (size_t)(at - text->data));
    buffer_text(&out, by);
    buffer_text(&out, at + strlen(word));
    buffer_reset(text);
    buffer_text(text, out.data);
}

// Worker `index` (from 1) gets the provider's kubeconfig.
static void use_provider(struct scene *scene, size_t index, const struct provider *provider) {
    AUTO_TEXT path = text_format("tests/fixtures/kubeconfigs/%s", provider->file);
    AUTO_BUFFER(text, 1 << 20);
    AUTO_BUFFER(ca, 1 << 20);
    struct error *error = text_read_file(path, 1 << 20, &text);
    assert_string_equal(error_text(error), "no error");
    assert_true(text_base64_encode(scene->certs.ca, strlen(scene->certs.ca), &ca));
    AUTO_TEXT data = text_format(": %s\n", ca.data);
    replace(&text, "SERVER", front_url(scene->clusters[index].front));
    replace(&text, ": CA\n", data);
    AUTO_TEXT file = text_format("%s.kubeconfig", scene->clusters[index].name);
    write_file(scene, file, text.data, 0600);
    write_plugin(scene, provider);
    set_token(scene, provider->command, "one", 0);
    front_set_token(scene->clusters[index].front, "one", false);
}

static void search_plugins(struct scene *scene) {
    AUTO_TEXT path = text_format("%s:/usr/bin:/bin", scene->directory);
    setenv("PATH", path, 1);
}

static void start(struct scene *scene) {
    struct error *error = wharf_start(scene);
    assert_string_equal(error_text(error), "no error");
}

static void kubeconfigs_of_eks_gke_and_aks_are_used_as_they_are(void **state) {
    struct scene *scene = *state = stage_open(3, false, PLUGINS "mirrorRetention: 0s\n");
    search_plugins(scene);
    for (size_t i = 0; i < 3; i++)
        use_provider(scene, i + 1, &providers[i]);
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2") && stage_takes_work(scene, "w3"));
    stage_submit_many(scene, "job", 12);
    UNTIL(scene, 20, stage_complete(scene, "job") == 12);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(runs_of(scene, providers[i].command), 1);
        assert_int_equal(front_unauthorized(scene->clusters[i + 1].front), 0);
        assert_true(stage_creates(scene, i + 1, i + 2) > 0);
    }
    stage_close(scene);
}

// A token that the server stops accepting, with and without an end of the watches that were opened with it.
static void a_token_that_expires_during_a_watch_loses_nothing(void **state) {
    struct scene *scene = *state = stage_open(1, false, PLUGINS "mirrorRetention: 0s\n");
    search_plugins(scene);
    use_provider(scene, 1, &providers[0]);
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1"));
    struct front *front = scene->clusters[1].front;
    char token[16] = "one";
    size_t jobs = 0;
    for (int round = 0; round < 4; round++) {
        uint64_t requests = front_requests(front), unauthorized = front_unauthorized(front);
        size_t runs = runs_of(scene, "aws");
        AUTO_TEXT prefix = text_format("r%d-", round);
        stage_hold(scene);
        stage_submit_many_held(scene, prefix, 5); // their mirrors' events come while the token changes
        UNTIL(scene, 15, scene_jobs(scene, 1) == 5);
        text_copy(token, sizeof token, round % 2 ? "two" : "three");
        set_token(scene, "aws", token, 0);
        front_set_token(front, token, round < 2);
        stage_let_end(scene);
        AUTO_TEXT more = text_format("s%d-", round);
        stage_submit_many(scene, more, 5);
        UNTIL(scene, 30, stage_complete(scene, prefix) == 5 && stage_complete(scene, more) == 5);
        jobs += 10;
        UNTIL(scene, 15, scene_jobs(scene, 1) == 0);
        assert_true(front_unauthorized(front) > unauthorized);
        assert_true(runs_of(scene, "aws") - runs <= 2);
        assert_true(front_requests(front) - requests < 200); // no hot loop: some 10 a Job
    }
    assert_int_equal(stage_creates(scene, 1, 2), jobs); // each mirror once
    assert_true(stage_takes_work(scene, "w1"));
    assert_int_equal(wharf_logged(scene, "Rescheduled"), 0);
    stage_close(scene);
}

// Until the worker has had a request with the token that was added. The host sends some: labels of this Job, whose
// mirror is there, are changed.
static void until_used(struct scene *scene, size_t worker, const char *job) {
    int64_t until_ns = stage_deadline_ns(15 * STAGE_PATIENCE), looked_ns = 0;
    for (int i = 0; front_added_token_uses(scene->clusters[worker].front) == 0; i++) {
        stage_wait(scene, looked_ns, until_ns, "the token is used", __FILE__, __LINE__);
        looked_ns = clock_now().mono_ns;
        AUTO_TEXT patch = text_format("{\"metadata\":{\"labels\":{\"round\":\"%d\"}}}", i);
        assert_int_equal(scene_patch(scene, SCENE_MANAGEMENT, "batch", "jobs", job, patch), 200);
    }
}

static void a_token_with_an_expiry_is_renewed_before_the_server_rejects_it(void **state) {
    struct scene *scene = *state = stage_open(1, false, PLUGINS "mirrorRetention: 0s\n");
    search_plugins(scene);
    use_provider(scene, 1, &providers[2]);
    set_token(scene, "kubelogin", "one", 9); // renewed after about 6 s
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1"));
    stage_submit_held(scene, "held");
    UNTIL(scene, 15, scene_jobs(scene, 1) == 1);
    front_add_token(scene->clusters[1].front, "two");
    set_token(scene, "kubelogin", "two", 3600);
    UNTIL(scene, 15, runs_of(scene, "kubelogin") == 2);
    until_used(scene, 1, "held");
    front_set_token(scene->clusters[1].front, "two", true);
    stage_submit_many(scene, "job", 5);
    UNTIL(scene, 15, stage_complete(scene, "job") == 5);
    assert_int_equal(front_unauthorized(scene->clusters[1].front), 0);
    stage_close(scene);
}

static void a_plugin_that_hangs_or_fails_delays_no_other_cluster(void **state) {
    struct scene *scene = *state = stage_open(3, false, PLUGINS "mirrorRetention: 0s\n");
    search_plugins(scene);
    use_provider(scene, 1, &providers[0]);
    use_provider(scene, 2, &providers[2]);
    write_file(scene, "aws", "#!/bin/sh\nsleep 1000\n", 0755);
    write_file(scene, "kubelogin", "#!/bin/sh\necho 'AADSTS700016: no such application' >&2\nexit 1\n", 0755);
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w3"));
    stage_submit_many(scene, "job", 5);
    UNTIL(scene, 10, stage_complete(scene, "job") == 5);
    UNTIL(scene, 10,
          wharf_logged(scene, "the credential plugin kubelogin: it exited with 1: AADSTS700016: no such application") >
              0);
    assert_false(stage_is_connected(scene, "w1"));
    assert_int_equal(front_requests(scene->clusters[2].front), 0);
    write_plugin(scene, &providers[2]); // somebody logs in
    UNTIL(scene, 30, stage_takes_work(scene, "w2"));
    stage_close(scene); // while the plugin of w1 still runs
}

static char *token_kubeconfig(struct scene *scene, const char *server, const char *token) {
    AUTO_BUFFER(ca, 1 << 20);
    text_base64_encode(scene->certs.ca, strlen(scene->certs.ca), &ca);
    return text_format(
        "current-context: c\nclusters:\n- {name: k, cluster: {server: '%s', certificate-authority-data: %s}}\n"
        "users:\n- {name: u, user: {token: %s}}\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n",
        server, ca.data, token);
}

static void a_kubeconfig_that_is_rotated_in_place_is_used_without_a_restart(void **state) {
    struct scene *scene = *state = stage_open(1, false, "mirrorRetention: 0s\n");
    struct front *front = scene->clusters[1].front;
    AUTO_TEXT moved = text_format("https://localhost:%u", (unsigned)front_port(front));
    const struct {
        const char *token, *server;
    } steps[] = {{"one", front_url(front)}, {"two", front_url(front)}, {"three", moved}, {"four", moved}};
    for (size_t i = 0; i < 4; i++) {
        AUTO_TEXT text = token_kubeconfig(scene, steps[i].server, steps[i].token);
        write_file(scene, "w1.kubeconfig", text, 0600);
        front_set_token(front, steps[i].token, true);
        if (i == 0)
            start(scene);
        UNTIL(scene, 15, stage_takes_work(scene, "w1"));
        AUTO_TEXT prefix = text_format("%s-", steps[i].token);
        stage_submit_many(scene, prefix, 5);
        UNTIL(scene, 30, stage_complete(scene, prefix) == 5);
        assert_int_equal(wharf_logged(scene, "INFO  the connection is replaced"), i >= 2); // for another address only
    }
    assert_int_equal(stage_creates(scene, 1, 2), 20);
    stage_close(scene);
}

// Puts the worker's kubeconfig with this token into a Secret of the management cluster.
static void put_secret(struct scene *scene, const char *token, bool exists) {
    AUTO_TEXT config = token_kubeconfig(scene, front_url(scene->clusters[2].front), token);
    AUTO_BUFFER(data, 1 << 20);
    text_base64_encode(config, strlen(config), &data);
    AUTO_TEXT text = text_format("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"default\","
                                 "\"name\":\"w2\",\"labels\":{\"wharf.dev/worker\":\"true\"}},"
                                 "\"data\":{\"kubeconfig\":\"%s\"}}",
                                 data.data);
    int status = exists ? scene_patch(scene, SCENE_MANAGEMENT, "", "secrets", "w2", text)
                        : scene_apply(scene, SCENE_MANAGEMENT, "", "secrets", text);
    assert_int_equal(status, exists ? 200 : 201);
}

static void a_token_that_is_rotated_in_a_secret_needs_no_new_connection(void **state) {
    struct scene *scene = *state = stage_open(2, false, "");
    scene->count--; // w2 is not in the configuration
    assert_null(scene_configure(scene, "", "namespace: default\nworkersFrom: {secrets: true}\nmirrorRetention: 0s\n"));
    scene->count++;
    struct front *front = scene->clusters[2].front;
    put_secret(scene, "one", false);
    front_set_token(front, "one", false);
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    static const char *const names[] = {"long0", "long1", "long2", "long3", "long4", "long5"};
    stage_submit_many_held(scene, "long", 6);
    UNTIL(scene, 15, stage_mirrors(scene) == 6);
    uint64_t unauthorized = front_unauthorized(front);
    front_add_token(front, "two");
    put_secret(scene, "two", true);
    UNTIL(scene, 10, wharf_logged(scene, "the credentials of the worker are replaced cluster=w2") == 1);
    const char *there = NULL;
    for (size_t i = 0; i < 6 && !there; i++)
        there = stage_worker_of(scene, names[i]) == 2 ? names[i] : NULL;
    assert_non_null(there);
    until_used(scene, 2, there);
    front_set_token(front, "two", true);
    stage_submit_many(scene, "job", 6);
    UNTIL(scene, 20, stage_complete(scene, "job") == 6);
    stage_let_end(scene);
    UNTIL(scene, 20, stage_complete(scene, "long") == 6 && stage_complete(scene, "job") == 6);
    assert_int_equal(front_unauthorized(front), unauthorized);
    assert_int_equal(stage_creates(scene, 1, 3), 12);
    assert_true(stage_creates(scene, 2, 3) > 0);
    assert_int_equal(wharf_logged(scene, "INFO  the connection is replaced"), 0);
    stage_close(scene);
}

static void a_plugin_may_be_allowed_while_the_host_runs(void **state) {
    struct scene *scene = *state = stage_open(2, false, "mirrorRetention: 0s\n");
    search_plugins(scene);
    use_provider(scene, 2, &providers[0]);
    scene->count--; // w2 is not in the configuration yet
    assert_null(scene_configure(scene, "", "mirrorRetention: 0s\n"));
    scene->count++;
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1"));
    assert_null(scene_configure(scene, "", "mirrorRetention: 0s\n")); // refused: it must not run
    UNTIL(scene, 15, wharf_logged(scene, "may not be run: add it to credentialPlugins.allow in ") > 0);
    assert_int_equal(runs_of(scene, "aws"), 0);
    assert_null(scene_configure(scene, "", PLUGINS "mirrorRetention: 0s\n"));
    UNTIL(scene, 15, stage_takes_work(scene, "w2"));
    stage_submit_many(scene, "job", 6);
    UNTIL(scene, 20, stage_complete(scene, "job") == 6);
    assert_true(stage_creates(scene, 2, 3) > 0);
    assert_int_equal(wharf_logged(scene, "worker cannot be used"), 0);
    stage_close(scene);
}

// The exit code of `wharf check`; its output, both kinds, goes to `out`.
static int run_check(struct scene *scene, const char *flag, struct buffer *out) {
    AUTO_TEXT program = built_path("wharf");
    AUTO_TEXT command = text_format("%s check --config %s/wharf.yaml %s 2>&1", program, scene->directory, flag);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char text[4096];
    for (size_t len; (len = fread(text, 1, sizeof text, pipe)) > 0;)
        buffer_append(out, text, len);
    buffer_text(out, "");
    return WEXITSTATUS(pclose(pipe));
}

static void must_print(struct scene *scene, const char *flag, int code, const char *says) {
    AUTO_BUFFER(out, 1 << 20);
    int found = run_check(scene, flag, &out);
    if (found != code || !strstr(out.data, says))
        fail_msg("exit code %d, expected %d and\n%s\nfound\n%s", found, code, says, out.data);
}

static void check_says_which_plugins_are_run(void **state) {
    struct scene *scene = *state = stage_open(1, false, PLUGINS);
    search_plugins(scene);
    use_provider(scene, 1, &providers[0]);
    AUTO_TEXT allowed =
        text_format("w1: credential plugin aws: %s/aws, allowed by credentialPlugins.allow in %s/wharf.yaml\n",
                    scene->directory, scene->directory);
    must_print(scene, "", 0, allowed);
    assert_int_equal(runs_of(scene, "aws"), 0);
    must_print(scene, "--online", 0, "/wharf.yaml; its credential is accepted\n");
    assert_int_equal(runs_of(scene, "aws"), 1);
    write_file(scene, "aws", "#!/bin/sh\necho 'run aws sso login' >&2; exit 255\n", 0755);
    must_print(scene, "--online", 1,
               "users[0].user.exec: the credential plugin aws: it exited with 255: run aws sso login\n");
    write_file(scene, "aws", "", 0777);
    must_print(scene, "", 1, "/aws: the file is writable by everyone (mode 0777)");
    assert_null(scene_configure(scene, "", "credentialPlugins: {allow: [kubelogin]}\n"));
    AUTO_TEXT refused =
        text_format("/w1.kubeconfig:19: users[0].user.exec.command: the command \"aws\" (%s/aws) may not be "
                    "run: add it to credentialPlugins.allow in %s/wharf.yaml to allow it\n",
                    scene->directory, scene->directory);
    must_print(scene, "", 1, refused);
    scene_close(scene);
}

static bool w1_is_rejected(struct scene *scene, const char *why) {
    return wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"rejected\"}") == 1 &&
           stage_page_has(scene, "/readyz", "w1: rejects the host: ") && stage_page_has(scene, "/readyz", why) &&
           stage_page_has(scene, "/api/v1/workers", "\"contact\":\"rejected\"") &&
           stage_page_has(scene, "/api/v1/workers", why);
}

static bool none_is_rejected(struct scene *scene) {
    return wharf_metric(scene, "wharf_cluster_contact{cluster=\"w1\",contact=\"good\"}") == 1 &&
           !stage_page_has(scene, "/readyz", "rejects the host") &&
           stage_page_has(scene, "/api/v1/workers", "\"Ready\"");
}

// Its watches stay open. Nothing is placed there meanwhile, and everything there again.
static void credentials_that_a_worker_rejects_are_seen_within_seconds(void **state) {
    struct scene *scene = *state = stage_open(2, false, "mirrorRetention: 0s\n");
    struct front *front = scene->clusters[1].front;
    AUTO_TEXT text = token_kubeconfig(scene, front_url(front), "one");
    write_file(scene, "w1.kubeconfig", text, 0600);
    front_set_token(front, "one", true);
    start(scene);
    UNTIL(scene, 15, stage_takes_work(scene, "w1") && stage_takes_work(scene, "w2"));
    stage_submit_held(scene, "held");
    UNTIL(scene, 15, stage_mirrors(scene) == 1);
    front_set_token(front, "two", false);
    UNTIL(scene, 15, w1_is_rejected(scene, "rejects the host's credentials (401)"));
    assert_true(stage_page_has(scene, "/api/v1/workers", "\"state\":\"Rejected\""));
    assert_true(stage_is_connected(scene, "w1"));
    UNTIL(scene, 5, !stage_takes_work(scene, "w1"));
    assert_int_equal(wharf_logged(scene, "kube-system: "), 0);
    assert_int_equal(wharf_logged(scene, "does not support streaming lists"), 0);
    uint64_t created = stage_creates(scene, 1, 2);
    stage_submit_many(scene, "job", 4);
    UNTIL(scene, 20, stage_complete(scene, "job") == 4);
    assert_int_equal(stage_creates(scene, 1, 2), created);
    front_set_token(front, "one", false);
    UNTIL(scene, 15, none_is_rejected(scene));
    UNTIL(scene, 5, stage_takes_work(scene, "w1"));
    stage_let_end(scene);
    stage_close(scene);
}

static void deny(struct scene *scene, const char *verb, const char *resource) {
    front_lock(scene->clusters[1].front);
    if (verb)
        world_deny(scene->clusters[1].cluster, verb, resource);
    else
        world_allow_all(scene->clusters[1].cluster);
    front_unlock(scene->clusters[1].front);
}

// The role that binds them is deleted, say. Its watches stay open.
static void rights_that_a_worker_revokes_are_seen_within_seconds(void **state) {
    struct scene *scene = *state = stage_run(1, false, "mirrorRetention: 0s\n");
    UNTIL(scene, 15, stage_takes_work(scene, "w1"));
    deny(scene, "*", "*");
    UNTIL(scene, 15, w1_is_rejected(scene, "the host's rights were revoked (403)"));
    assert_true(stage_is_connected(scene, "w1"));
    deny(scene, NULL, NULL);
    UNTIL(scene, 15, none_is_rejected(scene));
    stage_submit_many(scene, "job", 2);
    UNTIL(scene, 15, stage_complete(scene, "job") == 2);
    stage_close(scene);
}

// The kind's other rights are there, so the worker stays in use.
static void a_right_that_a_kind_needs_and_lacks_is_named_and_its_grant_noticed(void **state) {
    struct scene *scene = *state = stage_run(1, false, "mirrorRetention: 0s\n");
    UNTIL(scene, 15, stage_takes_work(scene, "w1"));
    deny(scene, "create", "jobs.batch");
    stage_submit(scene, "job");
    UNTIL(scene, 15, w1_is_rejected(scene, "the host may not create jobs.batch in namespace default (403)"));
    deny(scene, NULL, NULL);
    UNTIL(scene, 10, none_is_rejected(scene));
    UNTIL(scene, 5, stage_is_complete(scene, "job")); // without its backoff
    stage_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kubeconfigs_of_eks_gke_and_aks_are_used_as_they_are),
        cmocka_unit_test(a_token_that_expires_during_a_watch_loses_nothing),
        cmocka_unit_test(a_token_with_an_expiry_is_renewed_before_the_server_rejects_it),
        cmocka_unit_test(a_plugin_that_hangs_or_fails_delays_no_other_cluster),
        cmocka_unit_test(a_kubeconfig_that_is_rotated_in_place_is_used_without_a_restart),
        cmocka_unit_test(a_token_that_is_rotated_in_a_secret_needs_no_new_connection),
        cmocka_unit_test(a_plugin_may_be_allowed_while_the_host_runs),
        cmocka_unit_test(check_says_which_plugins_are_run),
        cmocka_unit_test(credentials_that_a_worker_rejects_are_seen_within_seconds),
        cmocka_unit_test(rights_that_a_worker_revokes_are_seen_within_seconds),
        cmocka_unit_test(a_right_that_a_kind_needs_and_lacks_is_named_and_its_grant_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
