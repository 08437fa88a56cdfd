// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"
#include "core/kube/object/span.h"

#include <strings.h>

#define EXCERPT_MAX 200
#define STATUS_NODES 10000
#define NODE_BYTES 64 // see json.h

static char no_memory_message[] = "out of memory while reading the response";

static const struct {
    const char *text;
    bool permanent;
} reasons[] = {
    [REASON_OK] = {"OK", false},
    [REASON_NOT_SENT] = {"NotSent", false},
    [REASON_UNKNOWN_OUTCOME] = {"UnknownOutcome", false},
    [REASON_BAD_REQUEST] = {"BadRequest", true},
    [REASON_UNAUTHORIZED] = {"Unauthorized", true},
    [REASON_FORBIDDEN] = {"Forbidden", true},
    [REASON_QUOTA] = {"QuotaExceeded", true},
    [REASON_NAMESPACE_TERMINATING] = {"NamespaceTerminating", true},
    [REASON_NOT_TENANT] = {"NotTenant", true},
    [REASON_NOT_FOUND] = {"NotFound", false},
    [REASON_NAMESPACE_NOT_FOUND] = {"NamespaceNotFound", true},
    [REASON_KIND_NOT_FOUND] = {"KindNotFound", true},
    [REASON_ALREADY_EXISTS] = {"AlreadyExists", false},
    [REASON_CONFLICT] = {"Conflict", false},
    [REASON_EXPIRED] = {"Expired", false},
    [REASON_INVALID] = {"Invalid", true},
    [REASON_TOO_MANY] = {"TooManyRequests", false},
    [REASON_TOO_LARGE_VERSION] = {"ResourceVersionTooLarge", false},
    [REASON_SERVER_ERROR] = {"ServerError", false},
    [REASON_GARBAGE] = {"Garbage", false},
};

const char *reason_text(enum reason reason) {
    size_t index = (size_t)reason;
    return index < sizeof(reasons) / sizeof(reasons[0]) ? reasons[index].text : "Unknown";
}

bool reason_is_permanent(enum reason reason) {
    return reasons[reason].permanent;
}

bool reason_is_transient(enum reason reason) {
    return reason == REASON_NOT_SENT || reason == REASON_UNKNOWN_OUTCOME || reason == REASON_TOO_MANY ||
           reason == REASON_SERVER_ERROR;
}

const char *contact_name(enum contact contact) {
    static const char *const names[CONTACTS] = {[CONTACT_UNKNOWN] = "unknown",
                                                [CONTACT_GOOD] = "good",
                                                [CONTACT_SUSPECT] = "suspect",
                                                [CONTACT_LOST] = "lost",
                                                [CONTACT_REJECTED] = "rejected"};
    return names[contact];
}

bool reason_is_refusal(enum reason reason) {
    return reason == REASON_FORBIDDEN || reason == REASON_UNAUTHORIZED;
}

void response_clear(struct response *response) {
    if (response->message != no_memory_message)
        free(response->message);
    object_free(response->object);
    json_free(response->value);
    free(response->warning);
    *response = (struct response){.retry_after_ns = -1};
}

// Takes ownership of `message`; NULL means "out of memory".
static void conclude(struct response *response, enum reason reason, char *message) {
    response->reason = reason;
    response->message = message ? message : no_memory_message;
}

// metav1.StatusReason values that are more specific than the code, or differ from it.
static const struct {
    const char *text;
    enum reason reason;
} known_reasons[] = {
    {"Unauthorized", REASON_UNAUTHORIZED},
    {"Forbidden", REASON_FORBIDDEN},
    {"NotFound", REASON_NOT_FOUND},
    {"AlreadyExists", REASON_ALREADY_EXISTS},
    {"Conflict", REASON_CONFLICT},
    {"Gone", REASON_EXPIRED},
    {"Expired", REASON_EXPIRED},
    {"Invalid", REASON_INVALID},
    {"ServerTimeout", REASON_UNKNOWN_OUTCOME},
    {"Timeout", REASON_UNKNOWN_OUTCOME},
    {"TooManyRequests", REASON_TOO_MANY},
    {"BadRequest", REASON_BAD_REQUEST},
    {"MethodNotAllowed", REASON_BAD_REQUEST},
    {"NotAcceptable", REASON_BAD_REQUEST},
    {"RequestEntityTooLarge", REASON_BAD_REQUEST},
    {"UnsupportedMediaType", REASON_BAD_REQUEST},
    {"StoreReadError", REASON_SERVER_ERROR},
    {"InternalError", REASON_SERVER_ERROR},
    {"ServiceUnavailable", REASON_SERVER_ERROR},
};

