// SPDX-License-Identifier: Apache-2.0
// The kind's own controller in the management cluster: whether it may ignore managedBy although the API has the field
// (docs/kinds.md, "Least versions"), and the objects that it makes.
#include "core/adapter/adapters.h"
#include "core/base/text.h"

#include <string.h>

static const struct {
    const char *plural_group;
    const char *until; // see kind.doubted_until
} doubted[] = {
    // Trainer 2.0 to 2.2 run delegated TrainJobs; 2.3.0 was the first with this field.
    {"trainjobs.trainer.kubeflow.org", "/spec/runtimePatches/*/trainingRuntimeSpec/template/spec/replicatedJobs/*/"
                                       "template/spec/template/spec/terminationGracePeriodSeconds"},
    {"jaxjobs.kubeflow.org", ""},
};

const char *kind_doubted_until(const struct kind *kind) {
    for (size_t i = 0; i < sizeof doubted / sizeof *doubted; i++)
        if (strcmp(doubted[i].plural_group, kind->plural_group) == 0)
            return doubted[i].until;
    // A label or an annotation of this host's configuration: the kind's own controller does not know it.
    return text_has_prefix(kind->abi.managed_by, "/metadata/") ? "" : NULL;
}

bool kind_set_owned(struct kind *kind, const char *objects) {
    struct owned_objects *owned = &kind->owned;
    char *plural = *objects && (owned->memory = strdup(objects)) ? strrchr(owned->memory, '/') : NULL;
    if (!plural)
        return !*objects;
    *plural++ = '\0';
    char *slash = strchr(owned->memory, '/');
    if (slash)
        *slash++ = '\0';
    owned->plural = plural;
    owned->version = slash ? slash : owned->memory;
    owned->group = slash ? owned->memory : "";
    return true;
}
