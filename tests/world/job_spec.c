// SPDX-License-Identifier: Apache-2.0
// Validation of the spec of a batch/v1 Job (pkg/apis/batch/validation ValidateJob).
#include "tests/world/rules.h"

#include <stdio.h>
#include <string.h>

#define MANAGED_BY_MAX 63
#define INDEXED_MAX 100000
#define HIGH_COMPLETIONS_MAX 10000

static const struct json *field(const struct json *spec, const char *name) {
    return json_get(spec, name);
}

static void check_not_negative(const struct json *spec, struct field_problems *problems) {
    static const char *const names[] = {
        "parallelism",          "completions",     "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        AUTO_TEXT path = text_format("spec.%s", names[i]);
        if (json_int64(field(spec, names[i]), 0) < 0)
            problem_invalid(problems, path, field(spec, names[i]), "must be greater than or equal to 0");
    }
    if (field(spec, "maxFailedIndexes") && !field(spec, "backoffLimitPerIndex"))
        problem_required(problems, "spec.backoffLimitPerIndex", "when maxFailedIndexes is specified");
}

static void check_managed_by(const struct json *spec, struct field_problems *problems) {
    const struct json *value = field(spec, "managedBy");
    if (!value)
        return;
    if (!text_is_domain_prefixed_path(json_string_or(value, "")))
        problem_invalid(problems, "spec.managedBy", value, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    if (strlen(json_string_or(value, "")) > MANAGED_BY_MAX)
        problem_too_long(problems, "spec.managedBy", MANAGED_BY_MAX);
}

static void check_indexed_limits(const struct json *spec, struct field_problems *problems) {
    int64_t parallelism = json_int64(field(spec, "parallelism"), 0);
    int64_t completions = json_int64(field(spec, "completions"), 0);
    const struct json *max_failed = field(spec, "maxFailedIndexes");
    if (parallelism > INDEXED_MAX)
        problem_invalid(problems, "spec.parallelism", field(spec, "parallelism"),
                        "must be less than or equal to 100000 when completion mode is Indexed");
    if (field(spec, "completions") && max_failed && json_int64(max_failed, 0) > completions)
        problem_invalid(problems, "spec.maxFailedIndexes", max_failed, "must be less than or equal to completions");
    if (json_int64(max_failed, 0) > INDEXED_MAX)
        problem_invalid(problems, "spec.maxFailedIndexes", max_failed, "must be less than or equal to 100000");
    if (completions <= INDEXED_MAX || !field(spec, "backoffLimitPerIndex"))
        return;
    if (!max_failed)
        problem_required(problems, "spec.maxFailedIndexes", "must be specified when completions is above 100000");
    if (parallelism > HIGH_COMPLETIONS_MAX)
        problem_invalid(problems, "spec.parallelism", field(spec, "parallelism"),
                        "must be less than or equal to 10000 when completions are above 100000 and used with backoff "
                        "limit per index");
    if (json_int64(max_failed, 0) > HIGH_COMPLETIONS_MAX)
        problem_invalid(problems, "spec.maxFailedIndexes", max_failed,
                        "must be less than or equal to 10000 when completions are above 100000 and used with backoff "
                        "limit per index");
}

static void check_mode(const struct json *spec, struct field_problems *problems) {
    const struct json *mode = field(spec, "completionMode");
    const char *text = json_string_or(mode, "NonIndexed");
    if (strcmp(text, "Indexed") == 0) {
        if (!field(spec, "completions"))
            problem_required(problems, "spec.completions", "when completion mode is Indexed");
        check_indexed_limits(spec, problems);
        return;
    }
    if (strcmp(text, "NonIndexed") != 0) {
        problem_unsupported(problems, "spec.completionMode", mode, "\"NonIndexed\", \"Indexed\"");
        return;
    }
    static const char *const only_indexed[] = {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"};
    for (size_t i = 0; i < sizeof only_indexed / sizeof *only_indexed; i++) {
        AUTO_TEXT path = text_format("spec.%s", only_indexed[i]);
        if (field(spec, only_indexed[i]))
            problem_invalid(problems, path, field(spec, only_indexed[i]), "requires indexed completion mode");
    }
}

static void check_replacement(const struct json *spec, struct field_problems *problems) {
    const struct json *policy = field(spec, "podReplacementPolicy");
    const char *text = json_string_or(policy, "");
    bool failure_policy = field(spec, "podFailurePolicy");
    if (strcmp(text, "Failed") != 0 && (failure_policy || strcmp(text, "TerminatingOrFailed") != 0))
        problem_unsupported(problems, "spec.podReplacementPolicy", policy,
                            failure_policy ? "\"Failed\"" : "\"Failed\", \"TerminatingOrFailed\"");
}

static void check_containers(const struct json *pod, struct field_problems *problems) {
    const struct json *containers = json_get(pod, "containers");
    size_t index = 0;
    if (json_size(containers) == 0)
        problem_required(problems, "spec.template.spec.containers", "");
    for (const struct json *item = json_first(containers); item; item = json_next(item), index++) {
        static const char *const needed[] = {"name", "image"};
        for (size_t i = 0; i < 2; i++) {
            AUTO_TEXT path = text_format("spec.template.spec.containers[%zu].%s", index, needed[i]);
            if (!*json_string_or(json_get(item, needed[i]), ""))
                problem_required(problems, path, "");
        }
    }
}

static void check_template(const struct json *spec, struct field_problems *problems) {
    const char *path = "spec.template.spec.restartPolicy";
    const struct json *pod = json_path(spec, "template", "spec", NULL), *policy = json_get(pod, "restartPolicy");
    const char *text = json_string_or(policy, "");
    check_containers(pod, problems);
    if (!*text || strcmp(text, "Always") == 0)
        problem_required(problems, path, "valid values: \"OnFailure\", \"Never\"");
    else if (strcmp(text, "OnFailure") != 0 && strcmp(text, "Never") != 0)
        problem_unsupported(problems, path, policy, "\"OnFailure\", \"Never\"");
    else if (field(spec, "podFailurePolicy") && strcmp(text, "Never") != 0)
        problem_invalid(problems, path, policy, "only \"Never\" is supported when podFailurePolicy is specified");
}

static void check_has_label(const struct json *labels, const char *key, const char *expected,
                            struct field_problems *problems) {
    const struct json *value = json_get(labels, key);
    AUTO_TEXT detail = text_format("must be '%s'", expected);
    AUTO_TEXT path = text_format("spec.template.metadata.labels[%s]", key);
    if (!value)
        problem_required(problems, "spec.template.metadata.labels", detail);
    else if (strcmp(json_string_or(value, ""), expected) != 0)
        problem_invalid(problems, path, value, detail);
}

static bool selector_fits(const struct json *selector, const struct json *labels) {
    for (const struct json *want = json_first(json_get(selector, "matchLabels")); want; want = json_next(want))
        if (!json_equal(want, json_get(labels, json_key(want))))
            return false;
    return true;
}

static void check_selector(const struct json *job, struct field_problems *problems) {
    const struct json *spec = json_get(job, "spec"), *selector = json_get(spec, "selector");
    const struct json *labels = json_path(spec, "template", "metadata", "labels", NULL);
    const char *uid = json_string_or(json_path(job, "metadata", "uid", NULL), "");
    const char *name = json_string_or(json_path(job, "metadata", "name", NULL), "");
    if (!selector) {
        problem_required(problems, "spec.selector", "");
        return;
    }
    if (!json_bool(json_get(spec, "manualSelector"), false)) {
        check_has_label(labels, "controller-uid", uid, problems);
        check_has_label(labels, "job-name", name, problems);
        check_has_label(labels, "batch.kubernetes.io/controller-uid", uid, problems);
        check_has_label(labels, "batch.kubernetes.io/job-name", name, problems);
        const struct json *own = json_path(selector, "matchLabels", "batch.kubernetes.io/controller-uid", NULL);
        if (own && strcmp(json_string_or(own, ""), uid) != 0)
            problem_invalid(problems, "spec.selector", selector, "`selector` not auto-generated");
    }
    if (!selector_fits(selector, labels))
        problem_invalid(problems, "spec.template.metadata.labels", labels,
                        "`selector` does not match template `labels`");
}

static void check_hostnames(const struct json *job, struct field_problems *problems) {
    const struct json *name = json_path(job, "metadata", "name", NULL);
    int64_t completions = json_int64(json_path(job, "spec", "completions", NULL), 0);
    if (!job_indexed(job) || completions <= 0)
        return;
    AUTO_TEXT host = text_format("%s-%lld", json_string_or(name, ""), (long long)completions - 1);
    AUTO_TEXT detail = text_format("will not able to create pod with invalid DNS label: %s", host);
    if (!text_is_dns_label(host))
        problem_invalid(problems, "metadata.name", name, detail);
}

void job_check(const struct json *job, struct field_problems *problems) {
    const struct json *spec = json_get(job, "spec");
    check_not_negative(spec, problems);
    check_managed_by(spec, problems);
    check_mode(spec, problems);
    check_replacement(spec, problems);
    check_template(spec, problems);
    check_selector(job, problems);
    check_hostnames(job, problems);
    job_check_scheduling(spec, problems);
}
