// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/lease.h"

#include <stdio.h>

#define LEAVE_RETRY_NS (200 * CLOCK_MS)
#define FORBIDDEN_RETRIES 5 // retryPeriods between requests that are rejected

void lease_init(struct lease *lease, const struct lease_options *options) {
    *lease = (struct lease){.duration_ns = options->duration_ns,
                            .renew_ns = options->renew_ns,
                            .retry_ns = options->retry_ns,
                            .random = {.state = options->seed}};
    text_copy(lease->namespace_, sizeof lease->namespace_, options->namespace_);
    text_copy(lease->name, sizeof lease->name, options->name);
    text_copy(lease->identity, sizeof lease->identity, options->identity);
    if (options->label_key)
        snprintf(lease->label, sizeof lease->label, ",\"labels\":{\"%s\":\"%s\"}", options->label_key,
                 options->label_value);
    if (options->annotations)
        snprintf(lease->annotations, sizeof lease->annotations, ",\"annotations\":%s", options->annotations);
}

void lease_want(struct lease *lease, bool wanted) {
    if (wanted && !lease->wanted)
        lease->at_ns = 0;
    lease->wanted = wanted;
    lease->leaving = lease->leaving && !wanted;
}

void lease_release(struct lease *lease, struct moment now) {
    lease->wanted = false;
    lease->until_ns = 0;
    lease->leaving = lease->mine;
    lease->at_ns = now.mono_ns;
}

// Earlier than `period_ns`, so that several processes do not read at once, and notice changes in time.
static int64_t jittered(struct lease *lease, struct moment now, int64_t period_ns) {
    int64_t spread_ns = period_ns / 5;
    return now.mono_ns + period_ns - (spread_ns > 0 ? (int64_t)random_below(&lease->random, (uint64_t)spread_ns) : 0);
}

static int64_t expires_ns(const struct lease *lease) {
    return lease->observed_ns + lease->record.duration_ns;
}

static bool is_free(const struct lease *lease, struct moment now) {
    return *lease->record.holder == '\0' || now.mono_ns >= expires_ns(lease);
}

// The time of the next read.
static int64_t poll_ns(struct lease *lease, struct moment now) {
    int64_t at_ns = jittered(lease, now, lease->retry_ns / 2);
    bool held = lease->exists ? *lease->record.holder != '\0' : lease->waits;
    return lease->wanted && held ? clock_earlier(at_ns, clock_later(expires_ns(lease), now.mono_ns)) : at_ns;
}

static void write_spec(struct lease *lease, struct moment now, const char *metadata) {
    char time[CLOCK_RFC3339_MAX], more[96] = "";
    clock_rfc3339_micro(now.wall_ns, time);
    bool takes = !lease->mine && !lease->leaving;
    if (takes)
        snprintf(more, sizeof more, ",\"acquireTime\":\"%s\",\"leaseTransitions\":%lld", time,
                 (long long)(lease->exists ? lease->record.transitions + 1 : 0));
    else if (lease->leaving)
        snprintf(more, sizeof more, ",\"acquireTime\":\"%s\"", time);
    int64_t seconds = lease->leaving ? 1 : (lease->duration_ns + CLOCK_SECOND - 1) / CLOCK_SECOND;
    snprintf(lease->body, sizeof lease->body,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{%s},\"spec\":{"
             "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%lld,\"renewTime\":\"%s\"%s}}",
             metadata, lease->leaving ? "" : lease->identity, (long long)seconds, time, more);
    text_copy(lease->sent, sizeof lease->sent, lease->leaving ? "" : time);
}

// A process that was stopped may know a version from before a restore of the cluster, which the cluster has given
// again.
static enum lease_request request_due(struct lease *lease, struct moment now) {
    lease->known = lease->known && now.mono_ns < lease->read_ns + lease->renew_ns;
    if (!lease->known)
        return LEASE_GET;
    if (lease->mine)
        return LEASE_PATCH; // a renewal, or the release
    if (!lease->wanted)
        return LEASE_GET;
    if (!lease->exists)
        return lease->waits && now.mono_ns < expires_ns(lease) ? LEASE_GET : LEASE_CREATE;
    return is_free(lease, now) ? LEASE_PATCH : LEASE_GET;
}

