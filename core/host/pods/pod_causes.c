// SPDX-License-Identifier: Apache-2.0
// The reasons that the pods of a mirror have, as the engine asks (retryElsewhere): of failed pods, and of pods that do
// not start. For each question one list of pods, and for a mirror that does not start one of Events; owners between a
// pod and the mirror are read once (owner.h). One question at a time, with a client and a request budget of its own.
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/pods/owner.h"
#include "core/host/pods/pod_read.h"
#include "core/host/watchers/watcher.h"
#include "core/kube/client/client.h"

#define QUESTIONS_MAX 256
#define PODS 100     // of a page
#define EVENTS 500   // of a page
#define PAGES_MAX 20 // of a list
#define CONTINUE_BYTES ((size_t)16 << 10)
#define SEARCHES_MAX 32         // of owners, for one question
#define CAUSES_MAX ((size_t)24) // in an answer
#define CAUSE_BYTES 300
#define TRIES_MAX 3
#define REQUESTS_BURST 100
#define REQUEST_NS (CLOCK_SECOND / 20)
#define RECENT_NS (10 * CLOCK_MINUTE) // controllers repeat an Event at least this often
#define ENDED "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DRunning" // neither one: failed, or not started

struct pod_causes {
    struct watcher_base base;
    struct client *client;
    struct owner_chain chain;
    struct pod_question *questions[QUESTIONS_MAX]; // the first one is answered now
    size_t n_questions;
    uint64_t logged; // see watcher_warn
    int64_t full_ns; // of the bucket of lists

    // Of the first question.
    bool events;            // the list is of Events
    uint64_t request;       // in flight; 0: none
    bool answered;          // `list` is a new answer
    struct response list;   // of pods or Events
    const struct json *at;  // the next item of the list; NULL: no list, or its end
    struct owner_ref *from; // of the search of an owner, owned
    bool lost;              // the last search found nothing: the item belongs to another object
    unsigned searches, tries, pages;
    char *more;        // encoded token of the next page, owned; NULL: none
    int64_t due_ns;    // of the next try
    struct json *pods; // uids of the mirror's pods, an object; owned
    struct buffer causes;
    size_t n_causes;
};

// Causes -----------------------------------------------------------------------------------------------------------

static const char *plain(const char *text, char out[CAUSE_BYTES]) {
    text_shorten(out, CAUSE_BYTES, text);
    for (char *c = out; *c; c++)
        if (*c == '\t' || *c == '\n' || *c == '\r')
            *c = ' ';
    return out;
}

static bool is_reason(const char *reason) {
    return *reason && strlen(reason) < 64 && reason[strcspn(reason, "\t\n,")] == '\0';
}

static bool is_known(const struct pod_causes *causes, const char *begin) {
    const char *line = causes->causes.len > 0 ? causes->causes.data : NULL;
    while (line && !text_has_prefix(line, begin))
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    return line;
}

// One of each reason and code. `exit_code` 0: none.
static void add_cause(struct pod_causes *causes, const char *reason, int64_t exit_code, const char *what,
                      const char *name, const char *message) {
    char text[CAUSE_BYTES], code[24] = "", subject[CAUSE_BYTES], begin[128];
    if (!is_reason(reason) || causes->n_causes == CAUSES_MAX)
        return;
    if (exit_code)
        snprintf(code, sizeof code, "%lld", (long long)exit_code);
    snprintf(begin, sizeof begin, "%s\t%s\t", reason, code);
    if (is_known(causes, begin))
        return;
    buffer_printf(&causes->causes, "%s%s %s%s%s\n", begin, what, plain(name, subject), *message ? ": " : "",
                  plain(message, text));
    causes->n_causes++;
}

static void read_container(struct pod_causes *causes, const char *pod, const struct pod_container *container) {
    const char *message = container->message;
    if (container->waiting && !text_list_has("ContainerCreating,PodInitializing", container->reason))
        add_cause(causes, container->reason, 0, "pod", pod, message);
    if (container->exit_code == 0)
        return;
    AUTO_TEXT text = text_format("container %s ended with exit code %lld%s%s", container->name,
                                 (long long)container->exit_code, *message ? ": " : "", message);
    const char *reason = *container->reason ? container->reason : "Error";
    add_cause(causes, reason, container->exit_code, "pod", pod, text ? text : message);
}

