// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define EVENT_STRINGS (3 + KUEUE_STATE_STRINGS) // at most

// Pointers to the event's strings; the rest of `out` is NULL.
static void strings_of(struct engine_event *event, const char **out[EVENT_STRINGS]) {
    for (size_t i = 0; i < EVENT_STRINGS; i++)
        out[i] = NULL;
    switch (event->type) {
    case EVENT_LISTING:
    case EVENT_LISTED:
        out[0] = &event->version;
        break;
    case EVENT_RESTORED:
    case EVENT_DENIED:
        out[0] = &event->problem;
        break;
    case EVENT_STATE:
        out[0] = &event->watch.problem;
        break;
    case EVENT_CONTACT:
        out[0] = &event->contact.problem;
        break;
    case EVENT_IDENTITY:
        out[0] = &event->identity.uid;
        out[1] = &event->identity.version;
        out[2] = &event->identity.problem;
        break;
    case EVENT_WORKER:
        for (size_t i = 0; i < WORKER_SETTINGS_TEXTS; i++)
            out[i] = worker_settings_text(&event->worker, i);
        break;
    case EVENT_POD_REPORT:
        out[0] = &event->pod_report.namespace_;
        out[1] = &event->pod_report.name;
        out[2] = &event->pod_report.uid;
        out[3] = &event->pod_report.reason;
        out[4] = &event->pod_report.text;
        break;
    case EVENT_NAMESPACE:
        out[0] = &event->namespace_.name;
        out[1] = &event->namespace_.labels;
        break;
    case EVENT_QUEUED:
        out[0] = &event->queued.namespace_;
        out[1] = &event->queued.name;
        out[2] = &event->queued.uid;
        kueue_state_strings(event->queued.state, out + 3);
        break;
    case EVENT_CAPACITY:
        out[0] = &event->capacity.problem;
        break;
    case EVENT_SEEN:
    case EVENT_GONE:
    case EVENT_ANSWER:
    case EVENT_LEASE:
    case EVENT_FIELD:
    case EVENT_TIME:
    case EVENT_FENCE:
        break;
    }
}

size_t engine_event_texts(const struct engine_event *event) {
    struct engine_event own = *event;
    const char **strings[EVENT_STRINGS];
    size_t bytes = 0;
    strings_of(&own, strings);
    for (size_t i = 0; i < EVENT_STRINGS && strings[i]; i++)
        bytes += *strings[i] ? strlen(*strings[i]) + 1 : 0;
    return bytes;
}

static bool own_strings(struct engine_event *copy) {
    const char **strings[EVENT_STRINGS];
    strings_of(copy, strings);
    bool complete = true;
    for (size_t i = 0; i < EVENT_STRINGS && strings[i]; i++) {
        if (!*strings[i])
            continue;
        *strings[i] = complete ? strdup(*strings[i]) : NULL;
        complete = *strings[i];
    }
    return complete;
}

// Removes from the copy the members that the event still owns.
static void leave_content(struct engine_event *copy) {
    if (copy->type == EVENT_SEEN || copy->type == EVENT_GONE)
        copy->object = NULL;
    if (copy->type == EVENT_CAPACITY)
        copy->capacity.nodes = NULL;
    if (copy->type == EVENT_ANSWER)
        copy->answer.response = NULL;
}

// Moves owned members; on failure none.
static bool move_content(struct engine_event *event, struct engine_event *copy) {
    if (event->type == EVENT_ANSWER && event->answer.response) {
        copy->answer.response = malloc(sizeof *copy->answer.response);
        if (!copy->answer.response)
            return false;
        *copy->answer.response = *event->answer.response;
        memset(event->answer.response, 0, sizeof *event->answer.response);
    }
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE) {
        copy->object = event->object;
        event->object = NULL;
    }
    if (event->type == EVENT_CAPACITY) {
        copy->capacity.nodes = event->capacity.nodes;
        event->capacity.nodes = NULL;
    }
    return true;
}

static bool own_state(struct engine_event *copy) {
    const struct kueue_state *state = copy->queued.state;
    copy->queued.state = malloc(sizeof *state);
    if (copy->queued.state)
        *copy->queued.state = *state;
    else
        *copy = (struct engine_event){.type = EVENT_TIME};
    return copy->queued.state;
}

struct error *engine_event_own(struct engine_event *event, struct engine_event *copy) {
    *copy = *event;
    leave_content(copy);
    if (copy->type == EVENT_QUEUED && !own_state(copy))
        return error_no_memory();
    if (own_strings(copy) && move_content(event, copy))
        return NULL;
    engine_event_clear(copy);
    return error_no_memory();
}

void engine_event_clear(struct engine_event *event) {
    const char **strings[EVENT_STRINGS];
    strings_of(event, strings);
    for (size_t i = 0; i < EVENT_STRINGS && strings[i]; i++)
        free((char *)*strings[i]);
    if (event->type == EVENT_QUEUED)
        free(event->queued.state);
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        object_free(event->object);
    if (event->type == EVENT_ANSWER && event->answer.response) {
        response_clear(event->answer.response);
        free(event->answer.response);
    }
    if (event->type == EVENT_CAPACITY)
        nodes_free(event->capacity.nodes);
    *event = (struct engine_event){.type = EVENT_TIME};
}

void engine_event_drop(struct engine_event *event) {
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        object_free(TAKE(event->object));
    if (event->type == EVENT_CAPACITY)
        nodes_free(TAKE(event->capacity.nodes));
}
