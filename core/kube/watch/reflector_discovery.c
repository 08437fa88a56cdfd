// SPDX-License-Identifier: Apache-2.0
// The requests before a list and before a watch.
//
// Discovery finds which of the acceptable versions the server serves, from /apis/<group>/<version> (APIResourceList).
//
// The proof checks that the server still knows the last version. A server that was restored from a backup or wiped
// accepts a watch from a version in its future, and sends nothing, not even bookmarks. So before a watch resumes from a
// version after a lost connection, the reflector requests a list that must not be older.
#include "core/kube/api/requests.h"
#include "core/kube/object/span.h"
#include "core/kube/watch/reflector_internal.h"

#define ABSENT_WAIT_MAX_NS (30 * CLOCK_SECOND)
// API servers of one cluster may disagree for some seconds about the served kinds.
#define ABSENT_CONFIRM_NS (10 * CLOCK_SECOND)
#define PROOF_TIMEOUT_NS (20 * CLOCK_SECOND) // the server waits three seconds for the version
#define LOOKED_AT ((size_t)4 << 10)

bool discovery_set(struct reflector *reflector, const char *kind) {
    struct discovery *discovery = &reflector->discovery;
    const char *group = reflector->options.group;
    free(discovery->kind);
    free(discovery->api_version);
    discovery->kind = strdup(kind);
    discovery->api_version = text_format("%s%s%s", group, *group ? "/" : "", reflector_api_version(reflector));
    reflector->limits.kind = discovery->kind;
    reflector->limits.api_version = discovery->api_version;
    return discovery->kind && discovery->api_version;
}

static void read_document(struct reflector *reflector, const struct json *document) {
    struct discovery *discovery = &reflector->discovery;
    if (strcmp(json_string_or(json_get(document, "kind"), ""), "APIResourceList") != 0) {
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned something other than an APIResourceList");
        return;
    }
    const struct json *resource = api_resources_find(document, reflector->options.plural);
    discovery->served = resource && api_resource_has_verb(resource, "list") && api_resource_has_verb(resource, "watch");
    if (discovery->served && !discovery_set(reflector, json_string_or(json_get(resource, "kind"), "")))
        reflector_conclude_no_memory(reflector);
}

void discovery_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector->discovery.served = false;
    reflector_note_end(reflector, result);
    reflector_read(reflector, result);
    if (reflector->ending.reason == REASON_OK) {
        AUTO_JSON document = TAKE(reflector->ending.value);
        read_document(reflector, document);
    }
}

struct error *discovery_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request) {
    (void)request;
    AUTO_TEXT text = api_resources_path(reflector->options.group, reflector_api_version(reflector));
    return text && buffer_text(path, text) ? NULL : error_no_memory();
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
    reflector->due_ns = clock_earlier(reflector->due_ns, reflector->now_ns + ABSENT_WAIT_MAX_NS);
}

void discovery_ended(struct reflector *reflector) {
    struct discovery *discovery = &reflector->discovery;
    enum reason reason = reflector->ending.reason;
    if (reason != REASON_OK && reason != REASON_NOT_FOUND && reason != REASON_KIND_NOT_FOUND) {
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
    } else if (reflector->options.versions[discovery->index + 1]) {
        discovery->index++;
        reflector_go(reflector, PHASE_DISCOVER);
    } else {
        absent(reflector);
    }
}

// Old servers ignore the limit and send everything: only the beginning is kept.
bool proof_data(void *ctx, const char *bytes, size_t len) {
    struct reflector *reflector = ctx;
    struct buffer *tail = &reflector->watch.tail;
    size_t room = LOOKED_AT - tail->len;
    probe_heard(reflector->options.probe);
    return reflector_keep_tail(reflector, bytes, len < room ? len : room) && tail->len < LOOKED_AT;
}

static bool is_list(const struct buffer *text) {
    struct span kind;
    return text->len > 0 && span_member(text->data, text->len, "kind", &kind) && kind.end - kind.value > 6 &&
           memcmp(text->data + kind.end - 5, "List\"", 5) == 0;
}

void proof_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector_note_end(reflector, result);
    if (result->outcome == HTTP_REFUSED || result->status != 200)
        reflector_read(reflector, result);
    else if (is_list(&reflector->watch.tail))
        reflector_conclude(reflector, REASON_OK, "the version is known");
    else
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned something other than a list");
}

// Without the selector: a server that reads from etcd would scan all objects for a match.
struct error *proof_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request) {
    TRY(reflector_path(reflector, false, path));
    buffer_text(path, "limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=");
    text_percent_encode(path, reflector->version);
    request->accept = ACCEPT_METADATA_LIST;
    request->stream = true;
    request->max_body = REFLECTOR_ERROR_BODY_MAX;
    request->timeout_ns = PROOF_TIMEOUT_NS;
    return NULL;
}

void proof_ended(struct reflector *reflector) {
    enum reason reason = reflector->ending.reason;
    reflector->proven = reason == REASON_OK;
    if (reason == REASON_OK)
        reflector_go(reflector, PHASE_WATCH);
    else if (reason == REASON_TOO_LARGE_VERSION)
        reflector_list_consistently(reflector);
    else if (reason_is_transient(reason))
        reflector_wait(reflector, PHASE_PROVE, "watch");
    else
        reflector_wait(reflector, reflector_new_list(reflector), "watch");
}

// The server may merely lag behind another one of its cluster; a list read from etcd is up to date.
void reflector_list_consistently(struct reflector *reflector) {
    reflector_log(reflector, LOG_INFO, "listing again to check whether resourceVersions went back",
                  reflector->ending.message);
    (void)reflector_new_list(reflector);
    reflector_go(reflector, PHASE_LIST);
}

static void report_rewound(struct reflector *reflector, const char *problem) {
    reflector->version[0] = '\0';
    reflector->watch.unset_version = true;
    if (reflector->handler.rewound)
        reflector->handler.rewound(reflector->handler.ctx, problem);
}

bool reflector_check_version(struct reflector *reflector, const char *version) {
    if (reflector->version[0] == '\0' || !object_version_is_older(version, reflector->version))
        return true;
    AUTO_TEXT problem = text_format("the resourceVersions of %s went back from %s to %s: the cluster was restored from "
                                    "a backup, or wiped",
                                    reflector->what, reflector->version, version);
    report_rewound(reflector, problem ? problem : "out of memory");
    return false;
}

static void list_anew(struct reflector *reflector) {
    if (reflector->phase == PHASE_DISCOVER)
        return;
    reflector_abandon(reflector);
    reflector_go(reflector, reflector_new_list(reflector));
}

void reflector_rewind(struct reflector *reflector, const char *problem) {
    if (reflector->version[0] == '\0')
        return;
    report_rewound(reflector, problem);
    list_anew(reflector);
}

void reflector_relist(struct reflector *reflector) {
    if (reflector->version[0] != '\0')
        list_anew(reflector);
}
