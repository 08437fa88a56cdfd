// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event.h"

#include "core/base/memory.h"

#define AT(member) offsetof(struct engine_event, member)

// The texts of an event, by type; 0 ends a row.
static const uint16_t texts[EVENT_WORDS + 1][WORKER_SETTINGS_TEXTS + 1] = {
    [EVENT_LISTING] = {AT(version)},
    [EVENT_LISTED] = {AT(version)},
    [EVENT_RESTORED] = {AT(problem)},
    [EVENT_DENIED] = {AT(problem)},
    [EVENT_STATE] = {AT(watch.problem)},
    [EVENT_CONTACT] = {AT(contact.problem)},
    [EVENT_IDENTITY] = {AT(identity.uid), AT(identity.version), AT(identity.problem)},
    [EVENT_WORKER] = {AT(worker.name), AT(worker.namespaces), AT(worker.labels), AT(worker.max_kinds), AT(worker.uid),
                      AT(worker.recorded), AT(worker.namespace_map)},
    [EVENT_POD_REPORT] = {AT(pod_report.namespace_), AT(pod_report.name), AT(pod_report.uid), AT(pod_report.reason),
                          AT(pod_report.text)},
    [EVENT_NAMESPACE] = {AT(namespace_.name), AT(namespace_.labels)},
    [EVENT_QUEUED] = {AT(queued.namespace_), AT(queued.name), AT(queued.uid)},
    [EVENT_CAPACITY] = {AT(capacity.problem)},
    [EVENT_DEPENDENCY] = {AT(dependency.resource), AT(dependency.namespace_), AT(dependency.name),
                          AT(dependency.problem)},
    [EVENT_TENANT] = {AT(tenant.name), AT(tenant.uid), AT(tenant.problem)},
    [EVENT_CAUSES] = {AT(causes.namespace_), AT(causes.name), AT(causes.uid), AT(causes.causes), AT(causes.problem)},
    [EVENT_WORDS] = {AT(words.namespace_), AT(words.name), AT(words.uid), AT(words.text)},
};
_Static_assert(WORKER_SETTINGS_TEXTS == 7, "EVENT_WORKER has a row with the texts");

// The address of the event's text number `i`; NULL: no more.
static const char **text_at(const struct engine_event *event, size_t i) {
    uint16_t at = texts[event->type][i];
    return at ? (const char **)(void *)((char *)event + at) : NULL;
}

size_t engine_event_texts(const struct engine_event *event) {
    size_t bytes = event->type == EVENT_QUEUED ? struct_texts_size(event->queued.state, KUEUE_STATE_TEXTS) : 0;
    const char **text;
    for (size_t i = 0; (text = text_at(event, i)); i++)
        bytes += *text ? strlen(*text) + 1 : 0;
    return bytes;
}

// Removes the members that another copy of the event owns.
static void leave_content(struct engine_event *event) {
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        event->object = NULL;
    if (event->type == EVENT_DEPENDENCY)
        event->dependency.metadata = NULL;
    if (event->type == EVENT_CAPACITY)
        event->capacity.nodes = NULL;
}

struct error *engine_event_own(struct engine_event *event, struct engine_event *copy) {
    const char **text;
    bool complete = true, answer = event->type == EVENT_ANSWER && event->answer.response;
    *copy = *event;
    if (answer) {
        copy->answer.response = calloc(1, sizeof *copy->answer.response);
        complete = copy->answer.response;
    } else if (event->type == EVENT_QUEUED) {
        copy->queued.state = struct_copy_with_texts(event->queued.state, sizeof *copy->queued.state, KUEUE_STATE_TEXTS);
        complete = copy->queued.state;
    }
    for (size_t i = 0; (text = text_at(copy, i)); i++) {
        if (!*text)
            continue;
        *text = complete ? strdup(*text) : NULL;
        complete = *text;
    }
    leave_content(complete ? event : copy);
    if (!complete) {
        engine_event_clear(copy);
        return error_no_memory();
    }
    if (answer) {
        *copy->answer.response = *event->answer.response;
        memset(event->answer.response, 0, sizeof *event->answer.response);
    }
    return NULL;
}

void engine_event_clear(struct engine_event *event) {
    const char **text;
    for (size_t i = 0; (text = text_at(event, i)); i++)
        free((char *)*text);
    engine_event_drop(event);
    if (event->type == EVENT_QUEUED)
        free(event->queued.state);
    if (event->type == EVENT_ANSWER && event->answer.response) {
        response_clear(event->answer.response);
        free(event->answer.response);
    }
    *event = (struct engine_event){.type = EVENT_TIME};
}

void engine_event_drop(struct engine_event *event) {
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        object_free(TAKE(event->object));
    if (event->type == EVENT_DEPENDENCY)
        object_free(TAKE(event->dependency.metadata));
    if (event->type == EVENT_CAPACITY)
        nodes_free(TAKE(event->capacity.nodes));
}
