// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide.h"

static const struct {
    const char *name, *text;
} waitings[WAITINGS] = {
    [WAITING_NOT] = {"nothing", "nothing"},
    [WAITING_ANSWER] = {"answer", "a request is in flight"},
    [WAITING_MANAGEMENT] = {"management", "the management cluster is unreachable"},
    [WAITING_BACKOFF] = {"backoff", "a request failed and is retried after a backoff"},
    [WAITING_SETTLING] = {"settling", "workers are still connecting"},
    [WAITING_STOPPING] = {"stopping", "the host is stopping and places nothing new"},
    [WAITING_NO_WORKER] = {"no-worker", "no worker is eligible; wharf explain has the reason of each"},
    [WAITING_REFUSED] = {"refused", "every eligible worker has rejected it; they are retried with a backoff"},
    [WAITING_WORKER] = {"worker", "its worker is unreachable; it is rescheduled after workerLostTimeout"},
    [WAITING_IDENTITY] =
        {"identity",
         "its worker, or the management cluster, is refused or not identified yet, so nothing is changed there"},
    [WAITING_STATUS] = {"status",
                        "the management cluster does not serve the status subresource of its kind; check the CRD"},
    [WAITING_UNKNOWN_WORKER] =
        {"unknown-worker",
         "its worker is not in the configuration; add it, or it is rescheduled after workerLostTimeout"},
    [WAITING_PREDECESSOR] = {"predecessor",
                             "another object with its name is in the way; it can be created once that is gone"},
    [WAITING_EARLIER] = {"earlier-mirror", "an earlier mirror must be gone before a new one is created"},
    [WAITING_REPEATED] = {"repeated",
                          "the same change was made too often and is delayed; another writer may be undoing it"},
    [WAITING_FINAL_STATUS] = {"final-status", "its mirror has finished, but the final status cannot be written"},
    [WAITING_PROOF] =
        {"proof",
         "a mirror that cannot be proven to be its own is held; delete that mirror, or name it in the annotations"},
    [WAITING_SIZE] = {"size", "it exceeds maxObjectSize or maxObjectNodes, so it is not handled"},
    [WAITING_DRAIN] = {"drain", "its worker is drained, but no other worker is eligible: it continues to run there"},
    [WAITING_NAMESPACE] = {"namespace", "the host's configuration does not permit its namespace; see namespaces"},
    [WAITING_ROOM] = {"room", "the workers that it may go to have no room: it is placed when others finish"},
    [WAITING_KEPT] = {"kept-worker", "its worker is unreachable, and it is not rescheduled (onWorkerLost: wait)"},
    [WAITING_START] = {"start", "its mirror has not started yet; after pendingTimeout another worker is tried"},
    [WAITING_GAVE_UP] = {"gave-up", "no worker accepted it within giveUpAfter; it is tried again when its annotation "
                                    "wharf.dev/retry is written, or a worker joins"},
    [WAITING_QUEUED] = {"queued", "its mirror is queued by the Kueue of its worker"},
    [WAITING_KUEUE] = {"kueue", "it is queued by the management cluster's Kueue"},
    [WAITING_CHECK_REJECTED] = {"kueue-check",
                                "an admission check of its queue in the management cluster has rejected it"},
    [WAITING_CAPACITY] = {"capacity", "no worker has room for what it asks for"},
    [WAITING_UNGUARDED] = {"unguarded",
                           "its worker is unreachable and no guard was seen there, so it may still run; it "
                           "is rescheduled once the worker is back or has left the configuration"},
    [WAITING_RESUME] = {"resume", "its mirror is still suspended, although it is to run"},
    [WAITING_ALSO_RUN] = {"also-run", "a controller in the management cluster runs workloads of its kind too, although "
                                      "they are delegated (Events AlsoRunHere): stop that controller for them, or set "
                                      "hybrid: allow for the kind"},
    [WAITING_CHANGES] = {"status-changes", "its status changes more than once a second; the newest is copied within "
                                           "30 s, the final one at once"},
    [WAITING_BYTES] = {"status-bytes", "the statuses of its worker take more space in the management cluster than "
                                       "rateLimit.statusBytes allows; the newest is copied later, the final one at "
                                       "once"},
    [WAITING_GONE] = {"deletion", "its mirror is being deleted but still exists; check its finalizers"},
};

const char *waiting_name(enum waiting waiting) {
    return waitings[waiting].name;
}

bool waiting_is_for_a_worker(enum waiting waiting) {
    return waiting == WAITING_NO_WORKER || waiting == WAITING_REFUSED || waiting == WAITING_ROOM ||
           waiting == WAITING_CAPACITY;
}

const char *waiting_text(enum waiting waiting) {
    return waitings[waiting].text;
}
