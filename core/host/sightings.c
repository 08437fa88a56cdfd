// SPDX-License-Identifier: Apache-2.0
#include "core/host/sightings.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/election.h"

#include <stdlib.h>
#include <string.h>

static struct sighting *find(const struct sightings *sightings, const char *name) {
    for (size_t i = 0; i < sightings->count; i++)
        if (strcmp(sightings->list[i].name, name) == 0)
            return &sightings->list[i];
    return NULL;
}

static void see(struct sighting *s, const struct json *object, struct moment now) {
    const struct json *spec = json_get(object, "spec");
    const char *holder = json_string_or(json_get(spec, "holderIdentity"), "");
    const char *renewed = json_string_or(json_get(spec, "renewTime"), "");
    const char *shards = object_annotation(object, ELECTION_SHARDS);
    bool same = strcmp(holder, s->holder) == 0;
    if (!same)
        s->renewals = 0;
    else if (strcmp(renewed, s->renewed) != 0)
        s->renewals++;
    if (!same || strcmp(renewed, s->renewed) != 0)
        s->observed_ns = now.mono_ns;
    int64_t seconds = json_int64(json_get(spec, "leaseDurationSeconds"), 0);
    s->duration_ns = seconds > 0 && seconds < INT32_MAX ? seconds * CLOCK_SECOND : 0;
    text_copy(s->holder, sizeof s->holder, holder);
    text_copy(s->renewed, sizeof s->renewed, renewed);
    text_copy(s->uid, sizeof s->uid, object_uid(object));
    text_copy(s->shards, sizeof s->shards, shards ? shards : "1");
    s->n_shards = strtoul(s->shards, NULL, 10);
    s->listed = true;
}

static void forget_unlisted(struct sightings *sightings) {
    size_t kept = 0;
    for (size_t i = 0; i < sightings->count; i++)
        if (sightings->list[i].listed)
            sightings->list[kept++] = sightings->list[i];
    sightings->count = kept;
}

bool sightings_take(struct sightings *sightings, const struct json *list, const char *member_prefix,
                    struct moment now) {
    for (size_t i = 0; i < sightings->count; i++)
        sightings->list[i].listed = false;
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item)) {
        const char *name = object_name(item);
        struct sighting *s = find(sightings, name);
        if (!s && sightings->count == SIGHTINGS_MAX)
            continue;
        if (!s) {
            if (!(s = array_next(&sightings->list, sightings->count, sizeof *s)))
                return false;
            *s = (struct sighting){.observed_ns = now.mono_ns, .member = text_has_prefix(name, member_prefix)};
            text_copy(s->name, sizeof s->name, name);
            sightings->count++;
        }
        see(s, item, now);
    }
    forget_unlisted(sightings);
    return true;
}

void sightings_clear(struct sightings *sightings) {
    free(sightings->list);
    *sightings = (struct sightings){.list = NULL};
}

bool sighting_lives(const struct sighting *sighting, struct moment now) {
    return *sighting->holder && now.mono_ns < sighting->observed_ns + sighting->duration_ns;
}
