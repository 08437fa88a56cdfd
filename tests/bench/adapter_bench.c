// SPDX-License-Identifier: Apache-2.0
// What a call into each adapter costs: the functions of each kind with the fixtures' objects, padded to 10 KB. Prints a
// row a kind with the median of its costliest function, then a row a call for a Job of 4 KB, with the adapter in a
// process of its own. Nothing here fails on a time.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "tests/support/fixture.h"
#include "tests/support/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 2001
#define SIZE ((size_t)10000)
#define ISOLATED_SIZE ((size_t)4096)

static size_t wanted_size = SIZE;

_Noreturn static void give_up(const char *what, struct error *error) {
    fprintf(stderr, "adapter_bench: %s%s%s\n", what, error ? ": " : "", error ? error_text(error) : "");
    exit(1);
}

// One that is not loaded ends the program.
static void need_all(const struct shipped *shipped) {
    if (shipped->problems.count > 0)
        give_up(shipped->problems.list[0], NULL);
}

static size_t pad(struct json *object) {
    size_t len = 0;
    AUTO_TEXT text = json_text(object, &len);
    size_t more = text && len < wanted_size ? wanted_size - len : 0;
    for (unsigned i = 0; more > 0; i++) { // in labels of ordinary length rather than in one long string
        char pointer[64], value[64];
        snprintf(pointer, sizeof pointer, "/metadata/annotations/bench.example.com~1padding-%u", i);
        snprintf(value, sizeof value, "%040u", i);
        if (!pointer_set(object, pointer, json_new_string(value)))
            give_up("out of memory", NULL);
        more -= more < 80 ? more : 80;
    }
    return len < wanted_size ? wanted_size : len;
}

enum function { PHASE, MIRROR, UPDATE, STATUS, FUNCTIONS };

struct subject {
    const struct kind *kind;
    struct json *workload, *mirror;
};

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

static int64_t one_call(const struct subject *s, enum function function) {
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &s->kind->abi,
                                                     .given = s->kind->given,
                                                     .now = clock_now(),
                                                     .cluster = "w1",
                                                     .attempt = 1,
                                                     .version = s->kind->abi.versions[0],
                                                     .mirror_state = WHARF_MIRROR_PRESENT});
    const struct json *from = function == STATUS ? json_get(s->mirror, "status") : s->mirror;
    AUTO_JSON copy = from ? json_copy(from) : json_new_object();
    wharf_phase phase;
    int64_t start_ns = cpu_ns();
    if (function == PHASE)
        adapter_phase(&call, s->workload, &phase);
    else if (function == MIRROR)
        adapter_mirror(&call, s->workload, copy);
    else if (function == UPDATE)
        adapter_update(&call, s->workload, s->mirror, copy);
    else
        adapter_status(&call, s->workload, s->mirror, copy);
    int64_t end_ns = cpu_ns();
    adapter_call_end(&call);
    return end_ns - start_ns;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Sorts them; in microseconds.
static double median_of(int64_t times_ns[CALLS]) {
    qsort(times_ns, CALLS, sizeof times_ns[0], by_size);
    const size_t middle = CALLS / 2;
    return (double)times_ns[middle] / 1000;
}

static double median_us(const struct subject *s, enum function function) {
    static int64_t times_ns[CALLS];
    for (size_t i = 0; i < CALLS; i++)
        times_ns[i] = one_call(s, function);
    return median_of(times_ns);
}

