// SPDX-License-Identifier: Apache-2.0
// The recorded life of a workload and its mirrors with a real controller, tests/recordings/<plural>/<case>.yaml. The
// format is described in tests/recordings/README.md.
#pragma once

#include "core/base/error.h"
#include "core/json/json.h"
#include "tests/support/fixture.h"

#include <stddef.h>
#include <stdint.h>

// What happened at one time. Members that did not change are NULL, false or 0.
struct recorded {
    int64_t at_ns;              // since the workload was created
    const char *cluster;        // of the mirror; NULL: the step is about the workload
    bool created;               // a mirror was made, which is `object`
    bool deleted;               // the mirror, or the workload
    bool lost;                  // the host gave up the mirror, and the cluster with it
    bool unplaced;              // first step only: there is no mirror until one is created
    const struct json *object;  // a merge patch: the change that the controller or the server made to the mirror
    const struct json *carried; // the same, with a change that the host made
    int64_t generation;         // the mirror's, if it changed
    const struct json *status;  // the mirror's whole status
    const struct json *ending;  // the same, of a mirror that is being deleted
    const struct json *patch;   // a user's change of the workload, a merge patch
    const struct json *shown;   // the workload's status, as a merge patch on the mirror's
    const char *phase;          // that the workload has from here on; NULL: not said
    size_t line;
};

struct recording {
    char *path, *plural, *name; // "tests/recordings/jobs/success.yaml", "jobs", "success"
    struct json *documents;     // what everything below points into
    const struct json *versions, *workload;
    struct recorded *steps;
    size_t n_steps;
};

// An error names the file and the line.
struct error *recording_load(const char *path, struct recording **out);
void recording_free(struct recording *recording);

// All recordings below tests/recordings, or those of one kind.
struct recordings {
    struct recording **list;
    size_t count;
};
struct error *recordings_load(const char *plural, struct recordings *out);
void recordings_free(struct recordings *recordings);

// Another controller took part in the management cluster: the host did not write all of the workload's status.
bool recording_is_shared(const struct recording *recording);

// Whether users did nothing but suspend and resume the workload, at this pointer (NULL: it cannot be suspended), and no
// worker was lost.
bool recording_is_plain(const struct recording *recording, const char *suspend);

// The statuses that the host wrote on a workload, in order. Those that a management cluster showed are among them, in
// the same order.
struct written {
    struct json **list;
    size_t count, shown; // how many of them came before the one that was shown last
};
void written_add(struct written *written, struct json *status); // takes it; one that is the same as the last is dropped
bool written_shows(struct written *written, const struct json *status);
void written_free(struct written *written);

// The mirror's status at `shown`, which is the step's patch on `status` (NULL: none): without the field that the host
// rewrites (pointer, or NULL). And the same of a status as it is, for comparison. json_free().
struct json *recorded_shown(const struct recorded *step, const struct json *status, const char *rewritten);
struct json *recorded_comparable(const struct json *status, const char *rewritten);

// The recording as a story that points into it, without what happened to the mirrors beside their statuses.
// fixture_free() frees what it was added to.
struct error *recording_add_story(const struct recording *recording, struct fixture *fixture);
