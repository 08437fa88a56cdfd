// SPDX-License-Identifier: Apache-2.0
// What the engine's thread hears of the clusters, as lines of the log.
#include "core/base/log.h"
#include "core/host/host_internal.h"

static const char *kind_name(const struct host *host, const struct engine_event *event) {
    return host->adapters->kinds[event->kind]->plural_group;
}

static void log_contact(const struct host *host, const struct engine_event *event) {
    static const char *const words[] = {
        [CONTACT_UNKNOWN] = "nothing is known of the cluster",
        [CONTACT_GOOD] = "the cluster answers",
        [CONTACT_SUSPECT] = "the cluster is suspect: it gets no new work",
        [CONTACT_LOST] = "the cluster is lost: it does not answer",
    };
    log_fields(event->contact.state == CONTACT_GOOD ? LOG_INFO : LOG_WARN, words[event->contact.state],
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
    else if (event->type == EVENT_REWOUND)
        log_fields(LOG_WARN, "the cluster's versions went back", {"cluster", host->names[event->cluster]},
                   {"kind", kind_name(host, event)}, {"error", event->problem});
    else if (event->type == EVENT_STATE)
        log_state(host, event);
}
