// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the HTTP front: the daemon (http_front.c) and the handling of requests (http_answer.c).
#pragma once

#include "tests/world/http_front.h"

#include <microhttpd.h>
#include <pthread.h>

struct incoming;

struct cluster_connection {
    struct cluster_connection *next, *previous; // of the front
    int fd;
    bool verified; // its client showed a certificate that the CA signed
    bool busy;     // with a request
};

struct front {
    struct world_cluster *cluster;
    struct MHD_Daemon *daemon;       // NULL: down
    struct cluster_connection *open; // guarded by `mutex`, like `leaving`
    bool leaving;
    struct certs certs;
    bool tls, closing, ends;
    uint16_t port;
    char *url;
    enum front_fault fault;
    uint64_t requests, bytes;
    pthread_mutex_t mutex; // guards the cluster and all fields below
    char token[64];        // that is accepted in place of a client certificate; "": none
    unsigned cuts;         // how often streams were cut
    char added_token[64];  // accepted too
    uint64_t added_uses;   // requests with it
    uint64_t unauthorized; // requests answered 401
    struct service service;
    struct front_connections connections;
    pthread_cond_t wake;
    pthread_t thread;
    int64_t sleeps_until_ns; // 0: the thread is at work
    struct incoming *suspended;
};

// Resumes every suspended connection, but for those that wait for the service unless the front is closing; with the
// lock held.
void http_resume_all(struct front *front);
// Resumes what has been served; with the lock held.
void http_resume_served(struct front *front, int64_t now_ns);

void http_connection(void *ctx, struct MHD_Connection *connection, void **context,
                     enum MHD_ConnectionNotificationCode code);
void *http_begin(void *ctx, const char *uri, struct MHD_Connection *connection);
enum MHD_Result http_handle(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *data, size_t *len, void **request);
void http_completed(void *ctx, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how);
