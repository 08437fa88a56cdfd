// SPDX-License-Identifier: Apache-2.0
// Shared by the integration tests: a scene with wharf as a child, Jobs in one line, waiting for a condition.
#pragma once

#include "core/base/clock.h"
#include "tests/support/wharf_child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Fails the test, with the end of wharf's log, if the condition does not hold by then. It is evaluated after that once
// more: this process may not have run when the time was over.
#define UNTIL_NS(scene, deadline_ns, condition)                                                                        \
    do {                                                                                                               \
        int64_t until_ns_ = (deadline_ns), looked_ns_ = clock_now().mono_ns;                                           \
        for (; !(condition); looked_ns_ = clock_now().mono_ns)                                                         \
            stage_wait((scene), looked_ns_, until_ns_, #condition, __FILE__, __LINE__);                                \
    } while (0)

// The same for what takes this many seconds at most on an idle machine: a busy one gets a multiple of that.
#define UNTIL(scene, seconds, condition) UNTIL_NS(scene, stage_deadline_ns((seconds)*STAGE_PATIENCE), condition)
#define STAGE_PATIENCE 3

// From now on.
int64_t stage_deadline_ns(int64_t seconds);
// `looked_ns`: when the condition was evaluated last.
void stage_wait(struct scene *scene, int64_t looked_ns, int64_t until_ns, const char *condition, const char *file,
                int line);

// With sanitizers everything takes a multiple of its time.
#if defined(__has_feature) // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STAGE_SANITIZED 1
#endif
#endif
#if defined(STAGE_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STAGE_SLOW INT64_C(4)
#else
#define STAGE_SLOW INT64_C(1)
#endif

// Under ThreadSanitizer the share of a processor that is left decides how long something takes: latencies are printed
// there, and not compared.
#ifdef __SANITIZE_THREAD__
#define STAGE_COMPARES false
#else
#define STAGE_COMPARES true
#endif

// By when a host that was told to stop has ended: by its own clock it exits with 1 after ten seconds, and one more for
// its log; what this asserts is the exit code, not that nothing else held this machine up.
#define STAGE_END_NS (60 * STAGE_SLOW * CLOCK_SECOND)

// A scene whose pods start at once and run for 200 ms. `settings`: more of the configuration.
struct scene *stage_open(size_t workers, bool plain, const char *settings);
// The same, with wharf running and in sync.
struct scene *stage_run(size_t workers, bool plain, const char *settings);
void stage_start(struct scene *scene); // until wharf is ready
// Stops wharf by SIGTERM, after which it must exit with 0, and checks that no write was rejected as invalid.
void stage_close(struct scene *scene);

// A Job for this host. `spec`: more members, each followed by a comma. `annotations`: the same without the last comma.
void stage_submit_with(struct scene *scene, const char *name, const char *annotations, const char *spec);
void stage_submit(struct scene *scene, const char *name);
void stage_submit_many(struct scene *scene, const char *prefix, size_t count); // <prefix>0, <prefix>1, ...
// Its pods end once they are let: what is to be seen of it until then is there for as long as it takes.
void stage_submit_held(struct scene *scene, const char *name);
void stage_submit_many_held(struct scene *scene, const char *prefix, size_t count);
void stage_let_end(struct scene *scene); // those of now and of later
void stage_hold(struct scene *scene);    // those of later are held again

bool stage_has_condition(struct scene *scene, size_t cluster, const char *name, const char *type);
bool stage_is_complete(struct scene *scene, const char *name);
size_t stage_complete(struct scene *scene, const char *prefix); // how many of <prefix>0, <prefix>1, ... are Complete
// Where the annotations say that it is: 0 if they are absent, -1 for an unknown worker.
int stage_worker_of(struct scene *scene, const char *name);
bool stage_is_told(struct scene *scene, const char *name, const char *reason); // an Event on the workload
int64_t stage_attempt_of(struct scene *scene, const char *name);
size_t stage_mirrors(struct scene *scene);                            // Jobs in all workers
uint64_t stage_creates(struct scene *scene, size_t from, size_t end); // creates that these clusters have accepted
bool stage_is_connected(struct scene *scene, const char *cluster);    // as /metrics says
bool stage_takes_work(struct scene *scene, const char *worker);
bool stage_page_has(struct scene *scene, const char *path, const char *text); // a page of wharf that is 200