// The object with its last status that is not the end, and the mirror that the host makes of it.
static void make_subject(const struct kind *kind, const struct fixture *fixture, struct subject *s) {
    s->kind = kind;
    s->workload = json_copy(fixture->workload);
    const struct json *status = NULL;
    for (size_t i = 0; i < fixture->n_stories; i++) {
        const struct story *story = &fixture->stories[i];
        for (size_t j = 0; j < story->n_steps; j++)
            status = story->steps[j].status ? story->steps[j].status : status;
    }
    pointer_set(s->workload, "/metadata/uid", json_new_string("6f1c2f9e-7d0c-4d0e-9a53-0c1a3b1f2d4e"));
    pointer_set(s->workload, "/metadata/namespace", json_new_string("default"));
    if (status)
        json_set(s->workload, "status", json_copy(status));
    pad(s->workload);
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind->abi, .given = kind->given, .attempt = 1});
    struct mirror_context job = {.kind = kind, .origin = "bench", .call = &call, .workload = s->workload, .attempt = 1};
    if (mirror_make(&job, &s->mirror) != WHARF_OK)
        give_up("a mirror is refused", NULL);
    if (status)
        json_set(s->mirror, "status", json_copy(status));
    adapter_call_end(&call);
}

static void measure(const struct kind *kind) {
    static const char *const names[] = {"phase", "mirror", "update", "status"};
    AUTO_TEXT folder = text_format("tests/fixtures/%s", kind->abi.plural);
    struct fixture *fixture = NULL;
    struct error *error = fixture_load(folder, &fixture);
    if (error)
        give_up(folder, error);
    struct subject subject;
    make_subject(kind, fixture, &subject);
    double worst = 0;
    const char *which = names[0];
    for (enum function f = PHASE; f < FUNCTIONS; f++) {
        double us = median_us(&subject, f);
        which = us > worst ? names[f] : which;
        worst = us > worst ? us : worst;
    }
    AUTO_TEXT what = text_format("call into %s, 10 KB, median of the costliest (%s), us", kind->abi.kind, which);
    printf("%-66s %-18s %10.2f\n", what ? what : "", "< 20", worst);
    json_free(subject.workload);
    json_free(subject.mirror);
    fixture_free(fixture);
}

// -- in a process of its own --

// Another number of pods, so that no answer is known already.
static void vary(struct json *object, size_t number) {
    if (!pointer_set(object, "/status/active", json_new_int64((int64_t)number + 1)))
        give_up("out of memory", NULL);
}

// `known`: the process has the workload, and the mirror is new; else the workload is new.
static double isolated_us(const struct subject *s, enum function function, bool known) {
    static int64_t times_ns[CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        struct subject own = *s;
        AUTO_JSON workload = json_copy(s->workload);
        AUTO_JSON mirror = json_copy(s->mirror);
        vary(known ? mirror : workload, i);
        own.workload = known ? s->workload : workload;
        own.mirror = mirror;
        times_ns[i] = one_call(&own, function);
    }
    return median_of(times_ns);
}

static void measure_isolated(void) {
    struct shipped shipped;
    shipped_load_one(&shipped, "job", true);
    need_all(&shipped);
    struct fixture *fixture = NULL;
    struct error *error = fixture_load("tests/fixtures/jobs", &fixture);
    if (error)
        give_up("tests/fixtures/jobs", error);
    struct subject subject;
    wanted_size = ISOLATED_SIZE;
    make_subject(shipped.adapters->kinds[0], fixture, &subject);
    const struct {
        const char *what;
        enum function function;
        bool known;
    } rows[] = {{"phase of a new Job", PHASE, false},
                {"mirror of a known Job", MIRROR, true},
                {"status of a known Job and a new mirror", STATUS, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT what = text_format("isolated Job, 4 KB, median: %s, us", rows[i].what);
        printf("%-66s %-18s %10.2f\n", what ? what : "", "< 30",
               isolated_us(&subject, rows[i].function, rows[i].known));
    }
    json_free(subject.workload);
    json_free(subject.mirror);
    fixture_free(fixture);
    shipped_free(&shipped);
}

int main(void) {
    struct shipped shipped;
    shipped_load(&shipped, false);
    need_all(&shipped);
    for (size_t i = 0; i < shipped.adapters->n_kinds; i++)
        measure(shipped.adapters->kinds[i]);
    shipped_free(&shipped);
    measure_isolated();
    return 0;
}
