// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue.h"

#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/kube/object/object.h"

#include <stdio.h>

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"
#define CHECK_AGAIN_NS (60 * CLOCK_SECOND) // until the next check of MultiKueue's ownership
#define ABSENT_NS (10 * CLOCK_SECOND)      // until the next check of Kueue's absence

// Versions of kueue.x-k8s.io, newest first; a server without these has no Kueue.
static const char *const versions[] = {"v1beta2", "v1beta1"};
#define VERSIONS (sizeof versions / sizeof versions[0])

bool kueue_shares(const char *managed_by) {
    return text_equal(managed_by, MULTIKUEUE);
}

bool kueue_may_own(const char *managed_by, const struct json *object) {
    return kueue_shares(managed_by) && object_label(object, KUEUE_QUEUE_NAME);
}

static bool request_owner(struct engine *engine, struct entry *entry, const char *path, char **checks) {
    struct request_in_flight request = {.type = REQUEST_OWNER, .path = path, .offered = checks};
    return command_send_about(engine, entry, NULL, &request);
}

bool kueue_is_admitted(const struct entry *entry) {
    return entry->workload->kueue.state == KUEUE_ADMITTED;
}

void kueue_ask_again(struct entry *entry) {
    if (!kueue_is_admitted(entry))
        entry->workload->kueue.state = KUEUE_UNKNOWN;
}

bool kueue_permits(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    bool shared = kueue_shares(engine->kinds[entry->kind]->managed_by);
    if (w->kueue.state != KUEUE_UNKNOWN || (!shared && engine->settings.kueue_carried) || !w->kueue.names_queue)
        return true;
    if (w->kueue.status && !shared) { // the watch has shown the Workload
        w->kueue.state = KUEUE_ADMITTED;
        return true;
    }
    if (engine->kueue.absent_until_ns > engine->now.mono_ns)
        return true;
    if (w->facts.not_before_ns > engine->now.mono_ns || entry->busy)
        return false;
    char namespace_[254], path[512];
    entry_namespace(entry, namespace_);
    // Kueue labels a Workload with the uid of the job (constants.JobUIDLabel).
    snprintf(path, sizeof path,
             "/apis/kueue.x-k8s.io/%s/namespaces/%s/workloads?labelSelector=kueue.x-k8s.io%%2Fjob-uid%%3D%s",
             versions[w->kueue.asked % VERSIONS], namespace_, w->uid);
    request_owner(engine, entry, path, NULL);
    return false;
}

static const struct json *find_owner(const struct json *list, const char *uid) {
    for (const struct json *w = json_first(json_get(list, "items")); w; w = json_next(w))
        if (text_equal(json_string(json_get(object_controller(w), "uid")), uid))
            return w;
    return NULL;
}

// The name of the Workload and the names of the admission checks, each check between two spaces.
static char *checks_of(const struct json *workload) {
    AUTO_BUFFER(names, (size_t)64 << 10);
    buffer_printf(&names, "%s ", object_name(workload));
    const struct json *checks = json_path(workload, "status", "admissionChecks", NULL);
    for (const struct json *c = json_is(checks, JSON_ARRAY) ? json_first(checks) : NULL; c; c = json_next(c))
        buffer_printf(&names, "%s ", json_string_or(json_get(c, "name"), ""));
    return buffer_take(&names, NULL);
}

static void set_state(struct entry *entry, enum kueue kueue) {
    entry->workload->kueue.state = (uint8_t)kueue;
    entry->workload->failures = 0;
    entry->workload->facts.not_before_ns = 0;
}

// A Workload exists. If MultiKueue shares the managedBy value, the admission checks show whether MultiKueue handles
// the object.
static bool handle_owner(struct engine *engine, struct entry *entry, const struct json *workload) {
    const struct json *checks = json_path(workload, "status", "admissionChecks", NULL);
    if (!kueue_shares(engine->kinds[entry->kind]->managed_by) || !json_is(checks, JSON_ARRAY) || !json_first(checks)) {
        set_state(entry, KUEUE_ADMITTED);
        return true;
    }
    AUTO_TEXT names = checks_of(workload);
    char path[128];
    snprintf(path, sizeof path, "/apis/kueue.x-k8s.io/%s/admissionchecks",
             versions[entry->workload->kueue.asked % VERSIONS]);
    if (!names || !request_owner(engine, entry, path, &names))
        entry->workload->facts.not_before_ns = engine->now.mono_ns + CLOCK_SECOND;
    return true;
}

static bool is_of_multikueue(const struct json *check, const char *names) {
    AUTO_TEXT name = text_format(" %s ", object_name(check));
    return name && text_equal(json_string(json_path(check, "spec", "controllerName", NULL)), MULTIKUEUE) &&
           strstr(names, name);
}

static bool handle_checks(struct engine *engine, struct entry *entry, const struct json *list, const char *names) {
    const struct json *check = json_first(json_get(list, "items"));
    while (check && !is_of_multikueue(check, names))
        check = json_next(check);
    set_state(entry, check ? KUEUE_UNKNOWN : KUEUE_ADMITTED);
    if (!check)
        return true;
    report_event(engine, entry, false, "OwnedByKueue", "Place",
                 "left to MultiKueue: Kueue's Workload %.*s has MultiKueue's admission check %s",
                 (int)strcspn(names, " "), names, object_name(check));
    entry->workload->facts.not_before_ns = engine->now.mono_ns + CHECK_AGAIN_NS;
    return true;
}

// No Kueue, or no answer. An object that MultiKueue may handle waits; others keep their labels.
static bool handle_failure(struct engine *engine, struct entry *entry, const struct response *response, bool absent) {
    if (absent && ++entry->workload->kueue.asked < VERSIONS)
        return true; // the next version
    if (absent) {
        entry->workload->kueue.asked = 0;
        engine->kueue.absent_until_ns = engine->now.mono_ns + ABSENT_NS;
        set_state(entry, KUEUE_NONE);
        return true;
    }
    bool refused = reason_is_refusal(response->reason);
    if (!refused || kueue_shares(engine->kinds[entry->kind]->managed_by))
        return false;
    report_event(
        engine, entry, true, reason_text(response->reason), "Place",
        "cannot read whether Kueue admitted the workload, so the host carries the queue name to the mirror; allow "
        "the host to list workloads.kueue.x-k8s.io: %s",
        response->message);
    set_state(entry, KUEUE_NONE);
    return true;
}

bool kueue_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                    const struct response *response) {
    bool absent = response->reason == REASON_NOT_FOUND || response->reason == REASON_KIND_NOT_FOUND;
    bool list = response->reason == REASON_OK && json_is(json_get(response->value, "items"), JSON_ARRAY);
    if (request->record && (list || absent))
        return handle_checks(engine, entry, list ? response->value : NULL, request->record);
    if (!list)
        return handle_failure(engine, entry, response, absent);
    const struct json *workload = find_owner(response->value, entry->workload->uid);
    if (workload)
        return handle_owner(engine, entry, workload);
    set_state(entry, KUEUE_NONE);
    return true;
}
