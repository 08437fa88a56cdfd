// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

#include "core/base/log.h"
#include "core/base/memory.h"

// Requests go out in batches, which saves wakeups, and early enough that no window stays empty for the rest of a long
// turn.
#define DISPATCH_AT 16                    // commands
#define DISPATCH_NS (CLOCK_SECOND / 5000) // after the first

static void step(struct turn *turn, struct engine_event *event) {
    const struct turn_mark older = {turn->update.n_commands, turn->update.n_events, turn->update.n_log};
    engine_step(turn->engine, event, &turn->update);
    if (turn->after)
        turn->after(turn->ctx, &turn->update, &older);
    if (older.commands == 0)
        turn->first_ns = event->now.mono_ns;
    if (turn->update.n_commands >= DISPATCH_AT ||
        (turn->update.n_commands > 0 && event->now.mono_ns - turn->first_ns >= DISPATCH_NS))
        dispatch_run(&turn->dispatch, &turn->update);
}

size_t turn_run(struct turn *turn, struct event_item *items) {
    size_t count = 0;
    int64_t begun_ns = 0;
    for (struct event_item *item = items, *next; item; item = next, count++) {
        next = item->next;
        if (turn->before)
            turn->before(turn->ctx, &item->event);
        item->event.now = turn->now(turn->ctx);
        if (count > 0)
            histogram_add(&turn->steps, TURN_STEP_NS, item->event.now.mono_ns - begun_ns);
        begun_ns = item->event.now.mono_ns;
        step(turn, &item->event);
        event_item_free(item);
    }
    struct moment now = turn->now(turn->ctx);
    if (count > 0)
        histogram_add(&turn->steps, TURN_STEP_NS, now.mono_ns - begun_ns);
    if (count == 0 || turn->update.wake_ns <= now.mono_ns)
        step(turn, &(struct engine_event){.type = EVENT_TIME, .now = now});
    dispatch_run(&turn->dispatch, &turn->update);
    return count;
}

void command_batch_free(struct command_batch *batch) {
    if (!batch)
        return;
    for (size_t i = 0; i < batch->n_commands; i++)
        command_free(&batch->commands[i]);
    for (size_t i = 0; i < batch->n_events; i++)
        workload_event_free(&batch->events[i]);
    for (size_t i = 0; i < batch->n_wishes; i++)
        free(batch->wishes[i]);
    for (size_t i = 0; i < batch->n_questions; i++)
        free(batch->questions[i]);
    free(batch->commands);
    free(batch->events);
    free(batch->wishes);
    free(batch->questions);
    free(batch->relists);
    free(batch);
}

void command_batch_run(struct command_batch *batch, struct cluster_io *io, struct moment now) {
    for (size_t i = 0; io && i < batch->n_relists; i++)
        cluster_io_relist(io, batch->relists[i]);
    for (size_t i = 0; io && i < batch->n_wishes; i++)
        cluster_io_wish(io, batch->wishes[i]);
    for (size_t i = 0; io && i < batch->n_questions; i++)
        cluster_io_question(io, batch->questions[i]);
    for (size_t i = 0; io && i < batch->n_commands; i++)
        cluster_io_command(io, now, &batch->commands[i]); // takes the command
    for (size_t i = 0; io && i < batch->n_events; i++)
        cluster_io_event(io, now, &batch->events[i]);
    command_batch_free(batch);
}

// The batches are in the order of the clusters. NULL: out of memory.
static struct command_batch *batch_of(struct dispatch *dispatch, size_t cluster) {
    struct command_batch **at = &dispatch->first;
    while (*at && (*at)->cluster < cluster)
        at = &(*at)->next;
    struct command_batch *batch = *at;
    if (batch && batch->cluster == cluster)
        return batch;
    batch = calloc(1, sizeof *batch);
    if (batch) {
        *batch = (struct command_batch){.next = *at, .cluster = cluster};
        *at = batch;
    }
    return batch;
}

static void answer_not_sent(struct command *command, void (*post)(void *ctx, struct engine_event *event), void *ctx) {
    struct response response = {.reason = REASON_NOT_SENT, .retry_after_ns = -1};
    post(ctx, &(struct engine_event){
                  .type = EVENT_ANSWER, .cluster = command->cluster, .answer = {command->id, &response, 0}});
    command_free(command);
}

