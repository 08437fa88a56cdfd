// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event.h"

#include <stdlib.h>
#include <string.h>

#define EVENT_STRINGS 5 // at most

// Pointers to the event's strings; the rest of `out` is NULL.
static void strings_of(struct engine_event *event, const char **out[EVENT_STRINGS]) {
    for (size_t i = 0; i < EVENT_STRINGS; i++)
        out[i] = NULL;
    switch (event->type) {
    case EVENT_LISTING:
    case EVENT_LISTED:
        out[0] = &event->version;
        break;
    case EVENT_REWOUND:
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
        out[0] = &event->worker.name;
        break;
    case EVENT_REMARK:
        out[0] = &event->remark.namespace_;
        out[1] = &event->remark.name;
        out[2] = &event->remark.uid;
        out[3] = &event->remark.reason;
        out[4] = &event->remark.text;
        break;
    case EVENT_SEEN:
    case EVENT_GONE:
    case EVENT_ANSWER:
    case EVENT_TIME:
        break;
    }
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

// Moves what the event owns; on failure nothing is moved.
static bool move_content(struct engine_event *event, struct engine_event *copy) {
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        event->object = NULL;
    if (event->type != EVENT_ANSWER || !event->answer.response)
        return true;
    copy->answer.response = malloc(sizeof *copy->answer.response);
    if (!copy->answer.response)
        return false;
    *copy->answer.response = *event->answer.response;
    memset(event->answer.response, 0, sizeof *event->answer.response);
    return true;
}

struct error *engine_event_own(struct engine_event *event, struct engine_event *copy) {
    *copy = *event;
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
    if (event->type == EVENT_SEEN || event->type == EVENT_GONE)
        object_free(event->object);
    if (event->type == EVENT_ANSWER && event->answer.response) {
        response_clear(event->answer.response);
        free(event->answer.response);
    }
    *event = (struct engine_event){.type = EVENT_TIME};
}
