// SPDX-License-Identifier: Apache-2.0
// Does in its functions what /spec/act of the workload says.
#include <wharf/adapter.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const wharf_host *host;

static int overflow(volatile int depth) {
    char room[4096];
    memset(room, depth, sizeof room);
    return depth < 0 ? 0 : overflow(depth + 1) + room[depth & 1023];
}

static void fill(const wharf_call *call, wharf_value *changed) {
    size_t len = (size_t)1 << 20;
    char *text = host->memory(call, len + 1);
    if (!text)
        return;
    memset(text, 'x', len);
    host->set_string(call, changed, "/spec/filled", text);
}

static volatile uintptr_t nowhere = 16; // the compiler does not know the address

static void act(const wharf_call *call, const wharf_value *workload, wharf_value *changed) {
    const char *what = host->string(host->find(workload, "/spec/act"));
    if (!what)
        return;
    if (strcmp(what, "crash") == 0)
        *(volatile int *)nowhere = 1;
    else if (strcmp(what, "abort") == 0)
        abort();
    else if (strcmp(what, "exit") == 0)
        exit(0);
    else if (strcmp(what, "loop") == 0)
        for (volatile int i = 0;; i = i + 1)
            ;
    else if (strcmp(what, "overflow") == 0)
        overflow(0);
    else if (strcmp(what, "fill") == 0 && changed)
        fill(call, changed);
    else if (strcmp(what, "slow") == 0)
        for (clock_t begun = clock(); clock() - begun < CLOCKS_PER_SEC / 33;)
            ;
    else if (strcmp(what, "hog") == 0)
        while (host->memory(call, (size_t)1 << 20))
            ;
    else if (strcmp(what, "chat") == 0)
        for (int i = 0; i < 1000; i++)
            host->log(call, WHARF_LOG_WARN, "a line");
}

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)out;
    act(call, object, NULL);
    return WHARF_OK;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *made) {
    act(call, workload, made);
    host->set_string(call, made, "/metadata/annotations/acts.wharf.dev~1was", call->now);
    return WHARF_OK;
}

static const char *const versions[] = {"v1", NULL};
static const wharf_phase_rule rules[] = {{"/status/state", "done", .phase = WHARF_SUCCEEDED}, {NULL}};

static const wharf_kind kind = {WHARF_KIND_SIZES, .group = "example.com", .versions = versions,
                                .kind = "Act",    .plural = "acts",       .managed_by = "/spec/managedBy",
                                .phases = rules,  .phase = phase,         .mirror = mirror};

static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    (void)settings;
    (void)kinds;
    services->log(NULL, WHARF_LOG_INFO, "acts has started");
    return NULL;
}

WHARF_MODULE(.name = "acts", .version = "1.0.0", .kinds = WHARF_KINDS(&kind), .host = &host, .start = start);
