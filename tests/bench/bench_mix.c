// SPDX-License-Identifier: Apache-2.0
// Whole lives of all kinds that come to an end: objects from the fixtures, in turn, whose controllers play the story
// "succeeded" (tests/world/player.h).
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"
#include "tests/world/player.h"

#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KINDS_MAX 32

struct mix {
    struct bench *bench;
    struct fixture *fixtures[KINDS_MAX];
    const struct world_kind *kinds[KINDS_MAX];
    size_t n_kinds;
    pthread_mutex_t mutex;
    pthread_cond_t some;
    uint32_t *over; // numbers of lives whose mirror was deleted
    size_t n_over;
};

static void must(struct error *error) {
    if (error)
        bench_fail(error_text(error));
}

static void on_worker_write(void *ctx, const struct world_write *write) {
    struct mix *mix = ctx;
    if (write->verb != WORLD_DELETE || write->now || strncmp(write->name, "mix-", 4) != 0)
        return;
    pthread_mutex_lock(&mix->mutex);
    mix->over[mix->n_over++] = (uint32_t)strtoul(write->name + 4, NULL, 10);
    pthread_cond_signal(&mix->some);
    pthread_mutex_unlock(&mix->mutex);
}

// Adapters that are built, but for job, which is enabled anyway.
static char *enabled(const char *build) {
    struct buffer text;
    buffer_init(&text, 1 << 20);
    AUTO_TEXT pattern = text_format("%s/adapters/*.so", build);
    glob_t found;
    if (!pattern || glob(pattern, 0, NULL, &found) != 0)
        bench_fail("there are no adapters");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        int len = (int)strcspn(name, ".");
        if (len != 3 || strncmp(name, "job", 3) != 0)
            buffer_printf(&text, "  - name: %.*s\n", len, name);
        if (len == 7 && strncmp(name, "generic", 7) == 0)
            buffer_text(&text, "    settings:\n");
        FILE *settings = len == 7 ? fopen("tests/fixtures/generic.yaml", "r") : NULL;
        char line[512];
        while (settings && fgets(line, sizeof line, settings))
            buffer_printf(&text, "      %s", line);
        if (settings)
            fclose(settings);
    }
    globfree(&found);
    return buffer_take(&text, NULL);
}

static void install(struct mix *mix, const char *folder) {
    struct fixture *fixture = NULL;
    must(fixture_load(folder, &fixture));
    const struct world_kind *kind = player_kind(fixture->plural);
    if (!kind || !fixture_story(fixture, "succeeded")) {
        fixture_free(fixture);
        return;
    }
    if (mix->n_kinds == KINDS_MAX)
        bench_fail("there are more kinds than the benchmark has room for");
    for (size_t c = 0; c < mix->bench->n_clusters; c++) {
        front_lock(mix->bench->fronts[c]);
        bool done =
            c == 0 ? world_register(mix->bench->clusters[c], kind) : player_install(mix->bench->clusters[c], fixture);
        front_unlock(mix->bench->fronts[c]);
        if (!done)
            bench_fail("a kind cannot be installed");
        if (c > 0) {
            front_lock(mix->bench->fronts[c]);
            world_set_hook(mix->bench->clusters[c], on_worker_write, mix);
            front_unlock(mix->bench->fronts[c]);
        }
    }
    mix->fixtures[mix->n_kinds] = fixture;
    mix->kinds[mix->n_kinds++] = kind;
}

static void submit(struct mix *mix, uint32_t number) {
    size_t which = number % mix->n_kinds;
    char name[32];
    snprintf(name, sizeof name, "mix-%u", number);
    AUTO_JSON object = json_copy(mix->fixtures[which]->workload);
    if (!object || !pointer_set(object, "/metadata/name", json_new_string(name)) ||
        !pointer_set(object, "/metadata/namespace", json_new_string("default")) ||
        !pointer_set(object, "/metadata/annotations/world.test~1step", json_new_string("10ms")))
        bench_fail("memory");
    front_lock(mix->bench->fronts[0]);
    int status = world_apply(mix->bench->clusters[0], mix->kinds[which]->group, mix->kinds[which]->plural, object,
                             front_now_ns());
    front_unlock(mix->bench->fronts[0]);
    if (status != 201)
        bench_fail(mix->kinds[which]->plural);
}

