// SPDX-License-Identifier: Apache-2.0
// Whole lives of Jobs through the running host, and a bare libcurl loop that does the same writes.
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Lives that ended in the worker (the mirror was deleted by the host) and wait to be cleared away by the driver.
struct finished {
    pthread_mutex_t mutex;
    pthread_cond_t some;
    uint32_t *numbers;
    size_t count;
};

static void on_worker_write(void *ctx, const struct world_write *write) {
    struct finished *finished = ctx;
    if (write->verb != WORLD_DELETE || write->now || strcmp(write->plural, "jobs") != 0)
        return;
    pthread_mutex_lock(&finished->mutex);
    finished->numbers[finished->count++] = (uint32_t)strtoul(write->name + 4, NULL, 10);
    pthread_cond_signal(&finished->some);
    pthread_mutex_unlock(&finished->mutex);
}

static void submit(struct bench *bench, uint32_t number, const char *changes) {
    char name[32];
    snprintf(name, sizeof name, "job-%u", number);
    AUTO_JSON job = bench_job(name, changes, 0);
    front_lock(bench->fronts[0]);
    int status = world_apply(bench->clusters[0], "batch", "jobs", job, front_now_ns());
    front_unlock(bench->fronts[0]);
    if (status != 201)
        bench_fail("a Job was refused");
}

static void clear(struct bench *bench, uint32_t number) {
    char name[32];
    snprintf(name, sizeof name, "job-%u", number);
    front_lock(bench->fronts[0]);
    world_delete(bench->clusters[0], "batch", "jobs", "default", name, "Background", front_now_ns());
    front_unlock(bench->fronts[0]);
}

uint64_t bench_writes(struct bench *bench, uint64_t *events, uint64_t *refused) {
    uint64_t writes = 0;
    for (size_t c = 0; c < BENCH_CLUSTERS; c++) {
        front_lock(bench->fronts[c]);
        const struct world_counts *counts = world_counts(bench->clusters[c]);
        for (int v = WORLD_CREATE; v <= WORLD_DELETE; v++)
            writes += counts->writes[v];
        *events += counts->events;
        for (size_t s = 400; s < 600; s++)
            *refused += counts->refused[s];
        front_unlock(bench->fronts[c]);
    }
    return writes;
}

