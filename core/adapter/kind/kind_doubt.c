// SPDX-License-Identifier: Apache-2.0
// Kinds with a controller that may ignore managedBy although the API has the field. docs/kinds.md, "Least versions".
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
