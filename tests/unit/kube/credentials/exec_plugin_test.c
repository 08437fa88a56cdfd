// SPDX-License-Identifier: Apache-2.0
// One run of a credential plugin.
#include "core/base/clock.h"
#include "tests/unit/kube/pki.h"
#include "tests/unit/kube/plugin_kit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#define PATIENCE (20 * CLOCK_SECOND)
#define TOKEN PLUGIN_OUTPUT("{\"token\":\"t0ken\"}")

static struct error *run(const struct plugin_kit *kit, const char *script, struct exec_credential *out) {
    struct exec_plugin *plugin = plugin_kit_make(kit, script);
    struct error *error = exec_plugin_run(plugin, PATIENCE, -1, out);
    exec_plugin_free(plugin);
    return error;
}

static void a_plugin_gives_a_token(void **state) {
    struct exec_credential found;
    assert_string_equal(error_text(run(*state, "echo '" TOKEN "'", &found)), "no error");
    assert_string_equal(found.token, "t0ken");
    assert_null(found.cert);
    assert_true(found.expires_ns == CLOCK_NEVER);
    exec_credential_clear(&found);
    assert_string_equal(
        error_text(run(*state,
                       "echo '" PLUGIN_OUTPUT("{\"token\":\"t\",\"expirationTimestamp\":\"2026-01-02T03:04:05Z\"}") "'",
                       &found)),
        "no error");
    assert_true(found.expires_ns == INT64_C(1767323045) * CLOCK_SECOND);
    exec_credential_clear(&found);
}

static char *quoted(const char *pem) {
    AUTO_BUFFER(text, 65536);
    buffer_json_string(&text, pem, strlen(pem));
    return buffer_take(&text, NULL);
}

static void a_plugin_gives_a_client_certificate(void **state) {
    struct pki_pair pair = pki_make(&(struct pki_request){.name = "me"});
    struct pki_pair other = pki_make(&(struct pki_request){.name = "other"});
    AUTO_TEXT cert = quoted(pair.cert);
    AUTO_TEXT key = quoted(pair.key);
    AUTO_TEXT wrong = quoted(other.key);
    static const char format[] = PLUGIN_OUTPUT("{\"clientCertificateData\":%s,\"clientKeyData\":%s}");
    AUTO_TEXT good = text_format(format, cert, key);
    plugin_kit_write(*state, "answer", good, 0600);
    struct exec_credential found;
    assert_string_equal(error_text(run(*state, "cat answer", &found)), "no error");
    assert_null(found.token);
    assert_string_equal(found.cert, pair.cert);
    assert_string_equal(found.key, pair.key);
    exec_credential_clear(&found);
    AUTO_TEXT bad = text_format(format, cert, wrong);
    plugin_kit_write(*state, "answer", bad, 0600);
    struct error *error = run(*state, "cat answer", &found);
    assert_non_null(strstr(error_text(error), "status.clientCertificateData: "));
    error_free(error);
    pki_free(&pair);
    pki_free(&other);
}

static void a_plugin_sees_what_the_kubeconfig_says_and_nothing_else_of_this_process(void **state) {
    static const char script[] =
        "{ echo \"$WHARF_TEST,$WHARF_OWN,$KUBERNETES_EXEC_INFO\"; echo \"$#,$1\"; cat; ls /proc/self/fd | wc -l\n"
        "grep -E '^Sig(Blk|Ign)' /proc/self/status | grep -vcE '0000000000000000|0000000180000000'\n" // glibc's own two
        "[ $$ = $(cut -d' ' -f5 /proc/$$/stat) ] && echo leader; } > seen 2>&1\n"
        "echo '" TOKEN "'";
    setenv("WHARF_TEST", "mine", 1);
    setenv("WHARF_OWN", "kept", 1);
    sigset_t all;
    sigfillset(&all);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
    int open_file = dup(0); // without FD_CLOEXEC
    struct exec_credential found;
    assert_string_equal(error_text(run(*state, script, &found)), "no error");
    sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    close(open_file);
    exec_credential_clear(&found);
    AUTO_TEXT seen = plugin_kit_read(*state, "seen");
    assert_string_equal(seen, "from the kubeconfig,kept,{\"kind\":\"ExecCredential\"}\n1,get token\n4\n0\nleader\n");
}