// As apimachinery's NewGenericServerResponse, for responses without a Status or reason.
static enum reason code_reason(int code, enum verb verb) {
    static const struct {
        int code;
        enum reason reason;
    } codes[] = {{401, REASON_UNAUTHORIZED},    {403, REASON_FORBIDDEN}, {404, REASON_NOT_FOUND},
                 {408, REASON_UNKNOWN_OUTCOME}, {409, REASON_CONFLICT},  {410, REASON_EXPIRED},
                 {422, REASON_INVALID},         {429, REASON_TOO_MANY},  {502, REASON_UNKNOWN_OUTCOME}, // a proxy's
                 {504, REASON_UNKNOWN_OUTCOME}};
    if (code == 409 && verb == VERB_CREATE)
        return REASON_ALREADY_EXISTS;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].reason;
    if (code >= 400 && code < 500)
        return REASON_BAD_REQUEST;
    return code >= 500 && code < 600 ? REASON_SERVER_ERROR : REASON_GARBAGE;
}

// Searches the causes by type (JSON key "reason") or by a part of the message.
static bool has_cause(const struct json *status, const char *type, const char *message) {
    const struct json *causes = json_path(status, "details", "causes", NULL);
    for (const struct json *cause = json_first(causes); cause; cause = json_next(cause))
        if (strcmp(json_string_or(json_get(cause, "reason"), ""), type) == 0 ||
            strstr(json_string_or(json_get(cause, "message"), ""), message))
            return true;
    return false;
}

static enum reason not_found_reason(const struct json *status, enum verb verb) {
    const char *kind = json_string_or(json_path(status, "details", "kind", NULL), "");
    const char *name = json_string_or(json_path(status, "details", "name", NULL), "");
    if (verb == VERB_CREATE && strcmp(kind, "namespaces") == 0)
        return REASON_NAMESPACE_NOT_FOUND;
    return name[0] != '\0' ? REASON_NOT_FOUND : REASON_KIND_NOT_FOUND;
}

// Since 1.36 an API server tries several rights to impersonate, and names the first denied one or the last granted one
// (apiserver's endpoints/filters/impersonation): "cannot impersonate resource", "cannot
// impersonate-on:user-info:create".
static enum reason forbidden_reason(const struct json *status, const char *message) {
    if (strstr(message, "\" cannot impersonate"))
        return REASON_NOT_TENANT;
    if (has_cause(status, "NamespaceTerminating", "is being terminated") ||
        strstr(message, "because it is being terminated"))
        return REASON_NAMESPACE_TERMINATING;
    return strstr(message, "exceeded quota") ? REASON_QUOTA : REASON_FORBIDDEN;
}

// etcd's errors are returned as 500 without a reason: its size limit is permanent, others (timeout, leader change)
// leave open whether the write was committed.
static enum reason etcd_reason(const char *message, enum reason otherwise) {
    if (strstr(message, "request is too large") || strstr(message, "trying to send message larger than max"))
        return REASON_BAD_REQUEST;
    return text_has_prefix(message, "etcdserver: ") ? REASON_UNKNOWN_OUTCOME : otherwise;
}

static enum reason refine(enum reason reason, const struct json *status, const char *message, enum verb verb) {
    if (reason == REASON_FORBIDDEN)
        return forbidden_reason(status, message);
    if (reason == REASON_NOT_FOUND)
        return not_found_reason(status, verb);
    if (reason == REASON_SERVER_ERROR)
        return etcd_reason(message, reason);
    bool early =
        reason == REASON_UNKNOWN_OUTCOME && has_cause(status, "ResourceVersionTooLarge", "Too large resource version");
    return early ? REASON_TOO_LARGE_VERSION : reason;
}

static enum reason status_reason(const struct json *status, int code, enum verb verb) {
    const char *text = json_string_or(json_get(status, "reason"), "");
    for (size_t i = 0; i < sizeof(known_reasons) / sizeof(known_reasons[0]); i++)
        if (strcmp(text, known_reasons[i].text) == 0)
            return known_reasons[i].reason;
    return code_reason(code, verb);
}

void response_read_status(struct response *response, const struct json *status, int code, enum verb verb) {
    const char *message = json_string_or(json_get(status, "message"), "");
    if (code == 0) {
        int64_t own = json_int64(json_get(status, "code"), 0);
        code = own >= 100 && own <= 599 ? (int)own : 0;
    }
    enum reason reason = refine(status_reason(status, code, verb), status, message, verb);
    int64_t seconds = json_int64(json_path(status, "details", "retryAfterSeconds", NULL), 0);
    if (response->retry_after_ns < 0 && seconds > 0 && seconds < 86400)
        response->retry_after_ns = seconds * INT64_C(1000000000);
    response->code = code;
    if (response->sensitive)
        conclude(response, reason, sensitive_message(status, reason, code));
    else
        conclude(response, reason,
                 message[0] != '\0' ? strdup(message)
                                    : text_format("the server answered %d (%s)", code, reason_text(reason)));
}

