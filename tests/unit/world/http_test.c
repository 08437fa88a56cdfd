// SPDX-License-Identifier: Apache-2.0
// The HTTP front, spoken to with libcurl.
#include "tests/unit/world/helper.h"
#include "tests/world/http_front.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>

struct served {
    struct world_cluster *cluster;
    struct front *front;
    struct certs certs;
    bool tls;
};

static void begin_front(struct served *served, bool tls) {
    *served = (struct served){.tls = tls};
    assert_null(certs_make(&(struct certs_options){0}, &served->certs));
    served->cluster =
        world_new(&(struct world_options){.pod_run_ns = 50 * CLOCK_MS, .pod_start_ns = 10 * CLOCK_MS}, front_now_ns());
    assert_null(front_start(served->cluster, 0, tls ? &served->certs : NULL, &served->front));
}

static void end_front(struct served *served) {
    front_stop(served->front);
    world_free(served->cluster);
    certs_free(&served->certs);
}

static size_t collect(char *bytes, size_t size, size_t count, void *ctx) {
    return buffer_append(ctx, bytes, size * count) ? size * count : 0;
}

static CURL *make_handle(const struct served *served, const char *path, bool with_cert, struct buffer *out) {
    CURL *curl = curl_easy_init();
    AUTO_TEXT url = text_format("%s%s", front_url(served->front), path);
    buffer_init(out, 1 << 20);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 20000L);
    if (!served->tls)
        return curl;
    struct curl_blob ca = {served->certs.ca, strlen(served->certs.ca), CURL_BLOB_COPY};
    struct curl_blob cert = {served->certs.client_cert, strlen(served->certs.client_cert), CURL_BLOB_COPY};
    struct curl_blob key = {served->certs.client_key, strlen(served->certs.client_key), CURL_BLOB_COPY};
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    if (with_cert) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &cert);
        curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
    }
    return curl;
}

// The status code, or minus the libcurl error.
static long fetch(const struct served *served, const char *method, const char *path, const char *body, bool with_cert) {
    struct buffer out;
    CURL *curl = make_handle(served, path, with_cert, &out);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (body)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    CURLcode code = curl_easy_perform(curl);
    long status = -(long)code;
    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    buffer_free(&out);
    return status;
}

static const char job_body[] = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}";

static void requests_are_answered(void **state) {
    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        struct served served;
        begin_front(&served, tls);
        assert_int_equal(fetch(&served, "GET", "/version", NULL, true), 200);
        assert_int_equal(fetch(&served, "POST", JOBS, job_body, true), 201);
        assert_int_equal(fetch(&served, "POST", JOBS, job_body, true), 409);
        assert_int_equal(fetch(&served, "GET", "/apis/batch/v1/jobs?labelSelector=job-name%3Da&limit=5", NULL, true),
                         200);
        if (tls)
            assert_int_equal(fetch(&served, "GET", "/version", NULL, false), 401);
        end_front(&served);
    }
}

struct stream {
    struct served *served;
    const char *path;
    struct buffer out;
    CURLcode code;
    pthread_t thread;
};

static void *run_stream(void *ctx) {
    struct stream *stream = ctx;
    CURL *curl = make_handle(stream->served, stream->path, true, &stream->out);
    stream->code = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    return NULL;
}

static void a_watch_follows_a_job_to_its_end(void **state) {
    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        struct served served;
        begin_front(&served, tls);
        struct stream stream = {.served = &served, .path = JOBS "?watch=true&timeoutSeconds=5"};
        pthread_create(&stream.thread, NULL, run_stream, &stream);
        assert_int_equal(fetch(&served, "POST", JOBS, job_body, true), 201);
        pthread_join(stream.thread, NULL);
        assert_int_equal(stream.code, CURLE_OK);
        assert_non_null(strstr(stream.out.data, "\"ADDED\""));
        assert_non_null(strstr(stream.out.data, "\"Complete\""));
        buffer_free(&stream.out);
        end_front(&served);
    }
}

static size_t note_header(char *bytes, size_t size, size_t count, void *ctx) {
    (void)bytes;
    (*(size_t *)ctx)++;
    return size * count;
}

static int stop_when_headers_are_there(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return *(size_t *)ctx > 2;
}

static void a_watch_that_has_nothing_to_say_sends_its_headers(void **state) {
    (void)state;
    struct served served;
    struct buffer out;
    size_t headers = 0;
    begin_front(&served, false);
    CURL *curl = make_handle(&served, JOBS "?watch=true&timeoutSeconds=60", true, &out);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, note_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &headers);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_when_headers_are_there);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &headers);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    assert_int_equal(curl_easy_perform(curl), CURLE_ABORTED_BY_CALLBACK);
    curl_easy_cleanup(curl);
    buffer_free(&out);
    end_front(&served);
}

static void a_server_can_go_down_and_come_back(void **state) {
    (void)state;
    struct served served;
    begin_front(&served, false);
    struct stream stream = {.served = &served, .path = "/api/v1/namespaces?watch=true&timeoutSeconds=60"};
    pthread_create(&stream.thread, NULL, run_stream, &stream);
    while (front_requests(served.front) == 0)
        continue;
    uint16_t port = front_port(served.front);
    front_down(served.front);
    pthread_join(stream.thread, NULL);
    assert_int_not_equal(stream.code, CURLE_OK);
    buffer_free(&stream.out);
    assert_int_equal(fetch(&served, "GET", "/version", NULL, true), -CURLE_COULDNT_CONNECT);
    assert_null(front_up(served.front));
    assert_int_equal(front_port(served.front), port);
    assert_int_equal(fetch(&served, "GET", "/version", NULL, true), 200);
    end_front(&served);
}

