// SPDX-License-Identifier: Apache-2.0
// `wharf run` as a child process of a scene, and HTTP requests to it. Its log is <directory>/wharf.log.
#pragma once

#include "tests/support/built.h"
#include "tests/support/scene.h"

#include <stdio.h>

struct error *wharf_start(struct scene *scene);
struct error *wharf_start_with_log(struct scene *scene, int log); // goes there instead
// True while it runs; reaps it when it has ended.
bool wharf_runs(struct scene *scene);
// Sends the signal and waits; false if it still runs after `within_ns`.
bool wharf_end(struct scene *scene, int signal, int64_t within_ns);
// Its exit code if it ended by itself, else -1 (a signal).
int wharf_exit_code(const struct scene *scene);

// The last lines of its log.
void wharf_print_log(const struct scene *scene, size_t lines, FILE *out);
// Lines of its log that contain `text`.
size_t wharf_logged(const struct scene *scene, const char *text);

// GET http://127.0.0.1:<port><path>: the HTTP status, or 0 without an answer within 20 s. The body goes to `body`
// (NULL: discarded).
int http_ask(uint16_t port, const char *method, const char *path, struct buffer *body);
bool wharf_is_ready(const struct scene *scene);
// The value of a sample of /metrics, by its full name with labels; -1 if absent.
double wharf_metric(const struct scene *scene, const char *sample);