static void read_pod(struct pod_causes *causes, const struct json *object) {
    __attribute__((cleanup(pods_clear))) struct pods pods = {.list = NULL};
    AUTO_ERROR error = pods_add(&pods, object);
    causes->causes.failed |= (bool)error;
    if (error)
        return;
    const struct pod *pod = &pods.list[0];
    add_cause(causes, pod->reason, 0, "pod", pod->name, pod->message);
    add_cause(causes, pod->disruption, 0, "pod", pod->name, pod->disrupted);
    for (size_t i = 0; i < pod->n_containers; i++)
        read_container(causes, pod->name, &pod->containers[i]);
}

static const char *member(const struct json *object, const char *name) {
    return json_string_or(json_get(object, name), "");
}

static bool is_recent(const struct json *event, int64_t now_ns) {
    static const char *const members[] = {"lastTimestamp", "eventTime", "firstTimestamp"};
    int64_t at_ns = 0, seen_ns = 0;
    if (clock_parse_rfc3339(json_string_or(json_path(event, "series", "lastObservedTime", NULL), ""), &at_ns))
        seen_ns = at_ns;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (clock_parse_rfc3339(member(event, members[i]), &at_ns))
            seen_ns = clock_later(seen_ns, at_ns);
    return seen_ns >= now_ns - RECENT_NS;
}

// The states of containers tell more than their Events.
static void read_event(struct pod_causes *causes, const struct json *event, int64_t now_ns) {
    const char *reason = member(event, "reason"), *message = member(event, "message");
    const struct json *about = json_get(event, "involvedObject");
    bool quota = strcmp(reason, "FailedCreate") == 0 && strstr(message, "exceeded quota");
    AUTO_TEXT name = text_format("%s %s", member(about, "kind"), member(about, "name"));
    if (name && is_recent(event, now_ns) && strcmp(reason, "Failed") != 0 && strcmp(reason, "BackOff") != 0)
        add_cause(causes, quota ? "QuotaExceeded" : reason, 0, "Event of", name, message);
}

// Questions --------------------------------------------------------------------------------------------------------

static const struct pod_question *current(const struct pod_causes *causes) {
    return causes->questions[0];
}

static void end_question(struct pod_causes *causes) {
    response_clear(&causes->list);
    json_free(TAKE(causes->pods));
    free(TAKE(causes->from));
    free(TAKE(causes->more));
    buffer_reset(&causes->causes);
    causes->at = NULL;
    causes->events = causes->answered = causes->lost = false;
    causes->searches = causes->tries = causes->pages = 0;
    causes->n_causes = 0;
    causes->due_ns = 0;
    free(causes->questions[0]);
    memmove(causes->questions, causes->questions + 1, --causes->n_questions * sizeof *causes->questions);
}

static void answer(struct pod_causes *causes, const char *problem) {
    const struct pod_question *question = current(causes);
    bool whole = !problem && !causes->causes.failed;
    cluster_post(causes->base.scope,
                 &(struct engine_event){.type = EVENT_CAUSES,
                                        .kind = question->kind,
                                        .causes = {.namespace_ = question->namespace_,
                                                   .name = question->name,
                                                   .uid = question->uid,
                                                   .causes = whole && causes->causes.len > 0 ? causes->causes.data : "",
                                                   .problem = whole     ? NULL
                                                              : problem ? problem
                                                                        : "out of memory"}});
    end_question(causes);
}

static void add_question(struct pod_causes *causes, const struct pod_question *question) {
    for (size_t i = 0; i < causes->n_questions; i++)
        if (strcmp(causes->questions[i]->uid, question->uid) == 0)
            return;
    struct pod_question *copy = causes->n_questions < QUESTIONS_MAX && text_is_dns_label(question->namespace_)
                                    ? struct_copy_with_texts(question, sizeof *question, POD_QUESTION_TEXTS)
                                    : NULL;
    if (copy)
        causes->questions[causes->n_questions++] = copy;
}

