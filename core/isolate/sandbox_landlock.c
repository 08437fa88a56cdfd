// SPDX-License-Identifier: Apache-2.0
// Landlock (landlock(7)) by its system calls: the C library has no functions for these. A ruleset without rules denies
// every access right it handles; the kernel refuses a ruleset with rights that are newer than itself.
#include "core/isolate/sandbox_parts.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset // the same number on all architectures
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

#define VERSION_QUERY 1U // LANDLOCK_CREATE_RULESET_VERSION
#define FILES_NETWORK_AND_SCOPES 6

// struct landlock_ruleset_attr of version 6; earlier kernels accept the end if it is zero.
struct ruleset {
    uint64_t files, network, scopes;
};

static struct ruleset rights_of(long version) {
    static const unsigned files[] = {
        [1] = 13, [2] = 14, [3] = 15, [4] = 15, [5] = 16}; // number of LANDLOCK_ACCESS_FS_*
    size_t known = version < 5 ? (size_t)version : 5;
    return (struct ruleset){
        .files = (UINT64_C(1) << files[known]) - 1,
        .network = version >= 4 ? 3 : 0,                       // LANDLOCK_ACCESS_NET_BIND_TCP, CONNECT_TCP
        .scopes = version >= FILES_NETWORK_AND_SCOPES ? 3 : 0, // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, SIGNAL
    };
}

void sandbox_landlock(struct problems *missing) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_QUERY);
    if (version < 1) {
        problems_add(missing, "Landlock: %s",
                     errno == EOPNOTSUPP ? "disabled in this kernel" : "not supported by this kernel or container");
        return;
    }
    struct ruleset rights = rights_of(version);
    long ruleset = syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
    if (ruleset < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        problems_add(missing, "Landlock: %s", strerror(errno));
    if (ruleset >= 0)
        close((int)ruleset);
}