static size_t take_finished(struct finished *finished, uint32_t *numbers) {
    pthread_mutex_lock(&finished->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    while (finished->count == 0)
        if (pthread_cond_timedwait(&finished->some, &finished->mutex, &until) != 0)
            bench_fail("no Job came to its end for 30 s");
    size_t count = finished->count;
    memcpy(numbers, finished->numbers, count * sizeof *numbers);
    finished->count = 0;
    pthread_mutex_unlock(&finished->mutex);
    return count;
}

struct bench_rate bench_lives(struct bench *bench, size_t count, size_t in_flight, const char *changes) {
    struct finished finished = {.numbers = calloc(count, sizeof(uint32_t))};
    uint32_t *numbers = calloc(count, sizeof *numbers);
    if (!finished.numbers || !numbers)
        bench_fail("memory");
    pthread_mutex_init(&finished.mutex, NULL);
    pthread_cond_init(&finished.some, NULL);
    for (size_t c = 1; c < BENCH_CLUSTERS; c++) {
        front_lock(bench->fronts[c]);
        world_set_hook(bench->clusters[c], on_worker_write, &finished);
        front_unlock(bench->fronts[c]);
    }
    double cpu = bench_host_cpu(bench);
    uint64_t bytes = bench_bytes(bench);
    int64_t begin_ns = clock_now().mono_ns;
    size_t submitted = 0, over = 0;
    for (; submitted < in_flight && submitted < count; submitted++)
        submit(bench, (uint32_t)submitted, changes);
    while (over < count) {
        size_t n = take_finished(&finished, numbers);
        for (size_t i = 0; i < n; i++) {
            clear(bench, numbers[i]);
            if (submitted < count)
                submit(bench, (uint32_t)submitted++, changes);
        }
        over += n;
    }
    double seconds = (double)(clock_now().mono_ns - begin_ns) / 1e9;
    struct bench_rate rate = {.lives_per_second = (double)count / seconds,
                              .host_cpu_us = (bench_host_cpu(bench) - cpu) / (double)count * 1e6,
                              .bytes_per_life = (double)(bench_bytes(bench) - bytes) / (double)count};
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL); // the last Events
    uint64_t events = 0, refused = 0, writes = bench_writes(bench, &events, &refused);
    // The user's own create and delete are not the host's.
    rate.writes_per_life = (double)(writes - events) / (double)count - 2;
    rate.events_per_life = (double)events / (double)count;
    rate.refused = refused;
    for (size_t c = 1; c < BENCH_CLUSTERS; c++) {
        front_lock(bench->fronts[c]);
        world_set_hook(bench->clusters[c], NULL, NULL);
        front_unlock(bench->fronts[c]);
    }
    free(finished.numbers);
    free(numbers);
    return rate;
}

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
static void next_write(struct bare *bare, char *const *urls, int changes) {
    const char *worker = urls[1 + bare->number % BENCH_WORKERS];
    bool to_management = bare->step == 0 || (bare->step >= 2 && bare->step < 2 + changes);
    const char *method = to_management ? "PATCH" : bare->step == 1 ? "POST" : "DELETE";
    const char *jobs = "/apis/batch/v1/namespaces/default/jobs";
    snprintf(bare->url, sizeof bare->url,
             bare->step == 1                    ? "%s%s"
             : bare->step >= 2 && to_management ? "%s%s/job-%zu/status"
                                                : "%s%s/job-%zu",
             to_management ? urls[0] : worker, jobs, bare->number);
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

static struct bare *new_bare(size_t number) {
    struct bare *bare = calloc(1, sizeof *bare);
    if (!bare || !(bare->handle = curl_easy_init()))
        _exit(1);
    bare->number = number;
    bare->patch_headers = curl_slist_append(NULL, "Content-Type: application/merge-patch+json");
    bare->json_headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(bare->handle, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(bare->handle, CURLOPT_PRIVATE, bare);
    return bare;
}

// The child's whole work. Exits non-zero if a write was refused.
static void bare_loop(char *const *urls, size_t count, size_t in_parallel, int changes) {
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)in_parallel * 2);
    size_t started = 0, over = 0;
    for (; started < in_parallel && started < count; started++) {
        struct bare *bare = new_bare(started);
        next_write(bare, urls, changes);
        curl_multi_add_handle(multi, bare->handle);
    }
    while (over < count) {
        int running = 0, left = 0;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            CURL *handle = message->easy_handle;
            struct bare *bare = NULL;
            long code = 0;
            curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&bare);
            curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
            if (code < 200 || code > 299) {
                fprintf(stderr, "bench: the bare loop's write %d was answered %ld\n", bare->step, code);
                _exit(1);
            }
            curl_multi_remove_handle(multi, handle);
            if (++bare->step == 3 + changes) {
                over++;
                bare->step = 0;
                bare->number = started++;
            }
            if (bare->number < count) {
                next_write(bare, urls, changes);
                curl_multi_add_handle(multi, handle);
            }
        }
        curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    _exit(0);
}

double bench_bare_loop(struct bench *bench, size_t count, size_t in_parallel, int changes) {
    char *urls[BENCH_CLUSTERS];
    for (size_t c = 0; c < BENCH_CLUSTERS; c++)
        urls[c] = (char *)(uintptr_t)front_url(bench->fronts[c]);
    for (size_t i = 0; i < count; i++)
        submit(bench, (uint32_t)i, NULL);
    int64_t begin_ns = clock_now().mono_ns;
    pid_t child = fork();
    if (child == 0)
        bare_loop(urls, count, in_parallel, changes);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("the bare loop failed");
    return (double)count / ((double)(clock_now().mono_ns - begin_ns) / 1e9);
}