static void handle(void *state, const struct cluster_notice *notice) {
    struct pod_causes *causes = state;
    if (notice->type == NOTICE_ASK)
        add_question(causes, notice->question);
    else if (notice->type == NOTICE_CONFIGURED)
        owner_chain_forget_none(&causes->chain);
}

// Lists ------------------------------------------------------------------------------------------------------------

static void on_list(void *ctx, struct response *response) {
    struct pod_causes *causes = ctx;
    causes->request = 0;
    causes->answered = true;
    response_clear(&causes->list);
    causes->list = *response;
    *response = (struct response){.retry_after_ns = -1};
}

static char *list_path(const struct pod_causes *causes) {
    const struct pod_question *question = current(causes);
    const wharf_kind *kind = &causes->base.scope->settings.kinds[question->kind]->abi;
    AUTO_TEXT pods = causes->events ? NULL : pods_select(kind, question->uid, ENDED);
    const char *select = causes->events ? "&fieldSelector=type%3DWarning" : pods;
    const char *more = causes->more ? causes->more : "";
    return select ? text_format("/api/v1/namespaces/%s/%s?limit=%d%s%s%s", question->namespace_,
                                causes->events ? "events" : "pods", causes->events ? EVENTS : PODS, select,
                                *more ? "&continue=" : "", more)
                  : NULL;
}

static bool send_list(struct pod_causes *causes, struct moment now) {
    if (causes->due_ns > now.mono_ns)
        return false;
    if (!bucket_take(&causes->full_ns, now.mono_ns, REQUEST_NS, REQUESTS_BURST)) {
        causes->due_ns = causes->full_ns - (REQUESTS_BURST - 1) * REQUEST_NS;
        return false;
    }
    AUTO_TEXT path = list_path(causes);
    struct request request = {.verb = VERB_RAW_GET, .name = path};
    struct error *error =
        path ? client_submit(causes->client, &request, on_list, causes, &causes->request) : error_no_memory();
    if (error)
        answer(causes, error_text(error));
    error_free(error);
    return true;
}

static void take_list(struct pod_causes *causes, struct moment now) {
    const struct response *list = &causes->list;
    causes->answered = false;
    if (list->reason == REASON_OK && list->value) {
        AUTO_BUFFER(more, CONTINUE_BYTES);
        text_percent_encode(&more, json_string_or(json_path(list->value, "metadata", "continue", NULL), ""));
        free(causes->more);
        causes->more = more.len > 0 && ++causes->pages < PAGES_MAX ? buffer_take(&more, NULL) : NULL;
        causes->at = json_first(json_get(list->value, "items"));
        causes->tries = 0;
        return;
    }
    if (!reason_is_refusal(list->reason) && ++causes->tries < TRIES_MAX) {
        causes->due_ns = now.mono_ns + clock_later(list->retry_after_ns, CLOCK_SECOND);
        response_clear(&causes->list);
        return;
    }
    AUTO_TEXT problem = strdup(list->message ? list->message : "no answer");
    if (reason_is_refusal(list->reason))
        watcher_warn(causes->base.scope, &causes->logged,
                     "the worker does not let the host read pods and Events: retryElsewhere has no effect there; grant "
                     "list of pods and events",
                     problem);
    answer(causes, problem ? problem : "out of memory");
}

// Owners -----------------------------------------------------------------------------------------------------------

static void on_owner(void *ctx, enum owner_outcome outcome, const struct pod_mirror *mirror, const char *problem) {
    struct pod_causes *causes = ctx;
    (void)mirror;
    (void)problem;
    causes->lost = outcome == OWNER_REFUSED || outcome == OWNER_FAILED; // else the chain knows
    free(TAKE(causes->from));
}

