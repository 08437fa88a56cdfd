// SPDX-License-Identifier: Apache-2.0
// Rules of the API server for single kinds: defaults, validation, immutability.
#pragma once

#include "tests/world/answer.h"

// Decoding into typed fields: unknown members are dropped, wrong types are rejected with 400, times are converted to
// the server's format. False with a message.
bool rules_decode(const struct kind *kind, struct json *value, char message[256]);

void rules_create(struct op *op, struct json *value, struct field_problems *problems);
void rules_update(struct op *op, struct json *value, const struct json *old, struct field_problems *problems);
void rules_update_status(const struct json *value, const struct json *old, enum special special,
                         struct field_problems *problems);

// job_spec.c: batch/v1 Job (pkg/apis/batch/v1/defaults.go, pkg/registry/batch/job/strategy.go,
// pkg/apis/batch/validation).
void job_defaults(struct json *job);
void job_spec_defaults(struct json *spec);
void job_default_labels(struct json *job);
void job_generate_selector(struct json *job);
void job_check(const struct json *job, struct field_problems *problems);
void job_check_update(const struct json *job, const struct json *old, struct field_problems *problems);
void job_check_scheduling(const struct json *spec, struct field_problems *problems);
void job_check_scheduling_update(const struct json *spec, const struct json *old_spec, struct field_problems *problems);
void job_check_status(const struct json *job, const struct json *before, struct field_problems *problems);
bool job_condition(const struct json *job, const char *type, const char *status);
bool job_finished(const struct json *job);
bool job_indexed(const struct json *job);

// event_rules.c: events.k8s.io/v1 (pkg/apis/core/validation/events.go).
void event_check(const struct json *event, struct field_problems *problems);
void event_check_update(const struct json *event, const struct json *old, struct field_problems *problems);

// config_rules.c: ConfigMap, Secret and ServiceAccount (pkg/apis/core/validation/validation.go).
bool config_decode(const struct kind *kind, struct json *value, char message[256]);
void config_check(const struct kind *kind, struct json *value, const struct json *old, struct field_problems *problems);

// claim_rules.c: PersistentVolumeClaim, PriorityClass and RuntimeClass (pkg/apis/core, scheduling and node).
void claim_create(const struct kind *kind, struct json *value, struct field_problems *problems);
void claim_update(const struct kind *kind, struct json *value, const struct json *old, struct field_problems *problems);
