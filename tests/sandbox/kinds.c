// SPDX-License-Identifier: Apache-2.0
// Kinds from --crd, and the stories that --story has for them.
#include "tests/sandbox/sandbox.h"
#include "tests/world/player.h"

#include <stdlib.h>
#include <string.h>

// Which kinds came with the nth --crd.
struct range {
    size_t first, count;
};

static struct error *load_crds(struct sandbox *sandbox, struct range ranges[FILES_MAX]) {
    const struct options *options = sandbox->options;
    struct error *error = NULL;
    for (size_t i = 0; !error && i < options->n_crds; i++) {
        ranges[i].first = sandbox->crds.count;
        error = crds_load(options->crds[i], &sandbox->crds);
        ranges[i].count = sandbox->crds.count - ranges[i].first;
    }
    return error;
}

static struct error *find_kind(const struct sandbox *sandbox, const struct story_file *story,
                               const struct range ranges[FILES_MAX], size_t *index) {
    const struct options *options = sandbox->options;
    if (story->kind) {
        const struct crd *crd = crds_find(&sandbox->crds, story->kind);
        if (!crd)
            return error_new(ERROR_NOT_FOUND, "--story %s=%s: no --crd defines %s", story->kind, story->path,
                             story->kind);
        *index = (size_t)(crd - sandbox->crds.items);
        return NULL;
    }
    const struct range *range = &ranges[story->crd - 1];
    if (range->count > 1)
        return error_new(ERROR_INVALID, "--story %s: %s defines %zu kinds, expected PLURAL=FILE", story->path,
                         options->crds[story->crd - 1], range->count);
    *index = range->first;
    return NULL;
}

static struct error *add_story(struct sandbox *sandbox, size_t index, const char *path) {
    struct fixture *fixture = sandbox->fixtures[index];
    if (!fixture) {
        fixture = sandbox->fixtures[index] = calloc(1, sizeof *fixture);
        if (!fixture || !(fixture->plural = strdup(sandbox->crds.items[index].custom.kind.plural)))
            return error_no_memory();
    }
    struct error *error = fixture_add_story(fixture, path);
    const char *name = error ? NULL : fixture->stories[fixture->n_stories - 1].name;
    for (size_t i = 0; !error && i + 1 < fixture->n_stories; i++)
        if (strcmp(fixture->stories[i].name, name) == 0)
            error = error_new(ERROR_INVALID, "%s: %s has a story %s already", path, fixture->plural, name);
    return error;
}

struct error *kinds_load(struct sandbox *sandbox) {
    struct range ranges[FILES_MAX] = {{0}};
    struct error *error = load_crds(sandbox, ranges);
    if (!error && sandbox->crds.count > 0) {
        sandbox->fixtures = calloc(sandbox->crds.count, sizeof(struct fixture *));
        if (!sandbox->fixtures)
            error = error_no_memory();
    }
    for (size_t i = 0; !error && i < sandbox->options->n_stories; i++) {
        const struct story_file *story = &sandbox->options->stories[i];
        size_t index = 0;
        error = find_kind(sandbox, story, ranges, &index);
        if (!error)
            error = add_story(sandbox, index, story->path);
    }
    return error;
}

// In the management cluster a controller ignores delegated objects. If the managedBy field is unknown, no controller
// runs there.
static bool is_played(const struct sandbox *sandbox, const struct crd *crd, size_t cluster) {
    const struct world_kind *kind = &crd->custom.kind;
    return cluster != SCENE_MANAGEMENT || custom_find(kind->group, kind->plural) ||
           adapters_for(&sandbox->adapters, kind->plural, kind->group);
}

struct error *kinds_install(struct sandbox *sandbox) {
    for (size_t i = 0; i < sandbox->crds.count; i++) {
        struct crd *crd = &sandbox->crds.items[i];
        const struct world_kind *kind = &crd->custom.kind;
        const struct adapter_kind *adapter = adapters_for(&sandbox->adapters, kind->plural, kind->group);
        if (adapter && !custom_find(kind->group, kind->plural))
            crd->custom.managed_by = adapter->field;
        for (size_t c = 0; c < sandbox->scene->count; c++) {
            struct scene_cluster *at = &sandbox->scene->clusters[c];
            const struct fixture *fixture = is_played(sandbox, crd, c) ? sandbox->fixtures[i] : NULL;
            front_lock(at->front);
            bool installed = player_install_custom(at->cluster, &crd->custom, fixture);
            front_unlock(at->front);
            if (!installed)
                return error_new(ERROR_INVALID, "%s.%s is served already", kind->plural, kind->group);
        }
    }
    return NULL;
}

void kinds_free(struct sandbox *sandbox) {
    for (size_t i = 0; sandbox->fixtures && i < sandbox->crds.count; i++)
        fixture_free(sandbox->fixtures[i]);
    free(sandbox->fixtures);
    crds_free(&sandbox->crds);
}