void command_batch_refuse(struct command_batch *batch, void (*post)(void *ctx, struct engine_event *event), void *ctx) {
    for (size_t i = 0; i < batch->n_commands; i++)
        answer_not_sent(&batch->commands[i], post, ctx);
    batch->n_commands = 0;
    command_batch_free(batch);
}

static void add_command(struct dispatch *dispatch, struct command *command) {
    struct command_batch *batch = batch_of(dispatch, command->cluster);
    if (batch && array_next(&batch->commands, batch->n_commands, sizeof *batch->commands))
        batch->commands[batch->n_commands++] = *command;
    else
        answer_not_sent(command, dispatch->post, dispatch->ctx);
}

// An Event lost for lack of memory is in the log at least.
static void add_event(struct dispatch *dispatch, struct workload_event *event) {
    log_fields(event->warning ? LOG_WARN : LOG_INFO, event->text, {"reason", event->reason}, {"action", event->action},
               {"kind", dispatch->kinds[event->kind]->plural_group}, {"namespace", event->namespace_},
               {"name", event->name}, {"uid", event->uid});
    struct command_batch *batch = batch_of(dispatch, ENGINE_MANAGEMENT);
    if (batch && array_next(&batch->events, batch->n_events, sizeof *batch->events))
        batch->events[batch->n_events++] = *event;
    else
        workload_event_free(event);
}

// A relist lost for lack of memory is requested again after the next mirror is gone.
static void add_relist(struct dispatch *dispatch, const struct relist *relist) {
    struct command_batch *batch = batch_of(dispatch, relist->cluster);
    if (batch && array_next(&batch->relists, batch->n_relists, sizeof *batch->relists))
        batch->relists[batch->n_relists++] = relist->kind;
}

// Wishes that memory does not suffice for stay in the update, in order, for the next dispatch.
static void add_wishes(struct dispatch *dispatch, struct update *update) {
    size_t added = 0;
    for (; added < update->n_wishes; added++) {
        struct command_batch *batch = batch_of(dispatch, update->wishes[added]->cluster);
        if (!batch || !array_next(&batch->wishes, batch->n_wishes, sizeof *batch->wishes))
            break;
        batch->wishes[batch->n_wishes++] = update->wishes[added];
    }
    update->n_wishes -= added;
    if (update->n_wishes > 0)
        memmove(update->wishes, update->wishes + added, update->n_wishes * sizeof *update->wishes);
}

// A question lost for lack of memory has no answer in time, as one that a broken connection loses.
static void add_question(struct dispatch *dispatch, struct pod_question *question) {
    struct command_batch *batch = batch_of(dispatch, question->cluster);
    if (batch && array_next(&batch->questions, batch->n_questions, sizeof *batch->questions))
        batch->questions[batch->n_questions++] = question;
    else
        free(question);
}

static void write_log(const struct dispatch *dispatch, struct log_message *message) {
    bool of_kind = message->kind != LOG_NO_KIND;
    log_fields(message->level, message->text, {"cluster", dispatch->names[message->cluster]},
               {"kind", of_kind ? dispatch->kinds[message->kind]->plural_group : NULL}, {"object", message->object},
               {"action", message->action}, {"reason", message->reason});
    log_message_free(message);
}

void dispatch_run(struct dispatch *dispatch, struct update *update) {
    for (size_t i = 0; i < update->n_commands; i++)
        add_command(dispatch, &update->commands[i]);
    for (size_t i = 0; i < update->n_events; i++)
        add_event(dispatch, &update->events[i]);
    for (size_t i = 0; i < update->n_log; i++)
        write_log(dispatch, &update->log[i]);
    for (size_t i = 0; i < update->n_relists; i++)
        add_relist(dispatch, &update->relists[i]);
    add_wishes(dispatch, update);
    for (size_t i = 0; i < update->n_questions; i++)
        add_question(dispatch, update->questions[i]);
    for (size_t i = 0; i < update->n_words; i++)
        (dispatch->words ? dispatch->words(dispatch->ctx, update->words[i]) : free(update->words[i]));
    update->n_questions = update->n_words = 0;
    update->n_commands = update->n_events = update->n_log = update->n_relists = 0;
    for (struct command_batch *batch; (batch = dispatch->first);) {
        dispatch->first = batch->next;
        if (!dispatch->deliver(dispatch->ctx, batch))
            command_batch_refuse(batch, dispatch->post, dispatch->ctx);
    }
}
