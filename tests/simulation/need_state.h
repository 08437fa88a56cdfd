// SPDX-License-Identifier: Apache-2.0
// What the rules about objects that workloads refer to have in common: what was seen of each object, who uses it, whose
// it is, and what the host must know. Internal to need_rules.c and need_writes.c; need_acts.c uses the marks.
#pragma once

#include "tests/simulation/need_rules.h"

#define COPY_OF "wharf.dev/copy-of"
#define SOURCE "wharf.dev/source"
#define ALSO_USED "wharf.dev/also-used-by"
#define ENFORCE "kubernetes.io/enforce-mountable-secrets"
#define POD "/spec/template/spec"

#define KEPT_NS CLOCK_MINUTE           // after the last user
#define UNUSED_NS (90 * CLOCK_SECOND)  // until a copy is gone, with nothing wrong
#define ROTATED_NS (10 * CLOCK_SECOND) // until a change is everywhere, with nothing wrong
#define KNOWN_NS (5 * CLOCK_SECOND)    // until the host knows what others have done
#define CALM_NS CLOCK_MINUTE           // after trouble
#define LOOK_NS (500 * CLOCK_MS)
#define ABSENT_NS (5 * CLOCK_MINUTE)
#define MADE 1024

struct need_state {              // of an object in a cluster
    int64_t others_ns;           // when somebody else than the host last wrote it
    int64_t used_ns;             // when a mirror was last there that needs it
    int64_t seen_used_ns;        // when it last had a user
    bool existed;                // it was there at some time
    int64_t stale_ns, unused_ns; // since when the copy differs, or has no user; 0: it does not
};

struct need_rules {
    struct need_state states[TRIAL_CLUSTERS][NEEDS_MAX];
    char made[MADE][40]; // uids of the host's copies
    size_t n_made;
    int64_t looked_ns;
    int64_t held_ns[TRIAL_CLUSTERS]; // when deletions were last held up by an orphan: the time begins again then
};

struct need_gather {
    struct trial *trial;
    const char *namespace_;
    uint64_t needed, optional; // sets of indexes
};

const char *need_label(const struct json *object, const char *name);
const char *need_note(const struct json *object, const char *name);
struct need_state *need_state_of(const struct trial *trial, size_t cluster, size_t index);
char *need_name_of(const struct trial *trial, size_t index); // "secrets default/a", owned by the caller

// Whose an object is.
bool need_is_made(const struct trial *trial, const char *uid); // by the host
void need_add_made(struct trial *trial, const char *uid);
bool need_is_copy(const struct trial *trial, const struct json *object);          // the host must recognise it
bool need_is_given(const struct json *object);                                    // handed over to the host
bool need_is_retyped(struct trial *trial, size_t index, const struct json *copy); // which is made anew
bool need_is_of_another_host(const struct json *object);
// A mirror of no workload, or one without proof (docs/lifecycle.md, Terms: quarantined): its needs are not known.
bool need_is_held(struct trial *trial, size_t kind, const struct json *object);

// Sets of indexes. Of an object, with the ServiceAccount as it is in that cluster.
struct need_gather need_gather(struct trial *trial, size_t cluster, size_t kind, const struct json *object);
enum need_mirrors {
    MIRRORS_ALL,
    MIRRORS_TOLD, // that all replicas have seen
    MIRRORS_KNOWN // of a workload: what an orphan needs is not known
};
uint64_t need_used_by_mirrors(struct trial *trial, size_t cluster, enum need_mirrors which);
// Unfinished workloads that are placed there, or (`any`) are to be placed.
uint64_t need_used_by_workloads(struct trial *trial, size_t cluster, bool any);
// A version of a workload that is, or was, a user, even for an instant: the wait for a deletion begins again.
void need_note_user(struct trial *trial, size_t kind, const struct json *workload);

bool need_is_calm(const struct trial *trial, size_t cluster);
// The host must know this object, and its source, as they are.
bool need_is_known(const struct trial *trial, size_t cluster, size_t index);
