// SPDX-License-Identifier: Apache-2.0
// Discovers which of the acceptable versions the server serves, from /apis/<group>/<version> (APIResourceList).
#include "core/base/memory.h"
#include "core/kube/api/api_resources.h"
#include "core/kube/watch/reflector_internal.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (40 * CLOCK_SECOND)
#define ABSENT_WAIT_MAX_NS (30 * CLOCK_SECOND)
// API servers of one cluster may disagree for some seconds about the served kinds.
#define ABSENT_CONFIRM_NS (10 * CLOCK_SECOND)

static void read_document(struct reflector *reflector, const struct json *document) {
    struct discovery *discovery = &reflector->discovery;
    if (strcmp(json_string_or(json_get(document, "kind"), ""), "APIResourceList") != 0) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned something other than an APIResourceList");
        return;
    }
    const struct json *resource = api_resources_find(document, reflector->plural);
    discovery->served = resource && api_resource_has_verb(resource, "list") && api_resource_has_verb(resource, "watch");
    if (!discovery->served)
        return;
    const char *group = reflector->group;
    free(discovery->kind);
    free(discovery->api_version);
    discovery->kind = strdup(json_string_or(json_get(resource, "kind"), ""));
    discovery->api_version =
        text_format("%s%s%s", group, group[0] != '\0' ? "/" : "", reflector->versions[discovery->index]);
    if (!discovery->kind || !discovery->api_version)
        reflector_conclude_no_memory(reflector);
}

static void discovery_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector->discovery.served = false;
    reflector_note_end(reflector, result);
    reflector_read(reflector, result);
    if (reflector->ending.reason == REASON_OK) {
        AUTO_JSON document = TAKE(reflector->ending.value);
        read_document(reflector, document);
    }
}

void discovery_start(struct reflector *reflector) {
    if (reflector->version_count == 0) {
        reflector_wait_as(reflector, PHASE_DISCOVER, REFLECTOR_ABSENT, "no acceptable version of the kind is served");
        return;
    }
    const char *version = reflector->versions[reflector->discovery.index];
    AUTO_TEXT path = api_resources_path(reflector->group, version);
    if (!path) {
        reflector_conclude_no_memory(reflector);
        reflector_wait(reflector, PHASE_DISCOVER, "look for");
        return;
    }
    struct http_request request = {.method = HTTP_GET,
                                   .path = path,
                                   .accept = "application/json",
                                   .max_body = budget_or_default(reflector->budget)->max_answer,
                                   .timeout_ns = TIMEOUT_NS};
    struct http_handler handler = {.done = discovery_done, .ctx = reflector};
    reflector_submit(reflector, &request, &handler);
}

static void served(struct reflector *reflector) {
    reflector->discovery.fresh = true;
    reflector->discovery.missing_ns = CLOCK_NEVER;
    reflector->watch.unset_version = true;
    reflector_go(reflector, reflector_new_list(reflector));
}

// When a kind is absent, all its objects count as gone. So the kind is absent at once only if nothing was listed;
// otherwise discovery has to confirm it after ABSENT_CONFIRM_NS.
static void absent(struct reflector *reflector) {
    struct discovery *discovery = &reflector->discovery;
    discovery->index = 0;
    if (discovery->missing_ns == CLOCK_NEVER)
        discovery->missing_ns = reflector->now_ns;
    bool sure = !discovery->was_there || reflector->now_ns - discovery->missing_ns >= ABSENT_CONFIRM_NS;
    AUTO_TEXT problem =
        text_format("the server does not serve %s%s", reflector->what, sure ? "" : " any longer (to be confirmed)");
    if (sure)
        discovery->was_there = false;
    discovery->again = false;
    reflector->ending.retry_after_ns = -1;
    reflector_wait_as(reflector, PHASE_DISCOVER, sure ? REFLECTOR_ABSENT : REFLECTOR_LOST,
                      problem ? problem : "out of memory");
    if (reflector->due_ns > reflector->now_ns + ABSENT_WAIT_MAX_NS)
        reflector->due_ns = reflector->now_ns + ABSENT_WAIT_MAX_NS;
}

void discovery_ended(struct reflector *reflector) {
    struct discovery *discovery = &reflector->discovery;
    switch (reflector->ending.reason) {
    case REASON_OK:
    case REASON_NOT_FOUND:
    case REASON_KIND_NOT_FOUND:
        break;
    default:
        discovery->index = 0;
        discovery->again = false;
        reflector_wait(reflector, PHASE_DISCOVER, "look for");
        return;
    }
    // The kind may have come between the requests for two versions. Once: servers may disagree.
    if (discovery->served && discovery->index > 0 && !discovery->again) {
        discovery->again = true;
        discovery->index = 0;
        reflector_go(reflector, PHASE_DISCOVER);
    } else if (discovery->served) {
        discovery->again = false;
        served(reflector);
    } else if (discovery->index + 1 < reflector->version_count) {
        discovery->index++;
        reflector_go(reflector, PHASE_DISCOVER);
    } else {
        absent(reflector);
    }
}
