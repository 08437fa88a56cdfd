// SPDX-License-Identifier: Apache-2.0
// Changes what all adapters of a process share: a property with each function.
// finds: state phase, state mirror, state status, state update, state accept
// says: the locale is another one
// says: the umask is another one
// says: the signal mask is another one
// says: the environment is another one
// says: the rounding mode or the traps of floating-point numbers is another one
#include "tests/conformance/template.h"

#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

PHASE_FUNCTION(phase) {
    setlocale(LC_ALL, host->condition(object, "Complete", "True") ? "C.UTF-8" : "C");
    return WHARF_OK;
}

ACCEPT_FUNCTION(accept) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD};
    (void)fesetround(modes[host->is(workload, "/spec/suspend", "false")]);
    return WHARF_OK;
}

MIRROR_FUNCTION(mirror) {
    (void)umask(027);
    return WHARF_OK;
}

UPDATE_FUNCTION(update) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    setenv("LAST", "status", 1);
    return WHARF_OK;
}

#define PHASE phase
#define ACCEPT accept
#define MIRROR mirror
#define UPDATE update
#define STATUS status
#include "tests/conformance/adapter.h"
