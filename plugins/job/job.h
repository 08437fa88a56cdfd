// SPDX-License-Identifier: Apache-2.0
// What the files of the Job adapter share.
#ifndef WHARF_PLUGINS_JOB_H
#define WHARF_PLUGINS_JOB_H

#include <wharf/adapter.h>

#include <stdbool.h>

extern const wharf_host *host;

// How a Job ends. It is decided, for good, when SuccessCriteriaMet or FailureTarget becomes True; Complete or Failed
// follows once its last pod is gone.
enum outcome { UNDECIDED, SUCCESS, FAILURE };
enum outcome job_outcome(const wharf_value *job);
bool job_is_finished(const wharf_value *job);
// The integer there as an int32 that is not negative; 0 for all else.
int64_t job_count(const wharf_value *value, const char *pointer);

#define CONDITIONS "/status/conditions"
#define SUSPEND "/spec/suspend"
// Annotation of a mirror: what the workload had in /status/failed when the mirror was created.
#define EARLIER_FAILED "/metadata/annotations/job.wharf.dev~1earlier-failed"

wharf_result job_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *object);

#endif
