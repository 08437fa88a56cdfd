// SPDX-License-Identifier: Apache-2.0
// One reader of the logs of a mirror's pods: a thread with a connection of its own to the worker, so that a slow client
// holds back nothing but this connection.
#pragma once

#include "core/serve/http/server.h"
#include "core/serve/http/net.h"
#include "core/serve/pods/log_lines.h"
#include "core/serve/pods/targets.h"

#define LOGS_SOURCES 128       // containers that are read at once
#define LOGS_SOURCES_ALL 1024U // by all readers, within the limit of file descriptors

struct log_options {
    bool follow, all_pods, timestamps;
    const char *pod, *container; // NULL: not given
    int64_t tail, since_seconds; // -1: not given
};

enum log_state {
    LOG_OPENING,
    LOG_OPEN,
    LOG_ENDED,  // as the container did, or the connection
    LOG_FAILED, // never opened: the container has not started, or is gone
};

struct log_session;

struct log_source { // one container
    struct log_session *session;
    char *pod, *container, *prefix; // prefix NULL: none
    struct log_lines lines;
    uint64_t exchange;
    int64_t opens_by_ns; // while opening
    enum log_state state;
    bool late;    // the worker did not open the log in time
    bool broken;  // the connection did, not the log
    bool new_pod; // a later pod: the log is read from the beginning
    int64_t restarts;
    char *problem; // why the log could not be opened
};

struct log_session {
    struct web_call *call;
    struct log_options options;
    struct target target;
    struct stream *stream;
    pthread_t thread; // the producer
    bool answered;
    struct error *failure; // before the answer began; NULL: none
    struct log_source *sources[LOGS_SOURCES];
    size_t n_sources;
    bool full; // there are more containers
};

// logs.c. Begins the answer, unless the answer has begun: from then on the client gets the bytes.
void logs_answer(struct log_session *session);

// logs_sources.c
// Reads the containers that have a log now and are not read yet. `first`: for the first time.
struct error *logs_open_sources(struct log_session *session, bool first);
void logs_close_sources(struct log_session *session);
// Gives up logs that the worker has not opened in time: a server may accept a connection and say nothing.
void logs_expire(struct log_session *session, int64_t now_ns);
size_t logs_count(const struct log_session *session, enum log_state state);
