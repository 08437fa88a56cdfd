// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h"

#include "core/kube/api/requests.h"

#define UNAUTHORIZED 401
#define BODY_MAX ((size_t)1 << 20)
#define LATE_NS (2 * CLOCK_SECOND) // a tick later than this means that the process was not running

struct probe {
    const char *cluster; // first member, see struct_copy_with_texts
    struct transport *transport;
    struct probe_handler handler;
    enum contact contact;
    bool repeated;          // see probe_handler
    uint64_t exchange;      // 0: none in flight
    struct request_log log; // of the probe
    struct meter *meter;    // or NULL
    int64_t sent_ns;        // by the clock
    bool started;           // ticked before
    bool heard;             // since the last tick
    bool ever_heard;
    bool wanted;            // requested, regardless of silence
    bool unanswered;        // probe sent, and nothing received since
    bool failed;            // the last probe timed out or did not get a connection, even if other data was received
    unsigned failures;      // consecutive refused or broken probes, even if open watches bring data
    bool ended;             // the exchange ended since the last tick; `answer` has the response
    bool refreshed;         // the credentials were reloaded after a 401
    bool known;             // the uid was read
    bool rejected;          // by the last answer: 401, or 403 although the uid was read before
    bool closed;            // the server closed an idle connection since the last tick
    int64_t closed_ns;      // when that was last a reason for a probe
    int64_t now_ns, due_ns; // time of the last tick, and its return value
    int64_t heard_ns, asked_ns;
    enum http_outcome outcome;
    struct response answer;
};

static void on_closed(void *ctx) {
    ((struct probe *)ctx)->closed = true;
}

struct error *probe_new(const char *cluster, struct transport *transport, const struct probe_handler *handler,
                        struct probe **out) {
    const struct probe made = {
        .cluster = cluster, .transport = transport, .handler = *handler, .answer.retry_after_ns = -1};
    *out = struct_copy_with_texts(&made, sizeof made, 1);
    if (!*out)
        return error_no_memory();
    transport->closed = on_closed;
    transport->closed_ctx = *out;
    return NULL;
}

void probe_free(struct probe *probe) {
    if (!probe)
        return;
    if (probe->exchange != 0)
        probe->transport->ops->cancel(probe->transport, probe->exchange);
    probe->transport->closed = NULL;
    response_clear(&probe->answer);
    request_log_free(&probe->log);
    free(probe);
}

void probe_measure(struct probe *probe, struct meter *meter) {
    probe->meter = meter;
}

void probe_heard(struct probe *probe) {
    if (probe)
        probe->heard = true;
}

void probe_disconnected(struct probe *probe) {
    if (probe)
        probe->wanted = true;
}

void probe_ended(struct probe *probe, const struct http_result *result) {
    if (result->outcome == HTTP_ANSWERED)
        probe_heard(probe);
    if (result->outcome != HTTP_ANSWERED || result->status == UNAUTHORIZED)
        probe_disconnected(probe);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct probe *probe = ctx;
    probe->exchange = 0;
    probe->ended = true;
    probe->outcome = result->outcome;
    request_log_end(&probe->log, probe->cluster, result);
    int64_t now_ns = clock_now().mono_ns;
    if (result->outcome == HTTP_ANSWERED)
        meter_answered(probe->meter, now_ns, now_ns - probe->sent_ns);
    response_clear(&probe->answer);
    response_read(&probe->answer, result, VERB_GET);
}

static void send_probe(struct probe *probe) {
    const struct http_request request = {.method = HTTP_GET,
                                         .path = CLUSTER_ID_PATH,
                                         .accept = "application/json",
                                         .max_body = BODY_MAX,
                                         .timeout_ns = PROBE_TIMEOUT_NS};
    const struct http_handler handler = {.done = on_done, .ctx = probe};
    probe->wanted = false;
    probe->asked_ns = probe->now_ns;
    probe->sent_ns = clock_now().mono_ns;
    probe->exchange = probe->transport->ops->submit(probe->transport, &request, &handler);
    if (probe->exchange != 0)
        request_log_begin(&probe->log, "get", CLUSTER_ID_PATH);
    probe->unanswered = probe->unanswered || probe->exchange != 0;
    probe->wanted = probe->exchange == 0; // out of memory
}

static void report_identity(struct probe *probe) {
    const char *uid = cluster_id_uid(&probe->answer);
    AUTO_TEXT problem = *uid ? NULL : cluster_id_problem(&probe->answer);
    const char *unread = problem ? problem : "out of memory";
    probe->handler.identity(probe->handler.ctx, uid, cluster_id_version(&probe->answer), *uid ? NULL : unread);
}

// The uid, or a permanent rejection.
static bool is_conclusive(enum reason reason) {
    return reason == REASON_OK || reason == REASON_FORBIDDEN || reason == REASON_NOT_FOUND ||
           reason == REASON_KIND_NOT_FOUND || reason == REASON_NAMESPACE_NOT_FOUND;
}