enum lease_request lease_next(struct lease *lease, struct moment now, struct request *request, int64_t *at_ns) {
    *at_ns = lease->flies == LEASE_NONE ? lease->at_ns : CLOCK_NEVER;
    if (lease->flies != LEASE_NONE || now.mono_ns < lease->at_ns)
        return LEASE_NONE;
    enum lease_request type = request_due(lease, now);
    *request = (struct request){.resource = LEASE_RESOURCE, .namespace_ = lease->namespace_, .name = lease->name};
    request->verb = type == LEASE_GET ? VERB_GET : type == LEASE_CREATE ? VERB_CREATE : VERB_MERGE_PATCH;
    if (type == LEASE_GET)
        return type;
    char metadata[1024];
    if (type == LEASE_CREATE)
        snprintf(metadata, sizeof metadata, "\"name\":\"%s\",\"namespace\":\"%s\"%s%s", lease->name, lease->namespace_,
                 lease->label, lease->annotations);
    else
        snprintf(metadata, sizeof metadata, "\"resourceVersion\":\"%s\"%s", lease->record.version,
                 lease->mine ? "" : lease->annotations);
    write_spec(lease, now, metadata);
    request->body = lease->body;
    request->body_len = strlen(lease->body);
    return type;
}

void lease_sent(struct lease *lease, enum lease_request type, struct moment now) {
    lease->flies = type;
    lease->sent_ns = now.mono_ns;
    if (type != LEASE_GET)
        lease->sent_renewal_ns = now.mono_ns;
}

// Without a duration (a user edited the Lease), the holder continues for its configured duration; assume this
// process's.
void lease_record_read(const struct json *object, int64_t duration_ns, struct lease_record *record) {
    const struct json *spec = json_get(object, "spec");
    int64_t transitions = json_int64(json_get(spec, "leaseTransitions"), 0); // an int32 in the API
    *record = (struct lease_record){.transitions = transitions < INT32_MAX ? transitions : INT32_MAX};
    int64_t seconds = json_int64(json_get(spec, "leaseDurationSeconds"), 0);
    record->duration_ns = seconds > 0 && seconds < INT32_MAX ? seconds * CLOCK_SECOND : duration_ns;
    text_copy(record->holder, sizeof record->holder, json_string_or(json_get(spec, "holderIdentity"), ""));
    text_copy(record->acquired, sizeof record->acquired, json_string_or(json_get(spec, "acquireTime"), ""));
    text_copy(record->renewed, sizeof record->renewed, json_string_or(json_get(spec, "renewTime"), ""));
    text_copy(record->version, sizeof record->version, object_version(object));
}

static bool is_same(const struct lease_record *a, const struct lease_record *b) {
    return strcmp(a->holder, b->holder) == 0 && strcmp(a->renewed, b->renewed) == 0 &&
           strcmp(a->acquired, b->acquired) == 0 && a->duration_ns == b->duration_ns &&
           a->transitions == b->transitions;
}

// The record is this process's, written by a request sent at `sent_ns`; 0: by an earlier process.
static void hold(struct lease *lease, int64_t sent_ns) {
    if (!lease->mine)
        lease->term++;
    lease->mine = true;
    lease->leaving = lease->leaving || !lease->wanted; // acquired by a request without an answer
    if (sent_ns > 0 && !lease->leaving)
        lease->until_ns = clock_later(lease->until_ns, sent_ns + lease->renew_ns);
}

static void lose(struct lease *lease) {
    lease->mine = lease->leaving = false;
    lease->until_ns = 0;
}