// The first line of a non-JSON body, sanitised for a message.
static void excerpt(const struct http_result *result, char out[EXCERPT_MAX]) {
    size_t len = 0;
    for (; len < result->body_len && len < EXCERPT_MAX - 1 && !strchr("\r\n", result->body[len]); len++) {
        unsigned char c = (unsigned char)result->body[len];
        out[len] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    out[len] = '\0';
}

// A response without content type counts as JSON if it parses.
static bool says_json(const char *content_type) {
    static const char json[] = "application/json";
    if (content_type[0] == '\0')
        return true;
    return strncasecmp(content_type, json, sizeof(json) - 1) == 0 && strchr("; \t", content_type[sizeof(json) - 1]);
}

static void read_failure(struct response *response, const struct http_result *result, enum verb verb) {
    const struct json_limits limits = {.max_nodes = STATUS_NODES};
    AUTO_JSON status = NULL;
    if (says_json(result->content_type))
        error_free(json_parse_limited(result->body, result->body_len, &limits, &status));
    if (strcmp(json_string_or(json_get(status, "kind"), ""), "Status") == 0) {
        response_read_status(response, status, result->status, verb);
        return;
    }
    char text[EXCERPT_MAX];
    excerpt(result, text);
    enum reason reason = refine(code_reason(result->status, verb), NULL, text, verb);
    conclude(response, reason,
             text_format("the server answered %d (%s)%s%s", result->status, reason_text(reason),
                         text[0] != '\0' && !response->sensitive ? ": " : "", response->sensitive ? "" : text));
}

// A request may return a Status, a document, or a review (authorization.k8s.io, authentication.k8s.io), which is not
// stored and has neither name nor uid. Everything else must be an object.
static bool is_plain_value(const struct http_result *result, enum verb verb) {
    struct span kind, api_version;
    static const char status[] = "\"Status\"";
    if (verb == VERB_RAW_GET)
        return true;
    if (span_member(result->body, result->body_len, "kind", &kind) &&
        strncmp(result->body + kind.value, status, sizeof(status) - 1) == 0)
        return true;
    static const char review[] = "\"auth";
    return verb == VERB_CREATE && span_member(result->body, result->body_len, "apiVersion", &api_version) &&
           strncmp(result->body + api_version.value, review, sizeof(review) - 1) == 0;
}

static void read_body(struct response *response, const struct http_result *result, enum verb verb,
                      const struct budget *budget) {
    __attribute__((cleanup(error_cleanup))) struct error *error = NULL;
    AUTO_JSON value = NULL;
    bool plain = is_plain_value(result, verb);
    response->cost = object_text_cost(result->body, result->body_len);
    if (plain) {
        const struct budget *bounds = budget_or_default(budget);
        const struct json_limits limits = {.max_nodes = bounds->max_answer / NODE_BYTES, .stop = bounds->stop};
        error = json_parse_limited(result->body, result->body_len, &limits, &value);
    } else {
        const struct object_limits limits = {.budget = budget};
        error = object_parse_bounded(result->body, result->body_len, &limits, &response->object);
    }
    bool status = verb != VERB_RAW_GET && text_equal(json_string(json_get(value, "kind")), "Status");
    if (error)
        conclude(response, error->code == ERROR_NO_MEMORY ? REASON_UNKNOWN_OUTCOME : REASON_GARBAGE,
                 text_format("the server answered %d with %s: %s", result->status,
                             plain ? "invalid JSON" : "something that is not a Kubernetes object", error_text(error)));
    else if (status && text_equal(json_string(json_get(value, "status")), "Failure"))
        response_read_status(response, value, 0, verb);
    else
        conclude(response, REASON_OK, text_format("the server answered %d", result->status));
    if (!status)
        response->value = TAKE(value);
}

static bool is_json(struct response *response, const struct http_result *result) {
    if (says_json(result->content_type))
        return true;
    conclude(response, REASON_GARBAGE,
             text_format("the server answered %d with %.80s where JSON is expected; is this a Kubernetes API server?",
                         result->status, result->content_type));
    return false;
}

bool response_begin(struct response *response, const struct http_result *result, enum verb verb) {
    const char *problem = result->problem ? result->problem : "the connection broke";
    *response = (struct response){.retry_after_ns = result->retry_after_ns, .sensitive = sensitive_section};
    if (result->outcome != HTTP_ANSWERED) {
        bool refused = result->outcome == HTTP_REFUSED;
        conclude(response, refused ? REASON_NOT_SENT : REASON_UNKNOWN_OUTCOME, strdup(problem));
        return false;
    }
    response->code = result->status;
    if (result->status >= 200 && result->status < 300)
        return is_json(response, result);
    if (result->status >= 300 && result->status < 400) {
        conclude(response, REASON_GARBAGE,
                 text_format("the server answered %d, a redirect, which is not followed; expected the URL of "
                             "the API server itself",
                             result->status));
    } else {
        read_failure(response, result, verb);
    }
    return false;
}

void response_read(struct response *response, const struct http_result *result, enum verb verb) {
    response_read_within(response, result, verb, NULL);
}

void response_read_within(struct response *response, const struct http_result *result, enum verb verb,
                          const struct budget *budget) {
    if (response_begin(response, result, verb))
        read_body(response, result, verb, budget);
}
