// SPDX-License-Identifier: Apache-2.0
// How many whole lives of a Job the engine decides in a second, alone on one core: no HTTP, no threads, no world. The
// program plays both API servers in the simplest way that is still true (every answer carries the object as it is after
// the write), and counts only the time spent in engine_step, without that of reading the clock; the time for making the
// objects is told apart. Then the same for changes of the statuses of some among many workloads. Arguments: how many
// lives; how many workloads only (0: all); "isolated", for the lives with the adapter in a process of its own, too,
// whose time includes that of waiting for the process.
#include "core/adapter/process/process.h"
#include "core/engine/engine.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/support/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 3
#define WORKERS_MAX 50
#define IN_PARALLEL 200 // lives that are under way at the same time
#define CHANGES 20000
#define ACTIVE 1000 // of the workloads, whose statuses change

struct life {
    struct json *workload, *mirror;
    size_t worker;
    int statuses; // mirror statuses told so far
    bool over;
};

struct bench {
    struct engine *engine;
    struct update update;
    struct life *lives;
    size_t n_lives, n_workers, started, over;
    bool stay; // lives stop at the first status
    uint64_t version, writes[8];
    int64_t engine_ns;
    struct command *todo;
    size_t n_todo, cap_todo;
};

static const char template[] =
    "{\"apiVersion\":\"batch/"
    "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"x\",\"namespace\":\"default\",\"uid\":\"x\","
    "\"resourceVersion\":\"1\",\"generation\":1,\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"app\":"
    "\"train\",\"team\":\"a\"},"
    "\"annotations\":{\"example.com/owner\":\"someone@example.com\"}},\"spec\":{\"managedBy\":\"wharf.dev/"
    "host\",\"parallelism\":4,"
    "\"completions\":4,\"backoffLimit\":6,\"completionMode\":\"NonIndexed\",\"suspend\":false,\"podReplacementPolicy\":"
    "\"TerminatingOrFailed\","
    "\"selector\":{\"matchLabels\":{\"batch.kubernetes.io/"
    "controller-uid\":\"x\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"train\","
    "\"batch.kubernetes.io/controller-uid\":\"x\",\"batch.kubernetes.io/"
    "job-name\":\"x\",\"controller-uid\":\"x\",\"job-name\":\"x\"}},"
    "\"spec\":{\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
    "\"containers\":[{\"name\":\"main\","
    "\"image\":\"example.com/"
    "train:1\",\"command\":[\"python\",\"-m\",\"train\"],\"env\":[{\"name\":\"EPOCHS\",\"value\":\"10\"}],"
    "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}},\"terminationMessagePath\":\"/dev/"
    "termination-log\"}]}}},\"status\":{}}";

static const char *const statuses[] = {"{\"startTime\":\"2026-01-02T03:04:06Z\",\"active\":4,\"ready\":4,"
                                       "\"terminating\":0,\"uncountedTerminatedPods\":{}}",
                                       "{\"startTime\":\"2026-01-02T03:04:06Z\",\"active\":0,\"ready\":0,"
                                       "\"terminating\":0,\"succeeded\":4,\"uncountedTerminatedPods\":{},"
                                       "\"completionTime\":\"2026-01-02T03:04:09Z\",\"conditions\":["
                                       "{\"type\":\"SuccessCriteriaMet\",\"status\":\"True\",\"reason\":"
                                       "\"CompletionsReached\",\"lastTransitionTime\":\"2026-01-02T03:04:09Z\"},"
                                       "{\"type\":\"Complete\",\"status\":\"True\",\"reason\":\"CompletionsReached\","
                                       "\"lastTransitionTime\":\"2026-01-02T03:04:09Z\"}]}"};
#define STATUSES (sizeof statuses / sizeof statuses[0])

static void check(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "engine_bench: %s\n", what);
        exit(1);
    }
}

static struct json *parsed(const char *text, size_t len) {
    struct json *value = NULL;
    check(!json_parse(text, len, &value), "JSON that does not parse");
    return value;
}

static void new_version(struct bench *b, struct json *object) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)++b->version);
    check(pointer_set(object, "/metadata/resourceVersion", json_new_string(text)), "memory");
}

