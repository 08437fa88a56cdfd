// SPDX-License-Identifier: Apache-2.0
#include "tests/world/list.h"

#include <inttypes.h>
#include <string.h>

static void check_initial_events(const struct op *op, const struct route *route, bool watch,
                                 struct field_problems *problems) {
    const char *match = route_query(route, "resourceVersionMatch");
    if (!route_query(route, "sendInitialEvents"))
        return;
    if (!watch)
        problem_forbidden(problems, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    else if (op->cluster->options.no_watch_list)
        problem_forbidden(problems, "sendInitialEvents",
                          "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
    else if (!match || strcmp(match, "NotOlderThan") != 0)
        problem_forbidden(problems, "resourceVersionMatch",
                          "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
}

static void check_match(const struct route *route, bool watch, struct field_problems *problems) {
    const char *match = route_query(route, "resourceVersionMatch");
    const char *version = route_query(route, "resourceVersion");
    const char *token = route_query(route, "continue");
    if (!match || !*match)
        return;
    if (watch && !route_query(route, "sendInitialEvents"))
        problem_forbidden(problems, "resourceVersionMatch",
                          "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (watch)
        return;
    if (!version || !*version)
        problem_forbidden(problems, "resourceVersionMatch",
                          "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (token && *token)
        problem_forbidden(problems, "resourceVersionMatch",
                          "resourceVersionMatch is forbidden when continue is provided");
    if (strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0) {
        AUTO_JSON shown = json_new_string(match);
        problem_unsupported(problems, "resourceVersionMatch", shown, "\"Exact\", \"NotOlderThan\"");
    } else if (strcmp(match, "Exact") == 0 && version && strcmp(version, "0") == 0) {
        problem_forbidden(problems, "resourceVersionMatch",
                          "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
}

bool world_check_list_options(const struct op *op, const struct route *route, bool watch) {
    AUTO_PROBLEMS problems = {0};
    check_match(route, watch, &problems);
    check_initial_events(op, route, watch, &problems);
    if (!world_problems_any(&problems))
        return true;
    answer_invalid_as(op, "ListOptions", "meta.k8s.io", "", &problems);
    return false;
}

bool world_read_version(const struct op *op, const char *text, uint64_t *version, bool *given) {
    int64_t number = 0;
    *given = text && *text;
    *version = 0;
    if (!*given)
        return true;
    if (!text_to_int64(text, &number)) {
        answer_bad_request(op->response, "invalid resource version: resourceVersion: Invalid value: \"%s\"", text);
        return false;
    }
    *version = (uint64_t)number;
    return true;
}

void answer_too_large_version(struct world_response *response, uint64_t asked, uint64_t current) {
    struct json *causes = json_new_array(), *cause = json_new_object();
    if (!causes || !cause)
        world_oom();
    world_set_text(cause, "reason", "ResourceVersionTooLarge");
    world_set_text(cause, "message", "Too large resource version");
    if (!json_append(causes, cause))
        world_oom();
    struct details details = {.causes = causes, .retry_after_s = 1};
    answer_failure(response, 504, "Timeout", &details,
                   "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, asked, current);
}

void answer_expired(struct world_response *response, uint64_t asked, uint64_t oldest, const char *continue_token) {
    AUTO_TEXT message =
        continue_token
            ? text_format("The provided continue parameter is too old to display a consistent list result. You can "
                          "start a new list without the continue parameter, or use the continue token in this response "
                          "to retrieve the remainder of the results.")
            : text_format("too old resource version: %" PRIu64 " (%" PRIu64 ")", asked, oldest);
    AUTO_JSON status = answer_status(410, "Expired", message, NULL);
    if (continue_token)
        world_set_text(world_json_child(status, "metadata"), "continue", continue_token);
    answer_json(response, 410, status);
}
