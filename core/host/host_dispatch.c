// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"
#include "core/host/host_internal.h"

#include <stdlib.h>
#include <string.h>

// What one dispatch hands to one cluster's thread.
struct parcel {
    struct host_cluster *cluster;
    struct command *commands;
    size_t n_commands;
    struct note *notes;
    size_t n_notes;
};

static void deliver(void *arg) {
    struct parcel *parcel = arg;
    struct host_cluster *cluster = parcel->cluster;
    struct moment now = clock_now();
    for (size_t i = 0; i < parcel->n_commands; i++)
        if (cluster->link)
            link_command(cluster->link, &parcel->commands[i]);
        else
            command_free(&parcel->commands[i]);
    for (size_t i = 0; i < parcel->n_notes; i++)
        if (cluster->link)
            link_note(cluster->link, now, &parcel->notes[i]);
        else
            note_free(&parcel->notes[i]);
    if (cluster->link)
        atomic_store(&cluster->pending, link_pending(cluster->link));
    free(parcel->commands);
    free(parcel->notes);
    free(parcel);
}

// A command that cannot be handed over for lack of memory is answered as not sent, and tried again by the engine.
static void answer_not_sent(struct host *host, struct command *command) {
    inbox_post_now(host->inbox,
                   &(struct engine_event){
                       .type = EVENT_ANSWER,
                       .cluster = command->cluster,
                       .answer = {command->id, &(struct response){.reason = REASON_NOT_SENT, .retry_after_ns = -1}}});
    command_free(command);
}

static bool collect(struct host_cluster *cluster, struct command *command) {
    if (cluster->n_outbox == cluster->cap_outbox) {
        size_t cap = cluster->cap_outbox ? cluster->cap_outbox * 2 : 16;
        struct command *grown = realloc(cluster->outbox, cap * sizeof *grown);
        if (!grown)
            return false;
        cluster->outbox = grown;
        cluster->cap_outbox = cap;
    }
    cluster->outbox[cluster->n_outbox++] = *command;
    *command = (struct command){0};
    return true;
}

static void send_parcel(struct host_cluster *cluster, struct note *notes, size_t n_notes) {
    struct parcel *parcel = malloc(sizeof *parcel);
    if (parcel)
        *parcel = (struct parcel){cluster, cluster->outbox, cluster->n_outbox, notes, n_notes};
    if (parcel && cluster->loop && loop_post(cluster->loop, deliver, parcel)) {
        cluster->outbox = NULL;
        cluster->n_outbox = cluster->cap_outbox = 0;
        return;
    }
    free(parcel);
    for (size_t i = 0; i < cluster->n_outbox; i++)
        answer_not_sent(cluster->host, &cluster->outbox[i]);
    cluster->n_outbox = 0;
    for (size_t i = 0; i < n_notes; i++)
        note_free(&notes[i]);
    free(notes);
}

struct wish {
    struct host_cluster *cluster;
    size_t kind;
};

static void list_again(void *arg) {
    struct wish *wish = arg;
    if (wish->cluster->link)
        link_relist(wish->cluster->link, wish->kind);
    free(wish);
}

// One that is lost for lack of memory is asked for again when more has gone.
static void send_relists(struct host *host) {
    struct update *update = &host->update;
    for (size_t i = 0; i < update->n_relists; i++) {
        struct host_cluster *cluster = &host->clusters[update->relists[i].cluster];
        struct wish *wish = malloc(sizeof *wish);
        if (wish)
            *wish = (struct wish){cluster, update->relists[i].kind};
        if (!wish || !cluster->loop || !loop_post(cluster->loop, list_again, wish))
            free(wish);
    }
    update->n_relists = 0;
}

static void log_remarks(struct host *host) {
    struct update *update = &host->update;
    for (size_t i = 0; i < update->n_remarks; i++) {
        struct remark *remark = &update->remarks[i];
        bool of_kind = remark->kind != REMARK_NO_KIND;
        log_fields(remark->warning ? LOG_WARN : LOG_INFO, remark->text, {"cluster", host->names[remark->cluster]},
                   {"kind", of_kind ? host->adapters->kinds[remark->kind]->plural_group : NULL});
        remark_free(remark);
    }
    update->n_remarks = 0;
}

void host_dispatch(struct host *host) {
    struct update *update = &host->update;
    for (size_t i = 0; i < update->n_commands; i++) {
        struct command *command = &update->commands[i];
        if (!collect(&host->clusters[command->cluster], command))
            answer_not_sent(host, command);
    }
    for (size_t i = 0; i < update->n_notes; i++) {
        const struct note *note = &update->notes[i];
        log_fields(note->warning ? LOG_WARN : LOG_INFO, note->text, {"reason", note->reason}, {"action", note->action},
                   {"kind", host->adapters->kinds[note->kind]->plural_group}, {"namespace", note->namespace_},
                   {"name", note->name}, {"uid", note->uid});
    }
    log_remarks(host);
    send_relists(host);
    struct note *notes = update->notes; // handed over whole: they all go to the management cluster
    size_t n_notes = update->n_notes;
    if (n_notes > 0) {
        update->notes = NULL;
        update->n_notes = update->cap_notes = 0;
    }
    for (size_t c = 0; c < host->n_clusters; c++) {
        bool with_notes = c == ENGINE_MANAGEMENT && n_notes > 0;
        if (host->clusters[c].n_outbox > 0 || with_notes)
            send_parcel(&host->clusters[c], with_notes ? notes : NULL, with_notes ? n_notes : 0);
    }
    update->n_commands = 0;
}
