// SPDX-License-Identifier: Apache-2.0
// A watcher on a fake transport and virtual time, with its events as text.
#pragma once

#include "core/host/watchers/watcher.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

struct stand {
    struct fake_transport fake;
    struct cluster_scope scope;
    const struct watcher *row;
    void *watch;
    struct buffer told;
    struct moment now;
};

static inline void expect(struct stand *stand, const char *text) {
    assert_string_equal(stand->told.data ? stand->told.data : "", text);
    buffer_free(&stand->told);
}

static inline void pass(struct stand *stand, int64_t ns) {
    stand->now.mono_ns += ns;
    for (int i = 0; i < 4; i++) {
        if (stand->row->step)
            (void)stand->row->step(stand->watch, stand->now);
        else
            (void)watcher_tick_watches(stand->watch, true, stand->now);
        (void)client_tick(stand->scope.client, stand->now);
    }
}

// `scope`: what concerns the watcher. `take` appends to `told`.
static inline void start(struct stand *stand, const struct watcher *row, const struct cluster_scope *scope,
                         void (*take)(void *ctx, struct engine_event *event)) {
    *stand = (struct stand){.scope = *scope, .row = row, .now = {1000 * CLOCK_SECOND, 1767323045 * CLOCK_SECOND}};
    fake_init(&stand->fake);
    buffer_init(&stand->told, 1 << 20);
    stand->scope.name = "w1";
    stand->scope.transport = &stand->fake.base;
    stand->scope.seed = 1;
    stand->scope.post = take;
    stand->scope.ctx = stand;
    struct client_options client = {.cluster = "w1", .transport = &stand->fake.base};
    assert_null(client_new(&client, &stand->scope.client));
    assert_null(watcher_start(row, &stand->scope, &stand->watch));
    pass(stand, 0);
}

static inline void end(struct stand *stand) {
    watcher_stop(stand->row, stand->watch);
    client_free(stand->scope.client);
    buffer_free(&stand->told);
    fake_free(&stand->fake);
}

static inline void notify(struct stand *stand, const struct cluster_notice *notice) {
    stand->row->handle(stand->watch, notice);
}

static inline size_t find(struct stand *stand, const char *path) {
    return fake_find(&stand->fake, path);
}

static inline void answer(struct stand *stand, const char *path, int status, const char *body) {
    fake_answer(&stand->fake, fake_asked(&stand->fake, path), status, body);
    pass(stand, 0);
}

static inline void open_stream(struct stand *stand, const char *path) {
    fake_open(&stand->fake, fake_asked(&stand->fake, path));
    pass(stand, 0);
}

static inline void change(struct stand *stand, const char *path, const char *event) {
    assert_true(fake_data(&stand->fake, fake_asked(&stand->fake, path), event, strlen(event)));
    pass(stand, 0);
}