static void clear(struct mix *mix, uint32_t number) {
    const struct world_kind *kind = mix->kinds[number % mix->n_kinds];
    char name[32];
    snprintf(name, sizeof name, "mix-%u", number);
    front_lock(mix->bench->fronts[0]);
    world_delete(mix->bench->clusters[0], kind->group, kind->plural, "default", name, "Background", front_now_ns());
    front_unlock(mix->bench->fronts[0]);
}

_Noreturn static void give_up(struct mix *mix) {
    for (size_t i = 0; i < mix->n_kinds; i++) {
        fprintf(stderr, "bench: %s:", mix->kinds[i]->plural);
        for (size_t c = 0; c < mix->bench->n_clusters; c++) {
            front_lock(mix->bench->fronts[c]);
            fprintf(stderr, " %zu", world_count(mix->bench->clusters[c], mix->kinds[i]->group, mix->kinds[i]->plural));
            front_unlock(mix->bench->fronts[c]);
        }
        fputc('\n', stderr);
    }
    kill(mix->bench->host, SIGKILL);
    bench_fail("nothing came to its end for 30 s; the kinds have so many objects in each cluster");
}

// Waits until more than `known` lives are over; how many.
static size_t wait_for(struct mix *mix, size_t known) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&mix->mutex);
    while (mix->n_over == known)
        if (pthread_cond_timedwait(&mix->some, &mix->mutex, &until) != 0)
            give_up(mix);
    size_t count = mix->n_over;
    pthread_mutex_unlock(&mix->mutex);
    return count;
}

static void run(struct mix *mix, size_t count, size_t in_flight) {
    uint32_t submitted = 0;
    for (size_t over = 0; over < count;) {
        while (submitted < count && submitted < over + in_flight)
            submit(mix, submitted++);
        for (size_t now = wait_for(mix, over); over < now; over++)
            clear(mix, mix->over[over]);
    }
}

struct bench_rate bench_mix(struct bench *bench, size_t count, size_t in_flight, size_t *kinds) {
    struct mix mix = {.bench = bench, .over = calloc(count, sizeof(uint32_t))};
    glob_t found;
    pthread_mutex_init(&mix.mutex, NULL);
    pthread_cond_init(&mix.some, NULL);
    if (!mix.over || glob("tests/fixtures/*/workload.yaml", 0, NULL, &found) != 0)
        bench_fail("there are no fixtures");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        *strrchr(found.gl_pathv[i], '/') = '\0';
        install(&mix, found.gl_pathv[i]);
    }
    globfree(&found);
    *kinds = mix.n_kinds;
    bench->adapters = enabled(bench->build);
    bench_host_start(bench, "1ms");
    double cpu = bench_host_cpu(bench);
    uint64_t bytes = bench_bytes(bench);
    int64_t begin_ns = clock_now().mono_ns;
    run(&mix, count, in_flight);
    double seconds = (double)(clock_now().mono_ns - begin_ns) / 1e9;
    struct bench_rate rate = {.lives_per_second = (double)count / seconds,
                              .host_cpu_us = (bench_host_cpu(bench) - cpu) / (double)count * 1e6,
                              .bytes_per_life = (double)(bench_bytes(bench) - bytes) / (double)count};
    uint64_t events = 0;
    bench_writes(bench, &events, &rate.refused);
    bench_host_stop(bench);
    for (size_t c = 1; c < bench->n_clusters; c++) {
        front_lock(bench->fronts[c]);
        world_set_hook(bench->clusters[c], NULL, NULL);
        front_unlock(bench->fronts[c]);
    }
    // Fixtures stay until the process ends: the clusters use them.
    free(mix.over);
    return rate;
}
