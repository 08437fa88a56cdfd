// SPDX-License-Identifier: Apache-2.0
// The rules that the kit checks, and the report: findings grouped by cause, a paragraph each, and warnings.
#pragma once

#include "core/base/problems.h"
#include "core/json/json.h"

#include <stdio.h>

// Each rule: the name for reports and file names, the place in <wharf/adapter.h>, and the expectation.
#define RULES(X)                                                                                                       \
    X(FILE, "file", "How an adapter is loaded", "an ELF shared object for this machine that exports wharf_module_v1")  \
    X(LOAD, "load", "wharf_module, wharf_kind", "a module and kinds that the host accepts")                            \
    X(CRASH, "crash", "wharf_kind.phase: \"fields may be missing or of the wrong type\"",                              \
      "the function to return for every object")                                                                       \
    X(HANG, "hang", "Threads", "the function to return within microseconds")                                           \
    X(EXIT, "exit", "Threads", "the function to return; the process is the host's")                                    \
    X(INPUT, "input", "wharf_value", "that a const wharf_value is only read")                                          \
    X(REPEAT, "repeat", "Determinism", "the same output for the same input, called twice in a row")                    \
    X(RESTART, "restart", "Determinism", "the same output for the same input after a restart")                         \
    X(RESULT, "result", "wharf_result", "WHARF_OK (0), WHARF_RETRY (1) or WHARF_REFUSED (2)")                          \
    X(MESSAGE, "message", "wharf_answer.message", "with WHARF_REFUSED a sentence with the reason")                     \
    X(TEXT, "text", "wharf_answer, wharf_phase", "UTF-8, and a CamelCase word as wharf_answer.reason")                 \
    X(DELAY, "delay", "wharf_answer.retry_after_ms", "at most an hour")                                                \
    X(PHASE_RESULT, "phase-result", "wharf_kind.phase", "WHARF_OK for any object")                                     \
    X(PHASE_VALUE, "phase-value", "wharf_phase_kind", "one of WHARF_PENDING (0) to WHARF_FAILED (4)")                  \
    X(FINISHED, "finished", "wharf_kind.phase: \"Finished must stay finished\"",                                       \
      "that a finished workload stays finished as it did, whatever becomes of its mirror")                             \
    X(MARKS, "marks", "wharf_kind.mirror",                                                                             \
      "labels and annotations that begin with wharf.dev/, name and namespace left to the host")                        \
    X(MIRROR, "mirror-clean", "wharf_kind.removed",                                                                    \
      "a mirror without managedBy, without what `removed` names, and of metadata only name, namespace, labels and "    \
      "annotations")                                                                                                   \
    X(MIRROR_STABLE, "mirror-stable", "wharf_kind.update",                                                             \
      "that nothing is left to change in a mirror that was just made")                                                 \
    X(UPDATE_STABLE, "update-stable", "wharf_kind.update",                                                             \
      "that nothing is left to change in a mirror that was just changed")                                              \
    X(UPDATE_CLEAN, "update-clean", "wharf_kind.removed",                                                              \
      "that managedBy and what `removed` names is not carried later either")                                           \
    X(STATUS_STABLE, "status-stable", "wharf_kind.status: \"calling again must change nothing\"",                      \
      "the status that results to be left as it is by a second call")                                                  \
    X(STATUS_PHASE, "status-phase", "wharf_kind.status",                                                               \
      "that the workload is finished as its mirror is once the status has been copied")                                \
    X(GAVE_UP, "gave-up", "wharf_kind.gave_up_status: \"The phase that follows must be FAILED\"",                      \
      "that a workload that no cluster accepts has failed with what gave_up_status writes")                            \
    X(POD_SETS, "pod-sets", "wharf_kind.pod_sets", "an array of {\"template\": an object, \"count\": an integer}")     \
    X(DEPENDENCIES, "dependencies", "wharf_kind.dependencies",                                                         \
      "an array of {\"resource\": one that is known, \"name\": that of an object}")                                    \
    X(PROGRESS, "progress", "wharf_kind.progress: \"only progress that the workload's status states\"",                \
      "nothing for a workload that has finished or has no status, and no status with which a mirror has finished")     \
    X(PROGRESS_ONLY, "progress-only", "wharf_kind.progress: \"sets in `object` ... the fields of /status\"",           \
      "that nothing but /status is set")                                                                               \
    X(PROGRESS_STABLE, "progress-stable",                                                                              \
      "wharf_kind.progress: \"resumes the mirror once this function sets nothing\"",                                   \
      "that nothing is left to set in an object that has what was set")                                                \
    X(SCORE, "score", "wharf_module.score", "integers from 0 to 100 for names of workers")                             \
    X(POD_SETS_KEPT, "pod-sets-kept", "wharf_kind.pod_sets", "that an object with pods keeps some of them")            \
    X(ALWAYS, "always", "wharf_result", "WHARF_OK for at least one object that is as it should be")                    \
    X(WHOLE, "mirror-whole", "wharf_kind.mirror", "a mirror with the spec and the pod templates of the workload")      \
    X(STATUS_CLEAN, "status-clean", "wharf_kind.status_removed", "that what `status_removed` names is not put back")   \
    X(STATUS_ONLY, "status-only", "wharf_kind.status: \"`object` has /status alone\"",                                 \
      "that nothing but /status is written")                                                                           \
    X(TIMES, "times", "wharf_call.now, wharf_phase.since_ns",                                                          \
      "times as in metav1.Time, \"2026-01-02T03:04:05Z\", and nanoseconds since 1970")                                 \
    X(CALL, "call", "wharf_call", "struct wharf_call to be left as it is, but for the fields of its answer")           \
    X(LOG, "log", "wharf_host.log", "a few log lines a call at most")                                                  \
    X(TIME, "time", "Threads", "to return within microseconds, for an ordinary object under a millisecond")            \
    X(GROWTH, "growth", "Threads", "time that grows no faster than the object")                                        \
    X(MEMORY, "memory", "Memory", "that a call takes little memory, and keeps none of it when it returns")             \
    X(POINTER, "pointer", "wharf_host: \"A malformed pointer finds nothing\"",                                         \
      "an RFC 6901 pointer: \"\", or segments that begin with a slash")                                                \
    X(DATA, "data", "Memory", "the module and its kinds to stay unchanged after the load")                             \
    X(IO, "io", "Threads", "no I/O: log lines go through wharf_host.log")                                              \
    X(STATE, "state", "Threads", "the process to be left as it was")                                                   \
    X(FORBIDDEN, "forbidden", "Threads",                                                                               \
      "no system calls but for memory: the host's sandbox ends a process at others")                                   \
    X(CRD, "crd", "wharf_kind", "what the CustomResourceDefinition has")                                               \
    X(THREADS, "threads", "Threads", "no thread, no process and no signal handler of its own")                         \
    X(CLOCK, "clock", "Determinism", "that time comes in through struct wharf_call, and random numbers not at all")    \
    X(STORY, "story", "wharf_kind.phases", "the phase that the file says for the step")                                \
    X(CARRIED, "carried", "wharf_kind.update",                                                                         \
      "what is carried to be left as the workload has it, or a message that says what is left out")                    \
    X(CROWD, "several", "Threads: \"from any thread, and several at once\"",                                           \
      "the same output for the same input, called in several threads at once")                                         \
    X(SERVICE, "service", "Failures", "services to be given what they accept, for objects that are as they should be")

