// SPDX-License-Identifier: Apache-2.0
// A bare libcurl loop that does the writes that the host does, and nothing else.
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct loop {
    const struct bench *bench;
    const struct bench_connections *as;
    size_t count;
    int changes;
};

// One life under way in the bare loop: which write comes next.
struct bare {
    CURL *handle;
    struct curl_slist *patch_headers, *json_headers;
    size_t number;
    int step;
    char url[256], body[2048];
};

static size_t swallow(char *data, size_t size, size_t n, void *ctx) {
    (void)data;
    (void)ctx;
    return size * n;
}

// The writes of one life: annotation, create, `changes` status patches, delete.
static void next_write(struct bare *bare, const struct loop *loop) {
    const int changes = loop->changes;
    struct front *const *fronts = loop->bench->fronts;
    const char *management = front_url(fronts[0]);
    const char *worker = front_url(fronts[1 + bare->number % (loop->bench->n_clusters - 1)]);
    bool to_management = bare->step == 0 || (bare->step >= 2 && bare->step < 2 + changes);
    const char *method = to_management ? "PATCH" : bare->step == 1 ? "POST" : "DELETE";
    const char *jobs = "/apis/batch/v1/namespaces/default/jobs";
    snprintf(bare->url, sizeof bare->url,
             bare->step == 1                    ? "%s%s"
             : bare->step >= 2 && to_management ? "%s%s/job-%zu/status"
                                                : "%s%s/job-%zu",
             to_management ? management : worker, jobs, bare->number);
    if (bare->step == 0)
        snprintf(bare->body, sizeof bare->body,
                 "{\"metadata\":{\"annotations\":{\"wharf.dev/cluster\":\"w1\",\"wharf.dev/attempt\":\"1\"}}}");
    else if (bare->step == 1) {
        char name[32];
        snprintf(name, sizeof name, "job-%zu", bare->number);
        AUTO_JSON job = bench_job(name, NULL, 0);
        json_remove(json_get(job, "spec"), "managedBy");
        AUTO_TEXT text = json_text(job, NULL);
        text_copy(bare->body, sizeof bare->body, text);
    } else if (to_management) {
        snprintf(bare->body, sizeof bare->body,
                 "{\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\",\"active\":%d,\"ready\":1,\"terminating\":0}}",
                 bare->step);
    } else {
        snprintf(bare->body, sizeof bare->body,
                 "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\"}");
    }
    curl_easy_setopt(bare->handle, CURLOPT_URL, bare->url);
    curl_easy_setopt(bare->handle, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(bare->handle, CURLOPT_POSTFIELDSIZE, (long)strlen(bare->body));
    curl_easy_setopt(bare->handle, CURLOPT_POSTFIELDS, bare->body);
    curl_easy_setopt(bare->handle, CURLOPT_HTTPHEADER, to_management ? bare->patch_headers : bare->json_headers);
}

static void use_certs(CURL *handle, const struct certs *certs) {
    struct curl_blob ca = {certs->ca, strlen(certs->ca), CURL_BLOB_NOCOPY};
    struct curl_blob cert = {certs->client_cert, strlen(certs->client_cert), CURL_BLOB_NOCOPY};
    struct curl_blob key = {certs->client_key, strlen(certs->client_key), CURL_BLOB_NOCOPY};
    curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(handle, CURLOPT_SSLCERT_BLOB, &cert);
    curl_easy_setopt(handle, CURLOPT_SSLKEY_BLOB, &key);
}

static struct bare *new_bare(const struct bench *bench, size_t number) {
    struct bare *bare = calloc(1, sizeof *bare);
    if (!bare || !(bare->handle = curl_easy_init()))
        _exit(1);
    if (bench->tls)
        use_certs(bare->handle, &bench->certs);
    bare->number = number;
    bare->patch_headers = curl_slist_append(NULL, "Content-Type: application/merge-patch+json");
    bare->json_headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(bare->handle, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(bare->handle, CURLOPT_PRIVATE, bare);
    return bare;
}

// Goes on with the life whose write was answered, or with another one. Returns whether a life is over.
static bool go_on(struct bare *bare, CURLM *multi, const struct loop *loop, size_t *started) {
    long code = 0;
    curl_easy_getinfo(bare->handle, CURLINFO_RESPONSE_CODE, &code);
    if (code < 200 || code > 299) {
        fprintf(stderr, "bench: the bare loop's write %d was answered %ld\n", bare->step, code);
        _exit(1);
    }
    curl_multi_remove_handle(multi, bare->handle);
    bool over = ++bare->step == 3 + loop->changes;
    if (over) {
        bare->step = 0;
        bare->number = (*started)++;
    }
    if (bare->number < loop->count) {
        next_write(bare, loop);
        curl_multi_add_handle(multi, bare->handle);
    }
    return over;
}

// The child's whole work. Exits non-zero if a write was refused.
static void run_loop(const struct loop *loop) {
    CURLM *multi = curl_multi_init();
    size_t started = 0, over = 0;
    // All are kept: each life goes from server to server.
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)(loop->as->most_of_one * loop->bench->n_clusters));
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)loop->as->most_of_one);
    for (; started < loop->as->most && started < loop->count; started++) {
        struct bare *bare = new_bare(loop->bench, started);
        next_write(bare, loop);
        curl_multi_add_handle(multi, bare->handle);
    }
    while (over < loop->count) {
        int running = 0, left = 0;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            struct bare *bare = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&bare);
            over += go_on(bare, multi, loop, &started);
        }
        curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    _exit(0);
}

struct bench_bare bench_bare_loop(struct bench *bench, size_t count, const struct bench_connections *as, int changes) {
    const struct loop loop = {.bench = bench, .as = as, .count = count, .changes = changes};
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("job-%zu", i);
        AUTO_JSON job = bench_job(name, NULL, 0);
        bench_submit(bench, job);
    }
    bench_count_connections(bench);
    int64_t begin_ns = clock_now().mono_ns;
    pid_t child = fork();
    if (child == 0)
        run_loop(&loop);
    int status = 0;
    struct rusage usage = {0};
    if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("the bare loop failed");
    double seconds = (double)(clock_now().mono_ns - begin_ns) / 1e9;
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return (struct bench_bare){.lives_per_second = (double)count / seconds,
                               .cpu_us = cpu / (double)count * 1e6,
                               .opened = bench_connections(bench).opened};
}
