// SPDX-License-Identifier: Apache-2.0
// The same of further properties.
// finds: state phase, state mirror, state status, state update, state accept
// says: the working directory is another one
// says: a resource limit is another one
// says: the priority or the set of processors is another one
// says: a flag of prctl(2) is another one
// says: a timer is another one
#include "tests/conformance/template.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

PHASE_FUNCTION(phase) {
    if (chdir("/") != 0)
        return WHARF_OK;
    return WHARF_OK;
}

ACCEPT_FUNCTION(accept) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 100) {
        limit.rlim_cur = 100;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return WHARF_OK;
}

MIRROR_FUNCTION(mirror) {
    setpriority(PRIO_PROCESS, 0, 19);
    return WHARF_OK;
}

UPDATE_FUNCTION(update) {
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_sec = 1000000}, NULL);
    return WHARF_OK;
}

#define PHASE phase
#define ACCEPT accept
#define MIRROR mirror
#define UPDATE update
#define STATUS status
#include "tests/conformance/adapter.h"