// A user deleted the Lease: the holder creates the Lease again. Other processes wait, also a former holder, since the
// holder may not know yet.
static void is_absent(struct lease *lease, int64_t sent_ns, struct moment now) {
    lease->read_ns = sent_ns;
    if (lease->exists) {
        lease->waits = *lease->record.holder && now.mono_ns >= lease->until_ns;
        lease->observed_ns = now.mono_ns;
        lose(lease);
    }
    lease->exists = false;
    lease->known = true;
    lease->at_ns = lease->wanted && !lease->waits ? now.mono_ns : poll_ns(lease, now);
}

static void adopt_record(struct lease *lease, const struct json *object, int64_t sent_ns, struct moment now) {
    struct lease_record record;
    lease->read_ns = sent_ns;
    lease_record_read(object, lease->duration_ns, &record);
    if (!lease->exists || !is_same(&record, &lease->record))
        lease->observed_ns = now.mono_ns;
    lease->record = record;
    lease->exists = lease->known = true;
    lease->waits = false;
    if (strcmp(record.holder, lease->identity) != 0) {
        lose(lease);
        return;
    }
    bool newest = *lease->sent && strcmp(record.renewed, lease->sent) == 0;
    hold(lease, newest ? lease->sent_renewal_ns : 0);
}

static void observe(struct lease *lease, const struct json *object, int64_t sent_ns, struct moment now) {
    lease->problem[0] = '\0';
    if (!object) {
        is_absent(lease, sent_ns, now);
        return;
    }
    bool was_known = lease->known;
    adopt_record(lease, object, sent_ns, now);
    bool acts = lease->mine ? !was_known : lease->wanted && is_free(lease, now);
    lease->at_ns = acts ? now.mono_ns : lease->mine ? lease->at_ns : poll_ns(lease, now);
}

void lease_observe(struct lease *lease, const struct json *object, int64_t sent_ns, struct moment now) {
    if (lease->flies == LEASE_NONE && lease->sent_ns < sent_ns)
        observe(lease, object, sent_ns, now);
}

static void handle_failure(struct lease *lease, const struct response *response, struct moment now) {
    lease->known = lease->known && lease->flies == LEASE_GET && !lease->mine;
    bool soon_again = lease->mine || !response || !reason_is_permanent(response->reason);
    int64_t wait_ns = soon_again ? lease->retry_ns / 2 : FORBIDDEN_RETRIES * lease->retry_ns;
    lease->at_ns = lease->leaving ? now.mono_ns + LEAVE_RETRY_NS : jittered(lease, now, wait_ns);
    snprintf(lease->problem, sizeof lease->problem, "%s",
             response ? response->message ? response->message : reason_text(response->reason) : "no answer in time");
}

void lease_answer(struct lease *lease, const struct response *response, struct moment now) {
    enum lease_request type = lease->flies;
    enum reason reason = response ? response->reason : REASON_UNKNOWN_OUTCOME;
    bool done = reason == REASON_OK && response->object && !response->object->too_large;
    if (done && type == LEASE_GET)
        observe(lease, response->object->value, lease->sent_ns, now);
    else if (done) {
        lease->problem[0] = '\0';
        adopt_record(lease, response->object->value, lease->sent_ns, now);
        lease->at_ns = lease->leaving ? now.mono_ns // taken or extended by a request that was in flight
                       : lease->mine  ? jittered(lease, now, lease->retry_ns)
                                      : poll_ns(lease, now);
    } else if (reason == REASON_NOT_FOUND && type != LEASE_CREATE)
        observe(lease, NULL, lease->sent_ns, now);
    else if (reason == REASON_CONFLICT || reason == REASON_ALREADY_EXISTS) {
        lease->known = false;
        lease->at_ns = now.mono_ns;
    } else {
        handle_failure(lease, response, now);
    }
    lease->flies = LEASE_NONE;
}

bool lease_is_others(const struct lease *lease, struct moment now) {
    return !lease->mine && (lease->exists ? !is_free(lease, now) : lease->waits && now.mono_ns < expires_ns(lease));
}

const char *lease_holder(const struct lease *lease) {
    return lease->exists ? lease->record.holder : "";
}
