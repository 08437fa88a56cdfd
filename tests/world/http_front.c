// SPDX-License-Identifier: Apache-2.0
#include "tests/world/http_front.h"
#include "core/base/clock.h"
#include "tests/world/http_parts.h"
#include "tests/world/model.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 8192
#define TIMER_SLACK_NS 1000L
#define CONNECTION_MEMORY ((size_t)64 << 10)

int64_t front_now_ns(void) {
    return clock_now().wall_ns;
}

void front_lock(struct front *front) {
    pthread_mutex_lock(&front->mutex);
}

static int64_t due_of(const struct front *front) {
    int64_t world_ns = world_due(front->cluster), service_ns = service_due(&front->service);
    return world_ns < service_ns ? world_ns : service_ns;
}

// Something may be due before the stepping thread wakes up.
void front_unlock(struct front *front) {
    if (due_of(front) < front->sleeps_until_ns)
        pthread_cond_signal(&front->wake);
    pthread_mutex_unlock(&front->mutex);
}

static void *step_thread(void *ctx) {
    struct front *front = ctx;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    pthread_mutex_lock(&front->mutex);
    while (!front->ends) {
        world_step(front->cluster, front_now_ns());
        http_resume_served(front, front_now_ns());
        int64_t due = due_of(front);
        int64_t latest = front_now_ns() + CLOCK_SECOND;
        front->sleeps_until_ns = due < latest ? due : latest;
        struct timespec until = {.tv_sec = (time_t)(front->sleeps_until_ns / CLOCK_SECOND),
                                 .tv_nsec = (long)(front->sleeps_until_ns % CLOCK_SECOND)};
        pthread_cond_timedwait(&front->wake, &front->mutex, &until);
        front->sleeps_until_ns = 0;
    }
    pthread_mutex_unlock(&front->mutex);
    return NULL;
}

static struct MHD_Daemon *start_daemon(struct front *front) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(front->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (front->tls ? MHD_USE_TLS : 0);
    const struct certs *certs = &front->certs;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, certs->server_key},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, certs->server_cert},
                                   {MHD_OPTION_HTTPS_MEM_TRUST, 0, certs->ca},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(flags, front->port, NULL, NULL, http_handle, front, MHD_OPTION_SOCK_ADDR, &address,
                            MHD_OPTION_URI_LOG_CALLBACK, http_begin, front, MHD_OPTION_NOTIFY_COMPLETED, http_completed,
                            front, MHD_OPTION_NOTIFY_CONNECTION, http_connection, front, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
                            MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_ARRAY, front->tls ? tls : none,
                            MHD_OPTION_END);
}

static struct error *bind_port(struct front *front) {
    struct MHD_Daemon *daemon = start_daemon(front);
    if (!daemon)
        return error_new(ERROR_IO, "cannot listen on 127.0.0.1:%u", (unsigned)front->port);
    if (front->port == 0) {
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
        front->port = info ? info->port : 0;
    }
    front->daemon = daemon;
    return NULL;
}

static bool copy_certs(struct front *front, const struct certs *certs) {
    if (!certs)
        return true;
    front->tls = true;
    front->certs.ca = strdup(certs->ca);
    front->certs.server_cert = strdup(certs->server_cert);
    front->certs.server_key = strdup(certs->server_key);
    return front->certs.ca && front->certs.server_cert && front->certs.server_key;
}

static void free_front(struct front *front) {
    pthread_mutex_destroy(&front->mutex);
    pthread_cond_destroy(&front->wake);
    certs_free(&front->certs);
    free(front->url);
    free(front);
}