static void a_server_that_leaves_refuses_connections_and_keeps_its_watches(void **state) {
    (void)state;
    struct served served;
    begin_front(&served, false);
    struct stream stream = {.served = &served, .path = "/api/v1/namespaces?watch=true&timeoutSeconds=60"};
    pthread_create(&stream.thread, NULL, run_stream, &stream);
    while (front_connections(served.front).streams == 0)
        continue;
    front_leave(served.front);
    assert_int_equal(fetch(&served, "GET", "/version", NULL, true), -CURLE_COULDNT_CONNECT);
    assert_int_equal(front_connections(served.front).streams, 1);
    front_down(served.front);
    pthread_join(stream.thread, NULL);
    buffer_free(&stream.out);
    assert_null(front_up(served.front));
    assert_int_equal(fetch(&served, "GET", "/version", NULL, true), 200);
    end_front(&served);
}

static void a_server_can_answer_badly(void **state) {
    (void)state;
    static const struct {
        enum front_fault fault;
        long status;
    } cases[] = {{FRONT_ERRORS, 500}, {FRONT_BUSY, 429}, {FRONT_GARBAGE, 200}, {FRONT_FINE, 404}};
    struct served served;
    begin_front(&served, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        front_set_fault(served.front, cases[i].fault);
        assert_int_equal(fetch(&served, "GET", JOBS "/none", NULL, true), cases[i].status);
    }
    end_front(&served);
}

static void a_server_that_hangs_answers_when_it_recovers(void **state) {
    (void)state;
    struct served served;
    begin_front(&served, false);
    front_set_fault(served.front, FRONT_HANGS);
    struct stream stream = {.served = &served, .path = "/version"};
    pthread_create(&stream.thread, NULL, run_stream, &stream);
    front_set_fault(served.front, FRONT_FINE);
    pthread_join(stream.thread, NULL);
    assert_int_equal(stream.code, CURLE_OK);
    assert_non_null(strstr(stream.out.data, "gitVersion"));
    buffer_free(&stream.out);
    front_set_fault(served.front, FRONT_HANGS); // and stops with requests that hang
    stream = (struct stream){.served = &served, .path = "/version"};
    pthread_create(&stream.thread, NULL, run_stream, &stream);
    front_down(served.front);
    pthread_join(stream.thread, NULL);
    buffer_free(&stream.out);
    end_front(&served);
}

static int64_t now_ns(void) {
    return clock_now().mono_ns;
}

static void a_server_with_a_cost_serves_so_many_at_a_time(void **state) {
    (void)state;
    struct served served;
    struct stream streams[4];
    begin_front(&served, false);
    front_set_cost(served.front, &(struct service_cost){.read_ns = 30 * CLOCK_MS, .concurrency = 2});
    int64_t begin_ns = now_ns();
    for (size_t i = 0; i < 4; i++) {
        streams[i] = (struct stream){.served = &served, .path = "/version"};
        pthread_create(&streams[i].thread, NULL, run_stream, &streams[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(streams[i].thread, NULL);
        assert_int_equal(streams[i].code, CURLE_OK);
        assert_non_null(strstr(streams[i].out.data, "gitVersion"));
        buffer_free(&streams[i].out);
    }
    assert_true(now_ns() - begin_ns >= 60 * CLOCK_MS);
    assert_int_equal(front_requests(served.front), 4);
    assert_int_equal(front_connections(served.front).opened, 4);
    assert_int_equal(fetch(&served, "GET", "/readyz", NULL, true), 200);
    end_front(&served);
}

static void a_server_with_a_full_queue_answers_429(void **state) {
    (void)state;
    struct served served;
    struct stream stream = {.served = &served, .path = JOBS};
    begin_front(&served, false);
    front_set_cost(served.front, &(struct service_cost){.read_ns = 60 * CLOCK_SECOND, .concurrency = 1, .queue = 1});
    struct stream waiting = stream;
    pthread_create(&stream.thread, NULL, run_stream, &stream);
    pthread_create(&waiting.thread, NULL, run_stream, &waiting);
    while (front_waiting(served.front) == 0)
        continue;
    assert_int_equal(fetch(&served, "GET", JOBS, NULL, true), 429);
    front_down(served.front); // with one that is being served and one that waits
    pthread_join(stream.thread, NULL);
    pthread_join(waiting.thread, NULL);
    assert_int_not_equal(stream.code, CURLE_OK);
    assert_int_not_equal(waiting.code, CURLE_OK);
    buffer_free(&stream.out);
    buffer_free(&waiting.out);
    end_front(&served);
}

int main(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(a_watch_follows_a_job_to_its_end),
        cmocka_unit_test(a_watch_that_has_nothing_to_say_sends_its_headers),
        cmocka_unit_test(a_server_can_go_down_and_come_back),
        cmocka_unit_test(a_server_that_leaves_refuses_connections_and_keeps_its_watches),
        cmocka_unit_test(a_server_can_answer_badly),
        cmocka_unit_test(a_server_that_hangs_answers_when_it_recovers),
        cmocka_unit_test(a_server_with_a_cost_serves_so_many_at_a_time),
        cmocka_unit_test(a_server_with_a_full_queue_answers_429),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
