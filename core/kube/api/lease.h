// SPDX-License-Identifier: Apache-2.0
// One Lease (coordination.k8s.io/v1) as a lock among processes, as a state machine without I/O: it names the due
// request; the caller passes answers and the time. Times of other processes are never compared with the own clock: a
// record that is unchanged for its leaseDuration, by the own monotonic clock, has expired. The holder counts from the
// start of its last accepted renewal, and only for renewDeadline, which is shorter: the holder stops before another
// process may begin.
#pragma once

#include "core/base/clock.h"
#include "core/kube/client/types.h"

#define LEASE_IDENTITY_MAX 128
#define LEASE_NAME_MAX 254

#define LEASE_RESOURCE ((struct resource){.group = "coordination.k8s.io", .version = "v1", .plural = "leases"})

struct lease_options {
    const char *namespace_, *name;
    const char *identity;  // of this process, never used by another one
    const char *label_key; // of a newly created Lease; NULL: none
    const char *label_value;
    const char *annotations; // the same: a JSON object; NULL: none
    int64_t duration_ns;     // leaseDuration, in whole seconds,
    int64_t renew_ns;        // > renewDeadline,
    int64_t retry_ns;        // > retryPeriod
    uint64_t seed;
};

// The spec of a Lease.
struct lease_record {
    char holder[LEASE_IDENTITY_MAX]; // "": none
    char acquired[CLOCK_RFC3339_MAX], renewed[CLOCK_RFC3339_MAX];
    char version[24];
    int64_t duration_ns;
    int64_t transitions;
};

enum lease_request { LEASE_NONE, LEASE_GET, LEASE_CREATE, LEASE_PATCH };

struct lease { // only lease.c writes the fields
    char namespace_[64], name[LEASE_NAME_MAX], identity[LEASE_IDENTITY_MAX];
    char label[320], annotations[256];
    int64_t duration_ns, renew_ns, retry_ns;
    struct random random;
    bool wanted, leaving;
    bool known;        // `exists` and `record` are the newest known state, usable for a write until read_ns + renew_ns
    bool exists, mine; // mine: the record names this process as the holder, even if the process may no longer act
    bool waits;        // no Lease exists, but the holder may not know: until observed_ns + duration_ns
    struct lease_record record;
    int64_t observed_ns;      // when the present record was first seen
    int64_t read_ns;          // when the request was sent whose answer showed the present state last
    enum lease_request flies; // the request in flight
    int64_t sent_ns;
    char sent[CLOCK_RFC3339_MAX]; // renewTime of the last renewal, to recognise the renewal without its answer
    int64_t sent_renewal_ns;
    int64_t until_ns;  // held until then, by the monotonic clock, which may have passed; 0: not held
    int64_t at_ns;     // no request before that
    uint64_t term;     // number of acquisitions: in a new term, another process may have written in between
    char problem[200]; // of the last request that failed; "": none
    char body[1600];
};

void lease_init(struct lease *lease, const struct lease_options *options);

// Whether the Lease should be held; initially not. This does not release a held Lease.
void lease_want(struct lease *lease, bool wanted);
// Not held from now on. The next request releases the Lease, unless the process wants the Lease again before; the
// protected work must have ended.
void lease_release(struct lease *lease, struct moment now);

// The due request, with strings that are valid until the next call; LEASE_NONE: none before *at_ns. A read of many
// Leases may replace LEASE_GET, see lease_observe.
enum lease_request lease_next(struct lease *lease, struct moment now, struct request *request, int64_t *at_ns);
// The request is on its way: no other is due until its answer.
void lease_sent(struct lease *lease, enum lease_request type, struct moment now);
// The answer; NULL: the request was cancelled, with an unknown outcome.
void lease_answer(struct lease *lease, const struct response *response, struct moment now);
// The Lease in a list requested at `sent_ns`; NULL: no such Lease. Ignored if a write was in flight then or since.
void lease_observe(struct lease *lease, const struct json *object, int64_t sent_ns, struct moment now);

// Another process seems to hold the Lease.
bool lease_is_others(const struct lease *lease, struct moment now);
const char *lease_holder(const struct lease *lease); // as last read; "": none, or unknown

// The record of a Lease, which may come from another program. `duration_ns` is for one without leaseDurationSeconds.
void lease_record_read(const struct json *object, int64_t duration_ns, struct lease_record *record);