static struct object *snapshot(const struct json *value) {
    struct object *object = NULL;
    check(!object_new(json_copy(value), NULL, NULL, &object), "an object that is none");
    return object;
}

static bool isolated; // time that the engine waits for the adapter's process counts

static int64_t used_ns(clockid_t clock) {
    struct timespec used;
    clock_gettime(clock, &used);
    return used.tv_sec * CLOCK_SECOND + used.tv_nsec;
}

static int64_t cpu_ns(void) {
    return used_ns(isolated ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

static int64_t clock_cost_ns; // that reading the clock adds to what is measured

static void measure_clock(void) {
    int64_t sum_ns = 0;
    for (int i = 0; i < 10000; i++) {
        int64_t begin_ns = cpu_ns();
        sum_ns += cpu_ns() - begin_ns;
    }
    clock_cost_ns = sum_ns / 10000;
    printf("engine: reading the clock takes %lld ns, which are not counted\n", (long long)clock_cost_ns);
}

static void step(struct bench *b, struct engine_event *event) {
    event->now = clock_now();
    int64_t begin_ns = cpu_ns();
    engine_step(b->engine, event, &b->update);
    b->engine_ns += cpu_ns() - begin_ns - clock_cost_ns;
    for (size_t i = 0; i < b->update.n_commands; i++) {
        if (b->n_todo == b->cap_todo) {
            b->cap_todo = b->cap_todo ? b->cap_todo * 2 : 64;
            b->todo = realloc(b->todo, b->cap_todo * sizeof *b->todo);
            check(b->todo, "memory");
        }
        b->todo[b->n_todo++] = b->update.commands[i];
    }
    b->update.n_commands = 0;
    update_clear(&b->update);
}

static void tell(struct bench *b, enum event_type type, size_t cluster, const struct json *value) {
    step(b, &(struct engine_event){.type = type, .cluster = cluster, .object = snapshot(value)});
}

static void answer(struct bench *b, uint64_t id, const struct json *value) {
    struct response response = {
        .reason = REASON_OK, .code = 200, .retry_after_ns = -1, .object = value ? snapshot(value) : NULL};
    step(b, &(struct engine_event){.type = EVENT_ANSWER, .answer = {id, &response}});
    response_clear(&response);
}

static void start_life(struct bench *b) {
    size_t index = b->started++;
    struct life *life = &b->lives[index];
    char name[32], uid[40];
    snprintf(name, sizeof name, "job-%zu", index);
    snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012zu", index);
    life->workload = parsed(template, sizeof template - 1);
    check(pointer_set(life->workload, "/metadata/name", json_new_string(name)) &&
              pointer_set(life->workload, "/metadata/uid", json_new_string(uid)),
          "memory");
    new_version(b, life->workload);
    tell(b, EVENT_SEEN, ENGINE_MANAGEMENT, life->workload);
}

// The worker's controller goes one step on.
static void progress(struct bench *b, struct life *life) {
    const char *status = statuses[life->statuses++];
    check(json_set(life->mirror, "status", parsed(status, strlen(status))), "memory");
    new_version(b, life->mirror);
    tell(b, EVENT_SEEN, life->worker, life->mirror);
}

static void serve_management(struct bench *b, struct life *life, const struct command *command) {
    AUTO_JSON patch = parsed(command->request.body, command->request.body_len);
    json_remove(json_get(patch, "metadata"), "resourceVersion");
    check(patch_apply(&life->workload, patch), "memory");
    new_version(b, life->workload);
    answer(b, command->id, life->workload);
    tell(b, EVENT_SEEN, ENGINE_MANAGEMENT, life->workload);
    if (command->request.verb == VERB_STATUS_PATCH && life->statuses < (int)STATUSES && !b->stay)
        progress(b, life);
}

static void serve_worker(struct bench *b, struct life *life, const struct command *command) {
    if (command->request.verb == VERB_CREATE) {
        life->worker = command->cluster;
        life->mirror = parsed(command->request.body, command->request.body_len);
        static const char *const generated[] = {"/metadata/uid", "/spec/selector", "/spec/template/metadata/labels"};
        for (size_t i = 0; i < sizeof generated / sizeof generated[0]; i++) // by the worker's API server
            check(pointer_set(life->mirror, generated[i], json_copy(pointer_find(life->workload, generated[i]))),
                  "memory");
        new_version(b, life->mirror);
        answer(b, command->id, life->mirror);
        tell(b, EVENT_SEEN, life->worker, life->mirror);
        progress(b, life);
        return;
    }
    check(command->request.verb == VERB_DELETE, "a write that a life does not need");
    answer(b, command->id, NULL);
    new_version(b, life->mirror);
    tell(b, EVENT_GONE, life->worker, life->mirror);
    tell(b, EVENT_GONE, ENGINE_MANAGEMENT, life->workload);
    json_free(life->workload);
    json_free(life->mirror);
    life->workload = life->mirror = NULL;
    b->over++;
    if (b->started < b->n_lives)
        start_life(b);
}

static void serve(struct bench *b) {
    struct command command = b->todo[--b->n_todo];
    size_t index = (size_t)strtoull(command.request.name + 4, NULL, 10);
    b->writes[command.request.verb]++;
    if (command.cluster == ENGINE_MANAGEMENT)
        serve_management(b, &b->lives[index], &command);
    else
        serve_worker(b, &b->lives[index], &command);
    command_free(&command);
}

static void connect_all(struct bench *b) {
    for (size_t c = 0; c <= b->n_workers; c++) {
        char uid[16];
        snprintf(uid, sizeof uid, "cluster-%zu", c);
        step(b, &(struct engine_event){.type = EVENT_IDENTITY, .cluster = c, .identity = {.uid = uid, .version = "1"}});
        step(b, &(struct engine_event){.type = EVENT_LISTING, .cluster = c, .version = "v1"});
        step(b, &(struct engine_event){.type = EVENT_LISTED, .cluster = c, .version = "v1"});
        step(b, &(struct engine_event){.type = EVENT_STATE, .cluster = c, .watch = {.state = REFLECTOR_CONNECTED}});
    }
}

// The engine keeps pointers to the names and `kinds`.
static void begin(struct bench *b, struct kind *const *kinds, const struct seal_keys *seals) {
    static char texts[WORKERS_MAX][16];
    static const char *names[WORKERS_MAX];
    for (size_t i = 0; i < b->n_workers; i++) {
        snprintf(texts[i], sizeof texts[i], "w%zu", i + 1);
        names[i] = texts[i];
    }
    struct engine_options options = {.origin = "bench",
                                     .worker_names = names,
                                     .n_workers = b->n_workers,
                                     .kinds = kinds,
                                     .n_kinds = 1,
                                     .settings.worker_lost_timeout_ns = 15 * CLOCK_MINUTE,
                                     .settings.mirror_retention_ns = 0,
                                     .seals = seals,
                                     .ticks = clock_ticks,
                                     .seed = 1};
    check(!engine_new(&options, clock_now(), &b->engine), "no engine");
    b->lives = calloc(b->n_lives, sizeof *b->lives);
    check(b->lives, "memory");
    connect_all(b);
    b->engine_ns = 0;
}

static void end(struct bench *b) {
    for (size_t i = 0; i < b->n_lives; i++) {
        json_free(b->lives[i].workload);
        json_free(b->lives[i].mirror);
    }
    free(b->lives);
    free(b->todo);
    update_free(&b->update);
    engine_free(b->engine);
}

static void run_lives(size_t n_lives, struct kind *kind, const struct seal_keys *seals) {
    struct bench b = {.n_lives = n_lives, .n_workers = WORKERS};
    begin(&b, &kind, seals);
    int64_t begin_ns = clock_now().mono_ns;
    for (size_t i = 0; i < IN_PARALLEL && b.started < b.n_lives; i++)
        start_life(&b);
    while (b.over < b.n_lives)
        if (b.n_todo)
            serve(&b);
        else
            step(&b, &(struct engine_event){.type = EVENT_TIME});
    double total_s = (double)(clock_now().mono_ns - begin_ns) / 1e9, engine_s = (double)b.engine_ns / 1e9,
           n = (double)b.n_lives;
    uint64_t writes =
        b.writes[VERB_MERGE_PATCH] + b.writes[VERB_CREATE] + b.writes[VERB_STATUS_PATCH] + b.writes[VERB_DELETE];
    printf("engine: %zu lives, %s%s, %.0f lives/s in the engine (%.1f us each), %.0f lives/s with making the objects, "
           "%.2f writes a life (%zu status changes)\n",
           b.n_lives, seals ? "sealed" : "not sealed", isolated ? ", in a process" : "", n / engine_s,
           engine_s / n * 1e6, n / total_s, (double)writes / n, STATUSES);
    end(&b);
}

// One more pod is ready, or one less.
static void change(struct bench *b, struct life *life, size_t number) {
    const size_t ready = 1 + number / ACTIVE % 3;
    check(pointer_set(life->mirror, "/status/ready", json_new_int64((int64_t)ready)), "memory");
    new_version(b, life->mirror);
    tell(b, EVENT_SEEN, life->worker, life->mirror);
    while (b->n_todo)
        serve(b);
}

static void run_changes(size_t n_lives, size_t n_workers, struct kind *kind) {
    struct bench b = {.n_lives = n_lives, .n_workers = n_workers, .stay = true};
    begin(&b, &kind, NULL);
    while (b.started < n_lives) {
        start_life(&b);
        while (b.n_todo)
            serve(&b);
    }
    double start_us = (double)b.engine_ns / 1e3 / (double)n_lives;
    uint64_t before = b.writes[VERB_STATUS_PATCH];
    b.engine_ns = 0;
    for (size_t i = 0; i < CHANGES; i++) // spread over all of them
        change(&b, &b.lives[i % ACTIVE * (n_lives / ACTIVE)], i);
    printf("engine: %zu workloads, %zu workers: %.1f us to the first status of each, %.1f us a change of a status, "
           "%.2f writes a change\n",
           n_lives, n_workers, start_us, (double)b.engine_ns / 1e3 / CHANGES,
           (double)(b.writes[VERB_STATUS_PATCH] - before) / CHANGES);
    end(&b);
}

// With the Job adapter of the build in a process of its own.
static void run_isolated(size_t n_lives, const struct seal_keys *seals) {
    struct shipped shipped;
    shipped_load_one(&shipped, "job", true);
    check(shipped.problems.count == 0, shipped.problems.count > 0 ? shipped.problems.list[0] : "");
    const struct adapters *adapters = shipped.adapters;
    struct adapter_state state;
    isolated = true;
    measure_clock();
    int64_t own_ns = used_ns(CLOCK_THREAD_CPUTIME_ID);
    run_lives(n_lives, adapters->kinds[0], NULL);
    run_lives(n_lives, adapters->kinds[0], seals);
    own_ns = used_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
    check(adapter_process_state(adapters->list[0], &state) && state.ends == 0, "the process has ended");
    clockid_t clock;
    check(clock_getcpuclockid(state.pid, &clock) == 0, "no processor time of the process");
    printf(
        "engine: the process of the Job adapter has %.1f MiB; a life takes %.1f us of its processor time, and %.1f us "
        "with making the objects here\n",
        (double)state.memory / (1 << 20), (double)used_ns(clock) / 2e3 / (double)n_lives,
        (double)own_ns / 2e3 / (double)n_lives);
    shipped_free(&shipped);
    isolated = false;
}

int main(int argc, char **argv) {
    static const char key[] = "the key of all lives in the bench";
    const void *const keys[] = {key};
    const size_t lens[] = {sizeof key - 1};
    size_t n_lives = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 40000;
    const wharf_module *module = &wharf_module_v1;
    *module->host = services_table();
    struct kind *kind = NULL;
    struct seal_keys *seals = NULL;
    check(!kind_check(module->kinds[0], NULL, "wharf.dev/host", &kind), "the Job adapter is refused");
    check(!seal_keys_new(keys, lens, 1, &seals), "no key");
    measure_clock();
    run_lives(n_lives, kind, NULL);
    run_lives(n_lives, kind, seals);
    static const size_t workloads[] = {1000, 10000, 100000}, workers[] = {2, WORKERS_MAX};
    size_t only = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++)
            if (!only || only == workloads[i])
                run_changes(workloads[i], workers[k], kind);
    if (argc > 3)
        run_isolated(n_lives, seals);
    seal_keys_free(seals);
    kind_free(kind);
    return 0;
}
