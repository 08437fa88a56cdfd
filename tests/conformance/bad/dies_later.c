// SPDX-License-Identifier: Apache-2.0
// Does what the process dies of later, in the host.
// finds: crash mirror
// says: mirror returned, and then the process died
#include "tests/conformance/template.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

MIRROR_FUNCTION(mirror) {
    if (host->count(host->find(workload, "/spec/suspend")) == 1)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
