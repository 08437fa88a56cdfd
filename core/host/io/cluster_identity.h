// SPDX-License-Identifier: Apache-2.0
// The cluster that a cluster_io was connected to last, by its namespace kube-system.
#ifndef WHARF_HOST_IO_CLUSTER_IDENTITY_H
#define WHARF_HOST_IO_CLUSTER_IDENTITY_H

struct cluster_identity { // zero-initialised
    char *uid, *version;  // as last read; NULL: not yet
};

// What a changed or older namespace kube-system means, as a sentence; NULL: unchanged. Remembers what was read: `uid`
// "" if it could not be.
const char *cluster_identity_read(struct cluster_identity *identity, const char *uid, const char *version);
void cluster_identity_clear(struct cluster_identity *identity);

#endif
