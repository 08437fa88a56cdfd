// SPDX-License-Identifier: Apache-2.0
// API server responses: objects, and Status documents worded as in apimachinery's api/errors.
#pragma once

#include "tests/world/model.h"

// One request being processed by the server.
struct op {
    struct world_cluster *cluster;
    struct kind *kind;
    const char *version;     // requested in the path
    const char *namespace_;  // "" if none
    const char *name;        // "" if none yet
    const char *subresource; // "" or "status"
    const char *manager;     // fieldManager; NULL: not given
    const char *user;        // impersonated; NULL: none
    enum world_verb verb;
    bool internal; // by a controller of the cluster: not counted with the others
    bool named;    // about a single object by its name
    bool dry_run;
    bool strict;                     // fieldValidation=Strict
    struct world_response *response; // never NULL
};

// Validation errors (field.ErrorList); causes are objects {reason, message, field}.
struct field_problems {
    struct json *causes;
};
void world_problems_free(struct field_problems *problems);
#define AUTO_PROBLEMS __attribute__((cleanup(world_problems_free))) struct field_problems
bool world_problems_any(const struct field_problems *problems);
// `value` NULL: omitted; a string is shown in quotes.
void problem_invalid(struct field_problems *problems, const char *field, const struct json *value, const char *detail);
void problem_required(struct field_problems *problems, const char *field, const char *detail);
void problem_forbidden(struct field_problems *problems, const char *field, const char *detail);
void problem_unsupported(struct field_problems *problems, const char *field, const struct json *value,
                         const char *supported);
void problem_duplicate(struct field_problems *problems, const char *field, const struct json *value);
void problem_too_long(struct field_problems *problems, const char *field, int max);

// Each fills the whole response.
void answer_text(struct world_response *response, int status, const char *text);
void answer_json(struct world_response *response, int status, const struct json *value);
void answer_buffer(struct world_response *response, int status, struct buffer *body);
void answer_blob(const struct op *op, int status, const struct blob *blob);
void answer_tree(const struct op *op, int status, const struct json *value); // without apiVersion and kind

struct details {
    const char *name, *group, *kind, *uid; // NULL: left out
    struct json *causes;                   // taken; NULL: none
    int retry_after_s;
};
// A Status document, kind=Status.
struct json *answer_status(int code, const char *reason, const char *message, const struct details *details);
void answer_failure(struct world_response *response, int code, const char *reason, const struct details *details,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

void answer_bad_request(struct world_response *response, const char *format, ...) __attribute__((format(printf, 2, 3)));
void answer_not_served(struct world_response *response);       // text/plain, as for an unknown path
void answer_unknown_resource(struct world_response *response); // the group is served, the resource is not
void answer_not_found(const struct op *op);
void answer_exists(const struct op *op);
void answer_conflict(const struct op *op, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A precondition of a delete that does not hold.
void answer_precondition(const struct op *op, const char *format, ...) __attribute__((format(printf, 2, 3)));
void answer_stale(const struct op *op);
void answer_invalid_as(const struct op *op, const char *kind, const char *group, const char *name,
                       struct field_problems *problems);
void answer_invalid(const struct op *op, struct field_problems *problems);
void answer_deleted(const struct op *op, const char *uid);