// Whether the object belongs to the mirror; *later: the search has begun.
static bool is_below_mirror(struct pod_causes *causes, const struct owner_ref *object, bool *later) {
    struct pod_mirror mirror;
    bool found = false, lost = causes->lost;
    causes->lost = false;
    *later = false;
    if (strcmp(object->uid, current(causes)->uid) == 0)
        return true;
    if (owner_chain_knows(&causes->chain, object->uid, &found, &mirror))
        return found && strcmp(mirror.uid, current(causes)->uid) == 0;
    if (lost || causes->searches == SEARCHES_MAX || !*object->uid)
        return false;
    causes->from = struct_copy_with_texts(object, sizeof *object, 5);
    if (!causes->from)
        return false;
    causes->searches++;
    *later = true;
    owner_chain_find(&causes->chain, &(struct owner_search){.from = causes->from, .done = on_owner, .ctx = causes});
    return false;
}

static bool read_next_pod(struct pod_causes *causes) {
    const struct json *owner = object_controller(causes->at);
    struct owner_ref ref = owner_ref_read(owner, current(causes)->namespace_);
    bool later = false;
    if (owner && is_below_mirror(causes, &ref, &later)) {
        read_pod(causes, causes->at);
        if (!causes->pods)
            causes->pods = json_new_object();
        (void)json_set(causes->pods, object_uid(causes->at), json_new_bool(true));
    }
    return !later;
}

static bool read_next_event(struct pod_causes *causes, int64_t now_ns) {
    const struct json *about = json_get(causes->at, "involvedObject");
    struct owner_ref ref = owner_ref_read(about, current(causes)->namespace_);
    bool pod = strcmp(ref.kind, "Pod") == 0, later = false;
    if (pod ? !!json_get(causes->pods, ref.uid) : is_below_mirror(causes, &ref, &later))
        read_event(causes, causes->at, now_ns);
    return !later;
}

// False: nothing more can be done now.
static bool advance(struct pod_causes *causes, struct moment now) {
    if (causes->request || causes->from)
        return false;
    if (causes->answered) {
        take_list(causes, now);
        return true;
    }
    if (causes->list.reason != REASON_OK || !causes->list.value)
        return send_list(causes, now);
    if (causes->at) {
        if (causes->events ? read_next_event(causes, now.wall_ns) : read_next_pod(causes))
            causes->at = json_next(causes->at);
        return !causes->from;
    }
    response_clear(&causes->list);
    if (causes->more)
        return true;
    causes->pages = 0;
    if (causes->events || !current(causes)->stuck)
        answer(causes, NULL);
    else
        causes->events = true;
    return true;
}

static int64_t step(void *state, struct moment now) {
    struct pod_causes *causes = state;
    int64_t next_ns = owner_chain_tick(&causes->chain, now);
    while (causes->n_questions > 0 && advance(causes, now))
        continue;
    next_ns = clock_earlier(next_ns, owner_chain_tick(&causes->chain, now));
    if (causes->n_questions > 0 && !causes->request && !causes->from)
        next_ns = clock_earlier(next_ns, clock_later(causes->due_ns, now.mono_ns));
    return clock_earlier(next_ns, client_tick(causes->client, now));
}

static struct error *start(const struct cluster_scope *scope, void *state) {
    struct pod_causes *causes = state;
    struct client_options client = {.cluster = scope->name,
                                    .transport = scope->transport,
                                    .max_in_flight = 2,
                                    .budget = scope->budget,
                                    .meter = scope->meter};
    TRY(client_new(&client, &causes->client));
    owner_chain_init(&causes->chain, scope, causes->client);
    causes->causes = (struct buffer){.max = CAUSES_MAX * 3 * CAUSE_BYTES};
    causes->list.retry_after_ns = -1;
    return NULL;
}

static void stop(void *state) {
    struct pod_causes *causes = state;
    if (causes->request)
        client_cancel(causes->client, causes->request);
    owner_chain_clear(&causes->chain);
    client_free(causes->client);
    while (causes->n_questions > 0)
        end_question(causes);
    buffer_free(&causes->causes);
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->pod_causes;
}

const struct watcher pod_causes_watcher = {.of_workers = true,
                                           .wanted = is_wanted,
                                           .size = sizeof(struct pod_causes),
                                           .handle = handle,
                                           .start = start,
                                           .step = step,
                                           .stop = stop};
