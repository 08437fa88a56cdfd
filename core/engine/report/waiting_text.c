// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide.h"

static const struct {
    const char *name, *text;
} waitings[WAITINGS] = {
    [WAITING_NOT] = {"nothing", "nothing"},
    [WAITING_ANSWER] = {"answer", "a request is in flight"},
    [WAITING_MANAGEMENT] = {"management", "the management cluster is unreachable"},
    [WAITING_BACKOFF] = {"backoff", "a request failed and is retried after a backoff"},
    [WAITING_STARTUP_GRACE] = {"settling", "workers are still connecting"},
    [WAITING_STOPPING] = {"stopping", "the host is stopping and places nothing new"},
    [WAITING_NO_WORKER] = {"no-worker", "no worker is eligible; wharf explain has the reason of each"},
    [WAITING_REFUSED] = {"refused",
                         "every eligible worker has rejected the workload; the host retries them with a backoff"},
    [WAITING_WORKER] = {"worker", "its worker is unreachable; the host reschedules after workerLostTimeout"},
    [WAITING_IDENTITY] =
        {"identity",
         "the worker or the management cluster is refused or not identified yet, so the host changes nothing there"},
    [WAITING_STATUS] = {"status",
                        "the management cluster does not serve the status subresource of its kind; check the CRD"},
    [WAITING_UNKNOWN_WORKER] =
        {"unknown-worker",
         "its worker is not in the configuration; add the worker, or the host reschedules after workerLostTimeout"},
    [WAITING_PREDECESSOR] =
        {"predecessor", "another object has the name of the mirror, which can be created once that object is gone"},
    [WAITING_EARLIER] = {"earlier-mirror", "an earlier mirror must be gone before a new one is created"},
    [WAITING_REPEATED] =
        {"repeated", "too many repetitions of the same change, which is delayed; another writer may undo that change"},
    [WAITING_FINAL_STATUS] = {"final-status", "the mirror has finished, but the host cannot write the final status"},
    [WAITING_PROOF] =
        {"proof",
         "a mirror that cannot be proven to be its own is held; delete that mirror, or name it in the annotations"},
    [WAITING_SIZE] = {"size", "the object exceeds maxObjectSize or maxObjectNodes, so the host ignores it"},
    [WAITING_DRAIN] = {"drain",
                       "the worker is drained, but no other worker is eligible: the workload continues to run there"},
    [WAITING_NAMESPACE] = {"namespace", "the host's configuration does not permit the namespace; see namespaces"},
    [WAITING_MAX_ACTIVE] = {"room",
                      "all permitted workers have reached maxActive: the workload is placed when others finish"},
    [WAITING_KEPT] = {"kept-worker",
                      "the worker is unreachable, and the host does not reschedule (onWorkerLost: wait)"},
    [WAITING_START] = {"start", "the mirror has not started yet; after pendingTimeout the host tries another worker"},
    [WAITING_GAVE_UP] = {"gave-up", "no worker accepted it within giveUpAfter; it is tried again when its annotation "
                                    "wharf.dev/retry is written, or a worker joins"},
    [WAITING_QUEUED] = {"queued", "the Kueue of the worker has queued the mirror"},
    [WAITING_KUEUE] = {"kueue", "the management cluster's Kueue has queued the workload"},
    [WAITING_CHECK_REJECTED] = {"kueue-check",
                                "an admission check of the queue in the management cluster has rejected the workload"},
    [WAITING_CAPACITY] = {"capacity", "the requests of the workload fit into no worker"},
    [WAITING_UNGUARDED] = {"unguarded",
                           "its worker is unreachable and no guard was seen there, so it may still run; it "
                           "is rescheduled once the worker is back or has left the configuration"},
    [WAITING_RESUME] = {"resume", "the mirror is still suspended, although the workload is not"},
    [WAITING_ALSO_RUN] = {"also-run", "a controller in the management cluster runs workloads of its kind too, although "
                                      "they are delegated (Events AlsoRunHere): stop that controller for them, or set "
                                      "hybrid: allow for the kind"},
    [WAITING_CHANGES] = {"status-changes", "its status changes more than once a second; the newest is copied within "
                                           "30 s, the final one at once"},
    [WAITING_BYTES] = {"status-bytes", "the statuses of its worker take more space in the management cluster than "
                                       "rateLimit.statusBytes allows; the newest is copied later, the final one at "
                                       "once"},
    [WAITING_GONE] = {"deletion", "the mirror is being deleted but still exists; check the finalizers"},
};

const char *waiting_name(enum waiting waiting) {
    return waitings[waiting].name;
}

bool waiting_is_for_a_worker(enum waiting waiting) {
    return waiting == WAITING_NO_WORKER || waiting == WAITING_REFUSED || waiting == WAITING_MAX_ACTIVE ||
           waiting == WAITING_CAPACITY;
}

const char *waiting_text(enum waiting waiting) {
    return waitings[waiting].text;
}
