// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/fault/fault.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS ((size_t)1 << 16) // a power of two, far more than what is alive at a time
#define REMOVED ((void *)&live)

static struct {
    enum fault_mode mode;
    size_t nth, seen;
    bool armed, paused, hit;
} plan;
static void *blocks[SLOTS]; // open addressing
static size_t live, used;

// The names that the linker's --wrap gives.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void __real_free(void *block);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
int __real_vasprintf(char **out, const char *format, va_list args);

static size_t slot_of(const void *block) {
    return (size_t)(((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 40) & (SLOTS - 1);
}

static void *remember(void *block) {
    if (!block)
        return NULL;
    size_t slot = slot_of(block);
    while (blocks[slot] && blocks[slot] != REMOVED)
        slot = (slot + 1) & (SLOTS - 1);
    used += !blocks[slot];
    if (used > SLOTS / 2)
        abort();
    blocks[slot] = block;
    live++;
    return block;
}

static void rebuild(void) {
    void **alive = __real_malloc((live + 1) * sizeof *alive);
    size_t count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (blocks[i] && blocks[i] != REMOVED)
            alive[count++] = blocks[i];
    memset(blocks, 0, sizeof blocks);
    live = used = 0;
    for (size_t i = 0; i < count; i++)
        remember(alive[i]);
    __real_free(alive);
}

// Blocks from elsewhere (libraries) are not known, and need not be.
static void forget(const void *block) {
    if (!block)
        return;
    for (size_t slot = slot_of(block); blocks[slot]; slot = (slot + 1) & (SLOTS - 1)) {
        if (blocks[slot] != block)
            continue;
        blocks[slot] = REMOVED;
        live--;
        if (used > SLOTS / 4)
            rebuild();
        return;
    }
}

static bool fails(void) {
    if (!plan.armed || plan.paused)
        return false;
    plan.seen++;
    bool now = plan.mode == FAULT_ONE ? plan.seen == plan.nth : plan.seen >= plan.nth;
    plan.hit = plan.hit || now;
    if (now)
        errno = ENOMEM;
    return now;
}

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
    return fails() ? NULL : remember(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : remember(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size) {
    if (fails())
        return NULL;
    forget(old);
    return remember(__real_realloc(old, size));
}

void *__wrap_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size) {
    if (fails())
        return NULL;
    forget(old);
    return remember(__real_reallocarray(old, count, size));
}

void __wrap_free(void *block);
void __wrap_free(void *block) {
    forget(block);
    __real_free(block);
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
    return fails() ? NULL : remember(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t len);
char *__wrap_strndup(const char *text, size_t len) {
    return fails() ? NULL : remember(__real_strndup(text, len));
}

int __wrap_vasprintf(char **out, const char *format, va_list args);
int __wrap_vasprintf(char **out, const char *format, va_list args) {
    if (fails())
        return -1;
    int len = __real_vasprintf(out, format, args);
    if (len >= 0)
        remember(*out);
    return len;
}

int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list args);
int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list args) {
    (void)flag;
    return __wrap_vasprintf(out, format, args);
}

void *__wrap_cJSON_malloc(size_t size);
void *__wrap_cJSON_malloc(size_t size) {
    return __wrap_malloc(size);
}

void __wrap_cJSON_free(void *block);
void __wrap_cJSON_free(void *block) {
    __wrap_free(block);
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

void fault_arm(enum fault_mode mode, size_t nth) {
    plan.mode = mode;
    plan.nth = nth;
    plan.seen = 0;
    plan.hit = plan.paused = false;
    plan.armed = true;
}

bool fault_disarm(void) {
    plan.armed = false;
    return plan.hit;
}

bool fault_hit(void) {
    return plan.hit;
}

void fault_pause(void) {
    plan.paused = true;
}

void fault_resume(void) {
    plan.paused = false;
}

size_t fault_live(void) {
    return live;
}

// With FAULT_GO_ON in the environment all that is wrong is printed, not only the first thing.
__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!getenv("FAULT_GO_ON"))
        fail_msg("%s", text);
    print_message("             %s\n", text);
}

// One run; false if nothing was made to fail, which ends the trying.
static bool try_one(const struct fault_case *c, enum fault_mode mode, size_t nth) {
    static const char *const modes[] = {"alone", "with all later ones"};
    size_t before = live;
    void *out = NULL;
    fault_arm(mode, nth);
    struct error *error = c->run(&out);
    bool hit = fault_disarm();
    if (error && (!hit || error->code != ERROR_NO_MEMORY))
        complain("%s: allocation %zu failing %s: %s", c->name, nth, modes[mode], error_text(error));
    if (!error && !hit && c->right && !c->right(out))
        fail_msg("%s: a wrong result, and nothing was made to fail", c->name);
    if (!error && c->right && !c->right(out))
        complain("%s: allocation %zu failing %s: no error, and a wrong result", c->name, nth, modes[mode]);
    if (!error && c->drop)
        c->drop(out);
    error_free(error);
    if (live != before)
        complain("%s: allocation %zu failing %s: %zu blocks leak", c->name, nth, modes[mode], live - before);
    return hit;
}

void fault_try(const struct fault_case *c) {
    size_t tried = 0;
    for (int mode = FAULT_ONE; mode <= FAULT_ALL_FROM; mode++) {
        size_t nth = 1;
        while (try_one(c, (enum fault_mode)mode, nth))
            nth++;
        tried += nth - 1;
    }
    if (tried == 0)
        fail_msg("%s: nothing was allocated, so nothing was tried", c->name);
    print_message("             %s: %zu failures\n", c->name, tried);
}
