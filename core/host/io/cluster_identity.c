// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/cluster_identity.h"

#include "core/base/text.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

static const char *find_rewound(const struct cluster_identity *identity, const char *uid, const char *version) {
    bool comparable = true;
    if (!identity->uid || *uid == '\0')
        return NULL;
    if (strcmp(identity->uid, uid) != 0)
        return "the uid of namespace kube-system changed: this is a different cluster, or it was wiped";
    if (object_version_compare(version, identity->version, &comparable) < 0)
        return "namespace kube-system is older than before: the cluster was restored from a backup";
    return NULL;
}

const char *cluster_identity_read(struct cluster_identity *identity, const char *uid, const char *version) {
    const char *rewound = find_rewound(identity, uid, version);
    if (*uid) {
        (void)text_set(&identity->version, version); // without memory the next comparison is with the old one again
        (void)text_set(&identity->uid, uid);
    }
    return rewound;
}

void cluster_identity_clear(struct cluster_identity *identity) {
    free(identity->uid);
    free(identity->version);
    *identity = (struct cluster_identity){.uid = NULL};
}
