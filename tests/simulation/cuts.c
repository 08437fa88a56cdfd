// SPDX-License-Identifier: Apache-2.0
// Delta debugging (Zeller, Hildebrandt 2002): halves, then smaller pieces, are left out while the seed fails in the
// same way.
#include "tests/simulation/cuts.h"

#include "tests/simulation/trial.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cuts_has(struct trial *trial, const char *format, ...) {
    struct cuts *cuts = trial->cuts;
    if (!cuts || cuts->next == CUTS_MAX)
        return true;
    va_list args;
    va_start(args, format);
    vsnprintf(cuts->texts[cuts->next], sizeof *cuts->texts, format, args);
    va_end(args);
    return !cuts->off[cuts->next++];
}

// The rule, without the names, numbers and times of one run.
static void kind_of(const char *failure, char out[128]) {
    size_t len = 0;
    for (const char *c = failure; *c && len < 40; c++)
        if (!isdigit((unsigned char)*c))
            out[len++] = *c;
    out[len] = '\0';
}

static bool fails(uint64_t seed, bool replicas, struct cuts *cuts, bool tracing, bool telling, char how[128]) {
    cuts->next = 0;
    struct trial *trial = trial_new(seed, replicas, tracing, telling, cuts);
    if (!trial)
        abort();
    cuts->n = cuts->next;
    bool failed = !trial_run(trial);
    if (failed)
        kind_of(trial->failure, how);
    if (failed && tracing)
        trial_tell(trial, stderr);
    trial_free(trial);
    return failed;
}

// Leaves out `count` of the parts that are left, from the `first` one on. True: it fails as before without them.
static bool try_without(uint64_t seed, bool replicas, struct cuts *cuts, size_t first, size_t count, const char *how) {
    struct cuts *fewer = malloc(sizeof *fewer);
    if (!fewer)
        abort();
    *fewer = *cuts;
    for (size_t i = 0, left = 0; i < cuts->n; i++)
        if (!cuts->off[i] && left++ >= first && left <= first + count)
            fewer->off[i] = true;
    char now[128] = "";
    bool same = fails(seed, replicas, fewer, false, false, now) && strcmp(now, how) == 0;
    if (same)
        *cuts = *fewer;
    free(fewer);
    return same;
}

static size_t left(const struct cuts *cuts) {
    size_t count = 0;
    for (size_t i = 0; i < cuts->n; i++)
        count += !cuts->off[i];
    return count;
}

static void shrink(uint64_t seed, bool replicas, struct cuts *cuts, const char *how) {
    for (size_t piece = (left(cuts) + 1) / 2; piece > 0;) {
        bool any = false;
        for (size_t first = 0; first < left(cuts);) {
            bool gone = try_without(seed, replicas, cuts, first, piece, how);
            any |= gone;
            first += gone ? 0 : piece;
        }
        if (!any || piece > 1)
            piece /= 2;
    }
}

bool cuts_shrink(uint64_t seed, bool replicas, bool telling) {
    struct cuts *cuts = calloc(1, sizeof *cuts);
    char how[128] = "";
    if (!cuts)
        abort();
    bool failed = fails(seed, replicas, cuts, false, false, how);
    if (failed) {
        shrink(seed, replicas, cuts, how);
        fprintf(stderr, "seed %" PRIu64 " still fails with %zu of %zu parts:\n", seed, left(cuts), cuts->n);
        for (size_t i = 0; i < cuts->n; i++)
            if (!cuts->off[i])
                fprintf(stderr, "    %s\n", cuts->texts[i]);
        fails(seed, replicas, cuts, true, telling, how);
    }
    free(cuts);
    return failed;
}
