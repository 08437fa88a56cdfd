// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the Job adapter.
#pragma once

#include <wharf/adapter.h>

#include <stdbool.h>

extern const wharf_host *host;

// The end of a Job. SuccessCriteriaMet or FailureTarget decides the outcome for good; Complete or Failed follows after
// the end of the last pod.
enum outcome { UNDECIDED, SUCCESS, FAILURE };
enum outcome job_outcome(const wharf_value *job);
bool job_is_finished(const wharf_value *job);
// The integer there as an int32 that is not negative; 0 for all else.
int64_t job_count(const wharf_value *value, const char *pointer);

// The indexes below `limit` in any or in the first of two lists, as a list, and their number. NULL is an empty list.
enum index_operation { INDEXES_OR, INDEXES_WITHOUT };
const char *job_indexes(const wharf_call *call, const char *a, enum index_operation operation, const char *b,
                        int64_t limit, int64_t *total);

#define CONDITIONS "/status/conditions"
#define SUCCEEDED "/status/succeeded"
#define FAILED "/status/failed"
#define COMPLETED_INDEXES "/status/completedIndexes"
#define FAILED_INDEXES "/status/failedIndexes"
#define SUSPEND "/spec/suspend"
#define COMPLETIONS "/spec/completions"
#define COMPLETION_MODE "/spec/completionMode"
#define BACKOFF_LIMIT "/spec/backoffLimit"
#define LIMIT_PER_INDEX "/spec/backoffLimitPerIndex"
#define SCHEDULING "/spec/scheduling"
#define GANG SCHEDULING "/schedulingPolicy/gang"
#define MIN_COUNT GANG "/minCount"
// The host's annotation of a mirror: "owed" before the mirror gets progress and runs, then "given" or "refused".
#define PROGRESS "/metadata/annotations/wharf.dev~1progress"
// The host's annotation of a workload: workers that failed it (retryElsewhere), whose failures do not count.
#define RETRIED "/metadata/annotations/wharf.dev~1retried"
// Annotation of a mirror that counts from zero: failures of earlier attempts.
#define EARLIER_FAILED "/metadata/annotations/job.wharf.dev~1earlier-failed"
// Seconds from /status/startTime to the create of the mirror, for a Job with activeDeadlineSeconds.
#define EARLIER_SECONDS "/metadata/annotations/job.wharf.dev~1earlier-seconds"
// How many pods have ended by the status that the mirror was given.
#define GIVEN_PODS "/metadata/annotations/job.wharf.dev~1given-pods"

// The number in one of the annotations above, 0 without the annotation.
int64_t job_earlier(const wharf_value *mirror, const char *annotation);
// How many completions less than the workload a mirror without indexes has.
int64_t job_earlier_succeeded(const wharf_value *workload, const wharf_value *mirror);
// Reduces the limits of a new mirror to what is left.
void job_note_earlier(const wharf_call *call, const wharf_value *workload, wharf_value *mirror);
// Reduces the gang of `object` to the pods that the mirror can have at once: else none of them would be scheduled.
// `mirror` is NULL before the create.
void job_fit_gang(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror, wharf_value *object);
// In a change of a mirror: reduces carried limits to their remainder.
void job_keep_left(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                   wharf_value *desired);
// The Job controller creates no more pods than the remaining completions.
wharf_result job_pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets);

wharf_result job_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                        wharf_value *object);

// wharf_kind.progress of a Job, and wharf_kind.child_progress of a kind whose children are Jobs.
wharf_result job_progress(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                          wharf_value *object);
wharf_result job_child_progress(const wharf_call *call, const wharf_value *former, const wharf_value *child,
                                wharf_value *object);
