// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event.h"

static const char *put_text(char **at, const char *text, size_t len) {
    char *start = *at;
    if (len)
        memcpy(start, text, len);
    start[len] = '\0';
    *at = start + len + 1;
    return start;
}

bool command_set_request(struct command *command, const struct request *request) {
    struct request copy = *request;
    const char **const texts[] = {&copy.resource.group, &copy.resource.version, &copy.resource.plural, &copy.namespace_,
                                  &copy.name};
    size_t size = request->body_len + 1;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        size += strlen(*texts[i]) + 1;
    char *at = command->memory = malloc(size);
    if (!at)
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = put_text(&at, *texts[i], strlen(*texts[i]));
    copy.tenant = request->tenant ? copy.namespace_ : NULL;
    copy.body = request->body ? put_text(&at, request->body, request->body_len) : NULL;
    command->request = copy;
    return true;
}

void command_free(struct command *command) {
    (command->request.sensitive ? sensitive_free : free)(command->memory);
    *command = (struct command){0};
}

void workload_event_free(struct workload_event *event) {
    free(event->memory);
    *event = (struct workload_event){0};
}

void log_message_free(struct log_message *message) {
    free(message->text);
    free(message->object);
    *message = (struct log_message){0};
}

void update_clear(struct update *update) {
    for (size_t i = 0; i < update->n_commands; i++)
        command_free(&update->commands[i]);
    for (size_t i = 0; i < update->n_events; i++)
        workload_event_free(&update->events[i]);
    for (size_t i = 0; i < update->n_log; i++)
        log_message_free(&update->log[i]);
    for (size_t i = 0; i < update->n_wishes; i++)
        free(update->wishes[i]);
    for (size_t i = 0; i < update->n_questions; i++)
        free(update->questions[i]);
    for (size_t i = 0; i < update->n_words; i++)
        free(update->words[i]);
    update->n_commands = update->n_events = update->n_log = update->n_relists = update->n_wishes = 0;
    update->n_questions = update->n_words = 0;
}

void update_free(struct update *update) {
    update_clear(update);
    free(update->commands);
    free(update->events);
    free(update->log);
    free(update->relists);
    free(update->wishes);
    free(update->questions);
    free(update->words);
    *update = (struct update){0};
}
