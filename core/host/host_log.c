// SPDX-License-Identifier: Apache-2.0
// Logs connection changes of the clusters.
#include "core/base/log.h"
#include "core/host/host_internal.h"

static const char *kind_name(const struct host *host, const struct engine_event *event) {
    return host_adapters(host)->kinds[event->kind]->plural_group;
}

static void log_contact(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {
        [CONTACT_UNKNOWN] = "the state of the cluster is not known yet",
        [CONTACT_GOOD] = "the cluster is reachable",
        [CONTACT_SUSPECT] = "the cluster does not respond: nothing new is placed there until it does",
        [CONTACT_LOST] = "the cluster is unreachable",
        [CONTACT_REJECTED] = "the cluster rejects the host's credentials or rights: nothing new is placed there",
    };
    const char *text =
        event->contact.repeated ? "no attempt to reach the cluster succeeds" : words[event->contact.state];
    log_fields(event->contact.state == CONTACT_GOOD ? LOG_INFO : LOG_WARN, text,
               {"cluster", host->names[event->cluster]}, {"error", event->contact.problem});
}

static void log_state(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {[REFLECTOR_STARTING] = "starting",
                                        [REFLECTOR_CONNECTED] = "connected",
                                        [REFLECTOR_LOST] = "lost",
                                        [REFLECTOR_ABSENT] = "kind is not served"};
    bool good = event->watch.state == REFLECTOR_CONNECTED || event->watch.state == REFLECTOR_STARTING;
    log_fields(good ? LOG_INFO : LOG_WARN, words[event->watch.state], {"cluster", host->names[event->cluster]},
               {"kind", kind_name(host, event)}, {"error", event->watch.problem});
}

void host_log_event(const struct host *host, const struct engine_event *event) {
    if (event->type == EVENT_CONTACT)
        log_contact(host, event);
    else if (event->type == EVENT_RESTORED)
        log_fields(LOG_WARN,
                   "resourceVersions went backwards: the cluster was restored or wiped, and its objects are listed "
                   "again before anything is done",
                   {"cluster", host->names[event->cluster]}, {"kind", kind_name(host, event)},
                   {"error", event->problem});
    else if (event->type == EVENT_STATE)
        log_state(host, event);
}
