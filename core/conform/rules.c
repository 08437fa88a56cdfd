// SPDX-License-Identifier: Apache-2.0
#include "core/conform/rules.h"

static const struct rule_text rules[N_RULES] = {
    [RULE_FILE] = {"file", "How an adapter is loaded",
                   "an ELF shared object for this machine that exports wharf_module_v1"},
    [RULE_LOAD] = {"load", "wharf_module, wharf_kind", "a module and kinds that the host accepts"},
    [RULE_CRASH] = {"crash", "wharf_kind.phase: \"fields may be missing or of the wrong type\"",
                    "the function to return for every object"},
    [RULE_HANG] = {"hang", "Threads", "the function to return within microseconds"},
    [RULE_EXIT] = {"exit", "Threads", "the function to return; the process is the host's"},
    [RULE_INPUT] = {"input", "wharf_value", "that a const wharf_value is only read"},
    [RULE_REPEAT] = {"repeat", "Determinism", "the same output for the same input, called twice in a row"},
    [RULE_RESTART] = {"restart", "Determinism", "the same output for the same input after a restart"},
    [RULE_RESULT] = {"result", "wharf_result", "WHARF_OK (0), WHARF_RETRY (1) or WHARF_REFUSED (2)"},
    [RULE_MESSAGE] = {"message", "wharf_answer.message", "with WHARF_REFUSED a sentence that tells people why"},
    [RULE_TEXT] = {"text", "wharf_answer, wharf_phase", "UTF-8, and a CamelCase word as wharf_answer.reason"},
    [RULE_DELAY] = {"delay", "wharf_answer.retry_after_ms", "at most an hour"},
    [RULE_PHASE_RESULT] = {"phase-result", "wharf_kind.phase", "WHARF_OK for any object"},
    [RULE_PHASE_VALUE] = {"phase-value", "wharf_phase_kind", "one of WHARF_PENDING (0) to WHARF_FAILED (4)"},
    [RULE_FINISHED] = {"finished", "wharf_kind.phase: \"Finished must stay finished\"",
                       "that a finished workload stays finished as it did, whatever becomes of its mirror"},
    [RULE_MARKS] = {"marks", "wharf_kind.mirror",
                    "labels and annotations that begin with wharf.dev/, name and namespace left to the host"},
    [RULE_MIRROR] = {"mirror-clean", "wharf_kind.removed",
                     "a mirror without managedBy, without what `removed` names, and of metadata only name, namespace, "
                     "labels and annotations"},
    [RULE_MIRROR_STABLE] = {"mirror-stable", "wharf_kind.update",
                            "that nothing is left to change in a mirror that was just made"},
    [RULE_UPDATE_STABLE] = {"update-stable", "wharf_kind.update",
                            "that nothing is left to change in a mirror that was just changed"},
    [RULE_UPDATE_CLEAN] = {"update-clean", "wharf_kind.removed",
                           "that managedBy and what `removed` names is not carried later either"},
    [RULE_STATUS_STABLE] = {"status-stable", "wharf_kind.status: \"calling again must change nothing\"",
                            "the status that results to be left as it is by a second call"},
    [RULE_STATUS_PHASE] = {"status-phase", "wharf_kind.status",
                           "that the workload is finished as its mirror is once the status has been copied"},
    [RULE_GAVE_UP] = {"gave-up", "wharf_kind.gave_up_status: \"The phase that follows must be FAILED\"",
                      "that a workload that no cluster accepts has failed with what gave_up_status writes"},
    [RULE_POD_SETS] = {"pod-sets", "wharf_kind.pod_sets",
                       "an array of {\"template\": an object, \"count\": an integer}"},
    [RULE_TIME] = {"time", "Threads", "to return within microseconds, for an ordinary object under a millisecond"},
    [RULE_MEMORY] = {"memory", "Memory", "that a call takes little memory, and keeps none of it when it returns"},
    [RULE_POINTER] = {"pointer", "wharf_host: \"A malformed pointer finds nothing\"",
                      "an RFC 6901 pointer: \"\", or segments that begin with a slash"},
    [RULE_DATA] = {"data", "Memory", "the module and its kinds to stay unchanged after the load"},
    [RULE_IO] = {"io", "Threads", "no I/O: log lines go through wharf_host.log"},
    [RULE_THREADS] = {"threads", "Threads", "no thread, no process and no signal handler of its own"},
    [RULE_STORY] = {"story", "wharf_kind.phases", "the phase that the file says for the step"},
    [RULE_CARRIED] = {"carried", "wharf_kind.update",
                      "what is carried to be left as the workload has it, or a message that says what is left out"},
    [RULE_SERVICE] = {"service", "Failures",
                      "services to be given what they accept, for objects that are as they should be"},
    [RULE_CROWD] = {"several", "Threads: \"from any thread, and several at once\"",
                    "the same output for the same input, called in several threads at once"},
    [RULE_CLOCK] = {"clock", "Determinism",
                    "that time comes in through struct wharf_call, and random numbers not at all"},
};

const struct rule_text *rule_text(enum rule rule) {
    return &rules[rule];
}

const char *function_name(enum function function) {
    static const char *const names[N_FUNCTIONS] = {"start",  "phase",  "accept",  "mirror",
                                                   "update", "status", "pod_sets"};
    return names[function];
}

const char *phase_name(int phase) {
    static const char *const names[] = {"PENDING", "SUSPENDED", "ACTIVE", "SUCCEEDED", "FAILED"};
    return phase >= 0 && phase < (int)(sizeof(names) / sizeof(names[0])) ? names[phase] : "unknown";
}