static void what_went_wrong_is_said_without_the_output(void **state) {
    struct plugin_kit *kit = *state;
    static const struct {
        const char *script, *message;
    } cases[] = {
        {"echo one >&2; echo 'two: \033[31mdenied' >&2; echo >&2; exit 3", "it exited with 3: two: \\u001b[31mdenied"},
        {"echo '" TOKEN "'; exit 1", "it exited with 1"},
        {"kill -9 $$", "it was ended by signal 9"},
        {"echo s3cret", "its output is not JSON, expected an ExecCredential"},
        {"true", "its output is not JSON, expected an ExecCredential"},
        {"echo '{}'", "its output's kind is \"\", expected \"ExecCredential\""},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'",
         "its output's apiVersion is \"client.authentication.k8s.io/v1beta1\", expected "
         "\"client.authentication.k8s.io/v1\""},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}'; echo log in first "
         ">&2",
         "its output has no status: log in first"},
        {"echo '" PLUGIN_OUTPUT("{}") "'", "its output has neither status.token nor a client certificate"},
        {"echo '" PLUGIN_OUTPUT("{\"token\":7}") "'", "status.token of its output is not a string"},
        {"echo '" PLUGIN_OUTPUT("{\"token\":\"a b\"}") "'",
         "status.token: found an invalid byte at offset 1, expected a bearer token"},
        {"echo '" PLUGIN_OUTPUT("{\"clientCertificateData\":\"x\"}") "'",
         "its output has only a client certificate, expected both certificate and key"},
        {"echo '" PLUGIN_OUTPUT("{\"clientCertificateData\":\"x\",\"clientKeyData\":\"y\"}") "'",
         "status.clientCertificateData: found no PEM certificate, expected -----BEGIN CERTIFICATE-----"},
        {"echo '" PLUGIN_OUTPUT("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}") "'",
         "status.expirationTimestamp of its output is no RFC 3339 time"},
        {"head -c 300000 /dev/zero; sleep 1000", "it printed more than 262144 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_TEXT message = text_format("w1.kubeconfig:7: users[0].user.exec: the credential plugin %s/plugin: %s",
                                        kit->folder, cases[i].message);
        struct exec_credential found;
        struct error *error = run(kit, cases[i].script, &found);
        if (strcmp(error_text(error), message) != 0)
            fail_msg("case %zu: found\n  %s\nexpected\n  %s", i, error_text(error), message);
        assert_null(found.token);
        error_free(error);
    }
}

static void a_plugin_that_is_not_there_is_told_with_the_hint(void **state) {
    struct exec_plugin *plugin = plugin_kit_make(*state, "true");
    unlink(plugin->command);
    plugin->install_hint = strdup("Install it from the portal.");
    AUTO_TEXT message = text_format("w1.kubeconfig:7: users[0].user.exec.command: %s: No such file or directory; "
                                    "Install it from the portal.",
                                    plugin->command);
    struct exec_credential found;
    struct error *error = exec_plugin_run(plugin, PATIENCE, -1, &found);
    assert_string_equal(error_text(error), message);
    error_free(error);
    exec_plugin_free(plugin);
}

// Waits until the file has a number, which is a process.
static pid_t read_pid(const struct plugin_kit *kit, const char *name) {
    for (;;) {
        AUTO_TEXT text = plugin_kit_read(kit, name);
        if (strchr(text, '\n'))
            return (pid_t)strtol(text, NULL, 10);
        usleep(1000);
    }
}

// A zombie, which nobody waits for in a container without an init, has ended too.
static bool has_ended(pid_t pid) {
    AUTO_TEXT path = text_format("/proc/%d/stat", (int)pid);
    AUTO_BUFFER(stat, 4096);
    struct error *error = text_read_file(path, 4096, &stat);
    bool ended = error || strstr(stat.data, ") Z ");
    error_free(error);
    return ended;
}

static void a_plugin_that_takes_too_long_is_killed_with_its_children(void **state) {
    struct exec_plugin *plugin =
        plugin_kit_make(*state, "trap '' TERM; sleep 1000 & echo $! > child; echo wait >&2; wait");
    struct exec_credential found;
    int64_t begin_ns = clock_now().mono_ns;
    struct error *error = exec_plugin_run(plugin, CLOCK_SECOND, -1, &found);
    assert_non_null(strstr(error_text(error), "it was killed after 1 s: wait"));
    assert_true(clock_now().mono_ns - begin_ns < 15 * CLOCK_SECOND);
    error_free(error);
    pid_t child = read_pid(*state, "child");
    while (!has_ended(child))
        usleep(1000);
    exec_plugin_free(plugin);
}

static void a_child_that_keeps_the_pipes_open_delays_nothing(void **state) {
    struct exec_credential found;
    int64_t begin_ns = clock_now().mono_ns;
    assert_string_equal(error_text(run(*state, "sleep 1000 & echo $! > child; echo '" TOKEN "'", &found)), "no error");
    assert_true(clock_now().mono_ns - begin_ns < 15 * CLOCK_SECOND);
    assert_string_equal(found.token, "t0ken");
    exec_credential_clear(&found);
    kill(read_pid(*state, "child"), SIGKILL);
}

static void a_plugin_that_closes_its_output_early_is_waited_for(void **state) {
    struct exec_credential found;
    struct error *error = run(*state, "echo '" TOKEN "'; exec >&- 2>&-; sleep 0.2; exit 5", &found);
    assert_non_null(strstr(error_text(error), "it exited with 5"));
    error_free(error);
}

static void a_run_can_be_stopped(void **state) {
    struct exec_plugin *plugin = plugin_kit_make(*state, "echo $$ > pid; sleep 1000");
    int fd = eventfd(1, EFD_CLOEXEC);
    struct exec_credential found;
    struct error *error = exec_plugin_run(plugin, PATIENCE, fd, &found);
    assert_non_null(strstr(error_text(error), "it was stopped"));
    assert_int_equal(error->code, ERROR_STOPPED);
    error_free(error);
    close(fd);
    exec_plugin_free(plugin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_kit(a_plugin_gives_a_token),
        with_kit(a_plugin_gives_a_client_certificate),
        with_kit(a_plugin_sees_what_the_kubeconfig_says_and_nothing_else_of_this_process),
        with_kit(what_went_wrong_is_said_without_the_output),
        with_kit(a_plugin_that_is_not_there_is_told_with_the_hint),
        with_kit(a_plugin_that_takes_too_long_is_killed_with_its_children),
        with_kit(a_child_that_keeps_the_pipes_open_delays_nothing),
        with_kit(a_plugin_that_closes_its_output_early_is_waited_for),
        with_kit(a_run_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
