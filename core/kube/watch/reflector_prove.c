// SPDX-License-Identifier: Apache-2.0
// Checks that the server still knows the last version. A server that was restored from a backup or wiped accepts a
// watch from a version in its future, and sends nothing, not even bookmarks. So before a watch resumes from a version
// after a lost connection, the reflector requests a list that must not be older.
#include "core/kube/object/span.h"
#include "core/kube/watch/reflector_internal.h"

#include <string.h>

#define TIMEOUT_NS (20 * CLOCK_SECOND) // the server waits three seconds for the version
#define ERROR_BODY_MAX ((size_t)1 << 20)
#define LOOKED_AT ((size_t)4 << 10)

// Old servers ignore the limit and send everything: only the beginning is kept.
static bool proof_data(void *ctx, const char *bytes, size_t len) {
    struct reflector *reflector = ctx;
    struct buffer *tail = &reflector->watch.tail;
    size_t room = LOOKED_AT - tail->len;
    probe_heard(reflector->probe);
    return reflector_keep_tail(reflector, bytes, len < room ? len : room) && tail->len < LOOKED_AT;
}

static bool is_list(const struct buffer *text) {
    struct span kind;
    return text->len > 0 && span_member(text->data, text->len, "kind", &kind) && kind.end - kind.value > 6 &&
           memcmp(text->data + kind.end - 5, "List\"", 5) == 0;
}

static void proof_done(void *ctx, const struct http_result *result) {
    struct reflector *reflector = ctx;
    reflector_note_end(reflector, result);
    if (result->outcome == HTTP_REFUSED || result->status != 200)
        reflector_read(reflector, result);
    else if (is_list(&reflector->watch.tail))
        reflector_conclude(reflector, REASON_OK, "the version is known");
    else
        reflector_conclude(reflector, REASON_GARBAGE, "the server returned something other than a list");
    reflector_drop_tail(reflector);
}

// Without the selector: a server that reads from etcd would scan all objects for a match.
static struct error *proof_path(const struct reflector *reflector, struct buffer *path) {
    TRY(reflector_path(reflector, false, path));
    buffer_text(path, "limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=");
    text_percent_encode(path, reflector->version);
    return path->failed ? error_no_memory() : NULL;
}

void prove_start(struct reflector *reflector) {
    AUTO_BUFFER(path, 1);
    __attribute__((cleanup(error_cleanup))) struct error *error = proof_path(reflector, &path);
    if (error) {
        reflector_conclude(reflector, REASON_BAD_REQUEST, error_text(error));
        reflector_wait(reflector, PHASE_PROVE, "watch");
        return;
    }
    reflector_drop_tail(reflector);
    struct http_request request = {.method = HTTP_GET,
                                   .path = path.data,
                                   .accept = ACCEPT_METADATA_LIST,
                                   .stream = true,
                                   .max_body = ERROR_BODY_MAX,
                                   .timeout_ns = TIMEOUT_NS};
    struct http_handler handler = {.data = proof_data, .done = proof_done, .ctx = reflector};
    reflector_submit(reflector, &request, &handler);
}

void prove_ended(struct reflector *reflector) {
    switch (reflector->ending.reason) {
    case REASON_OK:
        reflector->proven = true;
        reflector_go(reflector, PHASE_WATCH);
        break;
    case REASON_TOO_LARGE_VERSION:
        reflector_list_consistently(reflector);
        break;
    case REASON_NOT_SENT:
    case REASON_UNKNOWN_OUTCOME:
    case REASON_TOO_MANY:
    case REASON_SERVER_ERROR:
        reflector_wait(reflector, PHASE_PROVE, "watch");
        break;
    default:
        reflector_wait(reflector, reflector_new_list(reflector), "watch");
    }
}

// The server may merely lag behind another one of its cluster; a list read from etcd is up to date.
void reflector_list_consistently(struct reflector *reflector) {
    log_fields(LOG_INFO, "listing again to check whether resourceVersions went back", {"cluster", reflector->cluster},
               {"kind", reflector->what}, {"error", reflector->ending.message});
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
    bool comparable = true;
    if (reflector->version[0] == '\0' || object_version_compare(version, reflector->version, &comparable) >= 0)
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
    if (reflector->exchange != 0) {
        reflector->transport->ops->cancel(reflector->transport, reflector->exchange);
        reflector->exchange = 0;
    }
    reflector->ended = false;
    reflector_drop_tail(reflector);
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
