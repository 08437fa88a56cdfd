// SPDX-License-Identifier: Apache-2.0
#include "tests/world/service.h"

#include <string.h>

static bool is_health_check(const char *path) {
    static const char *const paths[] = {"/livez", "/readyz", "/healthz"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strncmp(path, paths[i], strlen(paths[i])) == 0)
            return true;
    return false;
}

bool service_costs(const struct service *service, const struct world_request *request) {
    return service->cost.concurrency > 0 && !world_is_watch(request) && !is_health_check(request->path);
}

static void run(struct service *service, struct service_request *request, int64_t at_ns) {
    request->state = SERVICE_RUNS;
    request->done_ns = at_ns + request->cost_ns;
    service->running[service->busy++] = request;
}

static void unlink_waiting(struct service *service, struct service_request *request) {
    *(request->previous ? &request->previous->next : &service->first) = request->next;
    *(request->next ? &request->next->previous : &service->last) = request->previous;
    request->next = request->previous = NULL;
    request->state = SERVICE_OUT;
    service->waiting--;
}

bool service_enter(struct service *service, struct service_request *request, bool is_write, int64_t now_ns) {
    *request = (struct service_request){.cost_ns = is_write ? service->cost.write_ns : service->cost.read_ns,
                                        .arrived_ns = now_ns};
    unsigned places = service->cost.concurrency < SERVICE_PLACES ? service->cost.concurrency : SERVICE_PLACES;
    if (service->busy < places) {
        run(service, request, now_ns);
        return true;
    }
    if (service->cost.queue > 0 && service->waiting >= service->cost.queue)
        return false;
    request->state = SERVICE_WAITS;
    request->previous = service->last;
    *(service->last ? &service->last->next : &service->first) = request;
    service->last = request;
    service->waiting++;
    if (service->waiting > service->longest)
        service->longest = service->waiting;
    return true;
}

// The index of the one that is served first; of several, the one that came first.
static unsigned next_place(const struct service *service) {
    unsigned next = 0;
    for (unsigned i = 1; i < service->busy; i++)
        if (service->running[i]->done_ns < service->running[next]->done_ns)
            next = i;
    return next;
}

int64_t service_due(const struct service *service) {
    return service->busy > 0 ? service->running[next_place(service)]->done_ns : WORLD_NEVER;
}

struct service_request *service_take(struct service *service, int64_t now_ns) {
    if (service_due(service) > now_ns)
        return NULL;
    unsigned place = next_place(service);
    struct service_request *served = service->running[place];
    served->state = SERVICE_OUT;
    service->busy--;
    memmove(&service->running[place], &service->running[place + 1], (service->busy - place) * sizeof served);
    struct service_request *first = service->first;
    if (first) {
        unlink_waiting(service, first);
        run(service, first, served->done_ns > first->arrived_ns ? served->done_ns : first->arrived_ns);
    }
    return served;
}

bool service_leave(struct service *service, struct service_request *request) {
    if (request->state == SERVICE_RUNS)
        return false;
    if (request->state == SERVICE_WAITS)
        unlink_waiting(service, request);
    return true;
}

void service_stop(struct service *service) {
    while (service->first)
        unlink_waiting(service, service->first);
    for (unsigned i = 0; i < service->busy; i++)
        service->running[i]->state = SERVICE_OUT;
    service->busy = 0;
}
