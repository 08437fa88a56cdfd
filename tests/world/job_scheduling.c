// SPDX-License-Identifier: Apache-2.0
// spec.scheduling of a batch/v1 Job: Kubernetes 1.37 with the feature gate WorkloadWithJob (pkg/apis/batch/v1
// Validate_JobSchedulingConfiguration, pkg/apis/batch/validation validateGangMinCount, validateJobSchedulingUpdate).
#include "tests/world/rules.h"

#define PATH "spec.scheduling"
#define POLICY PATH ".schedulingPolicy"
#define MIN_COUNT POLICY ".gang.minCount"

static void check_one_of(const struct json *value, const char *path, const char *one, const char *other,
                         struct field_problems *problems) {
    AUTO_TEXT none = text_format("must specify one of: `%s`, `%s`", one, other);
    AUTO_TEXT both = text_format("must specify exactly one of: `%s`, `%s`", one, other);
    if (value && !json_get(value, one) == !json_get(value, other))
        problem_invalid(problems, path, value, json_get(value, one) ? both : none);
}

void job_check_scheduling(const struct json *spec, struct field_problems *problems) {
    const struct json *scheduling = json_get(spec, "scheduling");
    const struct json *policy = json_get(scheduling, "schedulingPolicy");
    const struct json *least = json_path(policy, "gang", "minCount", NULL);
    int64_t count = json_int64(least, 1), parallelism = json_int64(json_get(spec, "parallelism"), 1);
    AUTO_TEXT most = text_format("must not be greater than parallelism (%lld)", (long long)parallelism);
    check_one_of(policy, POLICY, "basic", "gang", problems);
    check_one_of(json_get(scheduling, "disruptionMode"), PATH ".disruptionMode", "single", "all", problems);
    if (count < 1)
        problem_invalid(problems, MIN_COUNT, least, "must be greater than or equal to 1");
    if (least && count > parallelism)
        problem_invalid(problems, MIN_COUNT, least, most);
}

static bool check_presence(const struct json *now, const struct json *old, const char *path,
                           struct field_problems *problems) {
    if (!now != !old)
        problem_invalid(problems, path, now,
                        now ? "field cannot be set once created" : "field cannot be cleared once set");
    return now && old;
}

void job_check_scheduling_update(const struct json *spec, const struct json *old_spec,
                                 struct field_problems *problems) {
    static const char *const fixed[] = {"schedulingConstraints", "disruptionMode", "resourceClaims"};
    const struct json *now = json_get(spec, "scheduling"), *old = json_get(old_spec, "scheduling");
    if (!check_presence(now, old, PATH, problems))
        return;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        AUTO_TEXT path = text_format(PATH ".%s", fixed[i]);
        if (!json_equal(json_get(now, fixed[i]), json_get(old, fixed[i])))
            problem_invalid(problems, path, json_get(now, fixed[i]), "field is immutable");
    }
    now = json_get(now, "schedulingPolicy");
    old = json_get(old, "schedulingPolicy");
    if (check_presence(now, old, POLICY, problems) && !json_get(now, "basic") != !json_get(old, "basic"))
        problem_invalid(problems, POLICY, NULL,
                        "the basic/gang policy variant is immutable after creation; only "
                        "schedulingPolicy.gang.minCount may be updated");
}
