// SPDX-License-Identifier: Apache-2.0
// One test server with one curl transport to it, and what the handlers of an exchange were told.
#pragma once

#include "core/base/buffer.h"
#include "core/base/text.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/unit/kube/pki.h"
#include "tests/unit/kube/tls_server.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE (20 * CLOCK_SECOND)

// One server with one transport to it.
struct world {
    struct pki_pair ca, cert;
    struct server *server;
    struct endpoint endpoint;
    struct transport *transport;
    sem_t gate; // what the server waits for before it goes on
    atomic_int asked, released;
};

// What the handlers of an exchange were told.
struct answer {
    struct world *world;
    uint64_t id;
    bool done, opened, stalled;
    enum http_outcome outcome;
    int status;
    int64_t retry_after_ns;
    struct buffer body, data;
    char content_type[64], warning[256], problem[512];
    bool (*on_data)(struct answer *answer);
    void (*on_done)(struct answer *answer);
    bool opened_before_data;
    struct answer *other;
};

// cmocka fixtures. A world has a TLS server on 127.0.0.1 whose pages are in net_world.c, and an endpoint for it; with a
// transport from the start or from world_connect.
int world_setup(void **state);
int world_setup_connected(void **state);
int world_teardown(void **state);
void world_open(struct world *world); // without a server
void world_connect(struct world *world);
bool world_serve(void *world, struct peer *peer, const char *request);

#define with_world(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)
#define with_transport(test) cmocka_unit_test_setup_teardown(test, world_setup_connected, world_teardown)

// curl_transport_setup, and silence for warnings. False if it failed.
bool world_ready(void);

char *write_temporary(const char *content);
void rewrite(const char *path, const char *content);
void remove_temporary(char *path);

void answer_init(struct answer *answer, struct world *world);
void answer_free(struct answer *answer);
const char *text_of(const struct buffer *buffer);

// Submits a request whose handlers fill in `answer`. max_body 0: 1 MiB.
void submit(struct answer *answer, const struct http_request *request);

// Initialises `answer`, submits, and waits for the end.
void ask(struct answer *answer, struct world *world, const struct http_request *request);

#define poll_until(world, condition)                                                                                   \
    do {                                                                                                               \
        int64_t begin_ns = clock_now().mono_ns;                                                                        \
        while (!(condition)) {                                                                                         \
            curl_transport_poll((world)->transport, 10 * CLOCK_MS);                                                    \
            assert_true(clock_now().mono_ns - begin_ns < PATIENCE);                                                    \
        }                                                                                                              \
    } while (0)