#define RULE_NUMBER(id, name, where, expected) RULE_##id,
enum rule { RULES(RULE_NUMBER) N_RULES };

// The functions of an adapter.
enum function {
    CALL_LOAD,
    CALL_PHASE,
    CALL_ACCEPT,
    CALL_MIRROR,
    CALL_UPDATE,
    CALL_STATUS,
    CALL_POD_SETS,
    CALL_DEPENDENCIES,
    CALL_PROGRESS,
    CALL_CHILD_PROGRESS,
    CALL_SCORE,
    N_FUNCTIONS
};

const char *function_name(enum function function);

const char *phase_name(int phase); // "SUCCEEDED"

// One cause, with the smallest object that shows the cause.
struct finding {
    const char *kind, *cause, *object, *found; // first, for struct_copy_with_texts
    enum rule rule;
    enum function function;
    struct json *inputs; // the workload and the mirror, if any; or NULL
    size_t size;         // of the inputs as text
    size_t more;         // found again on other objects
};

struct report {
    struct finding **list;
    size_t count;
    struct problems warnings; // distinct sentences
    FILE *live;               // gets a line for each finding at once; NULL: none
    char *stopped;            // why not everything was tried; NULL: everything was
};

// Takes `inputs`. The index of the new or extended finding; SIZE_MAX when out of memory.
size_t report_add(struct report *report, const struct finding *found);
// A better example for a finding that is there. Takes the inputs.
void report_inputs(struct finding *finding, struct json *inputs);
void report_warn(struct report *report, const char *kind, const char *text);
void report_print(const struct report *report, FILE *out);
// Writes a YAML file for each finding with inputs, and the path to `out`.
struct error *report_save(const struct report *report, const char *folder, FILE *out);
void report_free(struct report *report);