struct error *front_start(struct world_cluster *cluster, uint16_t port, const struct certs *certs, struct front **out) {
    struct front *front = calloc(1, sizeof *front);
    if (!front)
        return error_no_memory();
    front->cluster = cluster;
    front->port = port;
    pthread_mutex_init(&front->mutex, NULL);
    pthread_cond_init(&front->wake, NULL);
    struct error *error = copy_certs(front, certs) ? bind_port(front) : error_no_memory();
    if (!error) {
        front->url = text_format("%s://127.0.0.1:%u", front->tls ? "https" : "http", (unsigned)front->port);
        if (!front->url)
            error = error_no_memory();
        else if (pthread_create(&front->thread, NULL, step_thread, front) != 0)
            error = error_new(ERROR_IO, "cannot start a thread");
    }
    if (error) {
        front_down(front);
        free_front(front);
        return error;
    }
    *out = front;
    return NULL;
}

// A daemon cannot stop while connections are suspended.
void front_down(struct front *front) {
    front_lock(front);
    struct MHD_Daemon *daemon = front->daemon;
    front->daemon = NULL;
    front->closing = true;
    service_stop(&front->service);
    http_resume_all(front);
    front_unlock(front);
    if (daemon)
        MHD_stop_daemon(daemon);
    front->closing = front->leaving = false;
}

void front_leave(struct front *front) {
    front_lock(front);
    bool leaves = front->daemon && !front->leaving;
    front->leaving = true;
    front_unlock(front);
    if (leaves)
        close(MHD_quiesce_daemon(front->daemon));
    front_lock(front);
    for (const struct cluster_connection *connection = front->open; connection; connection = connection->next)
        if (!connection->busy)
            shutdown(connection->fd, SHUT_RDWR);
    front_unlock(front);
}

struct error *front_up(struct front *front) {
    return front->daemon ? NULL : bind_port(front);
}

bool front_is_up(const struct front *front) {
    return front->daemon;
}

void front_stop(struct front *front) {
    if (!front)
        return;
    front_down(front);
    front_lock(front);
    front->ends = true;
    pthread_cond_signal(&front->wake);
    front_unlock(front);
    pthread_join(front->thread, NULL);
    free_front(front);
}

uint16_t front_port(const struct front *front) {
    return front->port;
}

const char *front_url(const struct front *front) {
    return front->url;
}

void front_set_cost(struct front *front, const struct service_cost *cost) {
    front_lock(front);
    front->service.cost = *cost;
    front_unlock(front);
}

size_t front_waiting(struct front *front) {
    front_lock(front);
    size_t waiting = front->service.waiting;
    front_unlock(front);
    return waiting;
}

struct front_connections front_connections(struct front *front) {
    front_lock(front);
    struct front_connections connections = front->connections;
    front_unlock(front);
    return connections;
}

void front_count_connections(struct front *front) {
    front_lock(front);
    front->connections.opened = 0;
    front->connections.most = front->connections.open - front->connections.streams;
    front->connections.busiest = front->connections.requests - front->connections.streams;
    front_unlock(front);
}

uint64_t front_requests(const struct front *front) {
    return __atomic_load_n(&front->requests, __ATOMIC_RELAXED);
}

uint64_t front_bytes(const struct front *front) {
    return __atomic_load_n(&front->bytes, __ATOMIC_RELAXED);
}

void front_set_fault(struct front *front, enum front_fault fault) {
    front_lock(front);
    front->fault = fault;
    if (fault != FRONT_HANGS)
        http_resume_all(front);
    front_unlock(front);
}

void front_set_token(struct front *front, const char *token, bool cut) {
    front_lock(front);
    text_copy(front->token, sizeof front->token, token);
    *front->added_token = '\0';
    front->cuts += cut;
    if (cut)
        http_resume_all(front);
    front_unlock(front);
}

void front_add_token(struct front *front, const char *token) {
    front_lock(front);
    text_copy(front->added_token, sizeof front->added_token, token);
    front->added_uses = 0;
    front_unlock(front);
}

uint64_t front_added_token_uses(struct front *front) {
    front_lock(front);
    uint64_t uses = front->added_uses;
    front_unlock(front);
    return uses;
}

uint64_t front_unauthorized(struct front *front) {
    front_lock(front);
    uint64_t unauthorized = front->unauthorized;
    front_unlock(front);
    return unauthorized;
}
