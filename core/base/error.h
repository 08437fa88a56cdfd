// SPDX-License-Identifier: Apache-2.0
// Error convention: a function that can fail returns `struct error *` (NULL is success), or, where it returns something
// else, fills a `struct error **` given as its last argument. An error has a message of one sentence for the user and a
// code for the program. On success ownership of arguments passes as documented by the function; on failure it stays
// with the caller.
//
// The headers of the C library that most files need come with this one.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum error_code {
    ERROR_INTERNAL,    // a bug
    ERROR_NO_MEMORY,   // an allocation failed
    ERROR_INVALID,     // invalid input (config, JSON, YAML, an argument)
    ERROR_NOT_FOUND,   // a file, context, field or object does not exist
    ERROR_REFUSED,     // valid, but not allowed (permissions, hash, ABI)
    ERROR_IO,          // a system call failed
    ERROR_LIMIT,       // a limit that protects the host was reached
    ERROR_UNSUPPORTED, // valid, but not implemented
    ERROR_TOO_LARGE,   // input exceeds its budget
    ERROR_STOPPED,     // stopped because the process is exiting
    ERROR_USAGE        // an invalid command line
};

struct error {
    enum error_code code;
    char *message;     // UTF-8, without a trailing newline; owned by the error
    const char *about; // the text that is wrong, for a caller that knows where it came from: only its address counts
};

// Never returns NULL: when out of memory, returns a static error that error_free accepts.
struct error *error_new(enum error_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct error *error_vnew(enum error_code code, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

// ERROR_NO_MEMORY without allocating.
struct error *error_no_memory(void);

// Prepends "<context>: " to the message; takes `error` and returns it (or its replacement). NULL stays NULL.
struct error *error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Sets `about`; takes `error` and returns it. NULL stays NULL.
struct error *error_about(struct error *error, const char *text);

// The message, or "no error".
const char *error_text(const struct error *error);

// NULL is fine.
void error_free(struct error *error);

// Frees the error at the end of its block; `return TAKE(error);` returns it.
void error_cleanup(struct error **error);
#define AUTO_ERROR __attribute__((cleanup(error_cleanup))) struct error *

// Returns the error of a step from the calling function, which needs cleanup attributes for all resources.
#define TRY(step)                                                                                                      \
    do {                                                                                                               \
        struct error *error_of_step_ = (step);                                                                         \
        if (error_of_step_)                                                                                            \
            return error_of_step_;                                                                                     \
    } while (0)