// Evaluates the exchange that ended. An error response counts as an answer, too.
static void read_end(struct probe *probe) {
    probe->ended = false;
    if (probe->outcome != HTTP_ANSWERED) {
        bool in_time = probe->now_ns - probe->asked_ns < PROBE_TIMEOUT_NS; // refused, and not silent
        if (!in_time)
            probe->failures = 0;
        else if (probe->failures <= PROBE_EARLY_TRIES)
            probe->failures++;
        // A server that has never answered may still be starting: it remains UNKNOWN until it counts as silent.
        probe->failed = probe->outcome == HTTP_BROKEN || probe->contact != CONTACT_UNKNOWN;
        probe->wanted = true;
        return;
    }
    probe->heard = true;
    probe->failed = false;
    probe->failures = 0;
    if (probe->answer.reason == REASON_UNAUTHORIZED && !probe->refreshed &&
        probe->transport->ops->refresh(probe->transport) && !probe->rejected) {
        probe->refreshed = true;
        probe->asked_ns = probe->now_ns - PROBE_AGAIN_NS;
        probe->wanted = true;
        return;
    }
    probe->refreshed = false;
    enum reason reason = probe->answer.reason;
    probe->rejected = reason == REASON_UNAUTHORIZED || (reason == REASON_FORBIDDEN && probe->known);
    probe->known |= reason == REASON_OK;
    if (is_conclusive(reason) && !probe->rejected) {
        report_identity(probe);
        return;
    }
    // Rejected, or a transient error: the identity is still unknown.
    probe->wanted = true;
    probe->asked_ns = probe->now_ns + PROBE_ERROR_NS - PROBE_AGAIN_NS;
}

// One sentence, without advice.
static char *describe(const struct probe *probe) {
    const char *said = probe->answer.message ? probe->answer.message : "no response yet";
    if (probe->contact != CONTACT_REJECTED)
        return text_format("nothing received from the server for %lld s; GET " CLUSTER_ID_PATH ": %s",
                           (long long)((probe->now_ns - probe->heard_ns) / CLOCK_SECOND), said);
    if (probe->answer.reason == REASON_UNAUTHORIZED)
        return text_format("the API server rejects the host's credentials (401): %s", said);
    return text_format("the host's rights were revoked (403): %s", said);
}

static void set_contact(struct probe *probe, enum contact contact) {
    bool repeated = contact == CONTACT_SUSPECT && (probe->repeated || probe->failures > PROBE_EARLY_TRIES);
    if (contact == probe->contact && repeated == probe->repeated)
        return;
    probe->contact = contact;
    probe->repeated = repeated;
    AUTO_TEXT problem = contact == CONTACT_GOOD ? NULL : describe(probe);
    const char *text = contact == CONTACT_GOOD ? NULL : problem ? problem : "out of memory";
    probe->handler.contact(probe->handler.ctx, contact, repeated, probe->heard_ns, text);
}

static void judge(struct probe *probe) {
    int64_t silence_ns = probe->now_ns - probe->heard_ns;
    if (probe->unanswered && silence_ns >= PROBE_LOST_NS)
        set_contact(probe, CONTACT_LOST);
    else if (probe->failed || (probe->unanswered && silence_ns >= PROBE_SUSPECT_NS))
        set_contact(probe, probe->contact == CONTACT_LOST && probe->unanswered ? CONTACT_LOST : CONTACT_SUSPECT);
    else if (!probe->unanswered && (probe->contact != CONTACT_UNKNOWN || probe->heard))
        set_contact(probe, probe->rejected ? CONTACT_REJECTED : CONTACT_GOOD);
}

static void take_time(struct probe *probe, int64_t now_ns) {
    if (!probe->started) {
        probe->started = probe->wanted = true;
        probe->heard_ns = now_ns;
        probe->asked_ns = now_ns - PROBE_AGAIN_NS;
        probe->due_ns = probe->now_ns = now_ns;
    }
    int64_t expected_ns = probe->due_ns > probe->now_ns ? probe->due_ns : probe->now_ns;
    if (now_ns - expected_ns > LATE_NS) {
        probe->heard_ns += now_ns - probe->now_ns;
        probe->asked_ns += now_ns - probe->now_ns;
    }
    probe->now_ns = now_ns;
}

static int64_t next_question(const struct probe *probe) {
    bool early = probe->failures > 0 && probe->failures <= PROBE_EARLY_TRIES;
    int64_t least_ns = probe->asked_ns + (early ? PROBE_EARLY_NS : PROBE_AGAIN_NS);
    return probe->wanted ? least_ns
                         : clock_later(least_ns, clock_later(probe->heard_ns, probe->asked_ns) + PROBE_SILENCE_NS);
}

int64_t probe_heard_ns(const struct probe *probe) {
    return probe->ever_heard ? probe->heard_ns : 0;
}

int64_t probe_tick(struct probe *probe, struct moment now) {
    take_time(probe, now.mono_ns);
    if (probe->ended)
        read_end(probe);
    if (probe->heard) {
        probe->heard_ns = now.mono_ns;
        probe->ever_heard = true;
        probe->unanswered = false;
    }
    judge(probe);
    probe->heard = false;
    // A load balancer may close idle connections at any time, also the last probe's.
    if (probe->closed && (!probe->closed_ns || now.mono_ns - probe->closed_ns >= PROBE_CLOSED_NS)) {
        probe->closed_ns = now.mono_ns;
        probe->wanted = true;
    }
    probe->closed = false;
    if (probe->exchange == 0 && now.mono_ns >= next_question(probe))
        send_probe(probe);
    probe->due_ns = probe->exchange == 0 ? next_question(probe) : CLOCK_NEVER;
    int64_t judge_ns = probe->heard_ns + (probe->contact == CONTACT_SUSPECT ? PROBE_LOST_NS : PROBE_SUSPECT_NS);
    if (probe->unanswered && probe->contact != CONTACT_LOST && judge_ns < probe->due_ns)
        probe->due_ns = clock_later(judge_ns, now.mono_ns + 1);
    return probe->due_ns;
}
