// SPDX-License-Identifier: Apache-2.0
// What is logged of each request at level debug, by whoever sends one.
#include "core/kube/client/client.h"
#include "tests/unit/kube/reflector_harness.h"

#include <fcntl.h>
#include <unistd.h>

#define OBJECT "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}"

static int ends[2];

static int open_log(void **state) {
    (void)state;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    log_to(ends[1]);
    log_setup(LOG_TEXT, LOG_DEBUG);
    return 0;
}

static int close_log(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_ERROR);
    log_to(2);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

// Leaves "ms=" of each line without its digits, and takes the time off its beginning.
static void expect_log(const char *wanted) {
    char text[16384], plain[16384];
    ssize_t len = read(ends[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    size_t at = 0;
    for (const char *c = text; *c; c++) {
        if (c == text || c[-1] == '\n')
            c = strchr(c, ' ') + 1;
        plain[at++] = *c;
        if (at > 3 && memcmp(plain + at - 3, "ms=", 3) == 0)
            c += strspn(c + 1, "0123456789.");
    }
    plain[at] = '\0';
    assert_string_equal(plain, wanted);
}

static void ignore_answer(void *ctx, struct response *response) {
    (void)ctx, (void)response;
}

static void send(struct client *client, enum verb verb, const char *body) {
    struct request request = {.verb = verb,
                              .resource = {"batch", "v1", "jobs", false},
                              .namespace_ = "n",
                              .name = "a",
                              .body = body,
                              .body_len = body ? strlen(body) : 0};
    assert_null(client_submit(client, &request, ignore_answer, NULL, NULL));
    (void)client_tick(client, (struct moment){0});
}

static void a_client_logs_verb_path_code_and_time_and_no_body(void **state) {
    (void)state;
    struct fake_transport fake;
    struct client *client = NULL;
    fake_init(&fake);
    assert_null(client_new(&(struct client_options){.cluster = "w1", .transport = &fake.base}, &client));
    send(client, VERB_GET, NULL);
    fake_answer(&fake, 1, 200, OBJECT);
    send(client, VERB_CREATE, "{\"data\":\"secret\"}");
    fake_answer(&fake, 2, 201, OBJECT);
    send(client, VERB_STATUS_PATCH, "{}");
    fake_answer(&fake, 3, 409, "{}");
    send(client, VERB_DELETE, "{}");
    fake_break(&fake, 4, 0);
#define PATH "/apis/batch/v1/namespaces/n/jobs"
    expect_log("DEBUG request cluster=w1 verb=get path=" PATH "/a code=200 ms=\n"
               "DEBUG request cluster=w1 verb=create path=\"" PATH "?fieldManager=wharf\" code=201 ms=\n"
               "DEBUG request cluster=w1 verb=patch path=\"" PATH "/a/status?fieldManager=wharf\" code=409 ms=\n"
               "DEBUG request cluster=w1 verb=delete path=" PATH "/a ms= error=\"connection reset\"\n");
    client_free(client);
    fake_free(&fake);
}

static void lists_and_watches_are_logged_and_a_watch_when_it_opens_too(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    end(&h);
    char text[16384];
    ssize_t len = read(ends[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    assert_non_null(strstr(text, "DEBUG request cluster=w1 verb=get path=/apis/batch/v1 code=200 ms="));
    assert_non_null(strstr(text, "DEBUG request cluster=w1 verb=list path=\"/apis/batch/v1/jobs?limit=500\" code=200"));
    const char *opened =
        strstr(text, "DEBUG stream opened cluster=w1 verb=watch path=\"/apis/batch/v1/jobs?watch=true");
    assert_non_null(opened);
    assert_non_null(strstr(opened, "DEBUG request cluster=w1 verb=watch path=\"/apis/batch/v1/jobs?watch=true"));
}

static void on_identity(void *ctx, const char *uid, const char *version, const char *problem) {
    (void)ctx, (void)uid, (void)version, (void)problem;
}

static void on_contact(void *ctx, enum contact contact, bool repeated, int64_t heard_ns, const char *problem) {
    (void)ctx, (void)contact, (void)repeated, (void)heard_ns, (void)problem;
}

static void a_probe_logs_its_question(void **state) {
    (void)state;
    struct fake_transport fake;
    struct probe *probe = NULL;
    fake_init(&fake);
    struct probe_handler handler = {on_identity, on_contact, NULL};
    assert_null(probe_new("w1", &fake.base, &handler, &probe));
    (void)probe_tick(probe, (struct moment){.mono_ns = 1});
    fake_refuse(&fake, 1);
    expect_log("DEBUG request cluster=w1 verb=get path=/api/v1/namespaces/kube-system ms= error=\"connection "
               "refused\"\n");
    probe_free(probe);
    fake_free(&fake);
}

static void nothing_is_logged_above_debug_nor_of_what_is_cancelled(void **state) {
    (void)state;
    struct fake_transport fake;
    struct client *client = NULL;
    fake_init(&fake);
    assert_null(client_new(&(struct client_options){.cluster = "w1", .transport = &fake.base}, &client));
    log_setup(LOG_TEXT, LOG_INFO);
    send(client, VERB_GET, NULL);
    fake_answer(&fake, 1, 200, OBJECT);
    log_setup(LOG_TEXT, LOG_DEBUG);
    send(client, VERB_GET, NULL);
    client_free(client);
    expect_log("");
    fake_free(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_logs_verb_path_code_and_time_and_no_body, open_log, close_log),
        cmocka_unit_test_setup_teardown(lists_and_watches_are_logged_and_a_watch_when_it_opens_too, open_log,
                                        close_log),
        cmocka_unit_test_setup_teardown(a_probe_logs_its_question, open_log, close_log),
        cmocka_unit_test_setup_teardown(nothing_is_logged_above_debug_nor_of_what_is_cancelled, open_log, close_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
