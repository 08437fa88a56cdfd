// SPDX-License-Identifier: Apache-2.0
// The one error convention: a function that can fail returns `struct error *` (NULL is success), or, where it
// returns something else, fills a `struct error **` given as its last argument. An error is one sentence that a
// person can act on, and a code that the program can act on. On success ownership of arguments passes on as the
// function says; on failure it stays with the caller.
#ifndef WHARF_BASE_ERROR_H
#define WHARF_BASE_ERROR_H

#include <stdarg.h>

enum error_code {
    ERROR_INTERNAL,    // a bug, or something that should not happen
    ERROR_NO_MEMORY,   // an allocation failed
    ERROR_INVALID,     // what was read (config, JSON, YAML, an argument) is not what it must be
    ERROR_NOT_FOUND,   // a file, a context, a field, an object is not there
    ERROR_REFUSED,     // understood, and not allowed (permissions, hash, ABI)
    ERROR_IO,          // the operating system said no
    ERROR_LIMIT,       // a bound that protects the host was reached
    ERROR_UNSUPPORTED, // valid, but not implemented ("not yet")
    ERROR_TOO_LARGE,   // what was read is more than its budget allows
    ERROR_STOPPED      // given up since the process is about to end
};

struct error {
    enum error_code code;
    char *message; // UTF-8, no newline at the end, owned by the error
};

// Makes an error. Never returns NULL: out of memory gives a static error that error_free accepts.
struct error *error_new(enum error_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct error *error_vnew(enum error_code code, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

// ERROR_NO_MEMORY without allocating.
struct error *error_no_memory(void);

// Puts "<context>: " before the message; takes `error` and returns it (or what replaces it). NULL stays NULL.
struct error *error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The message, or "no error".
const char *error_text(const struct error *error);

// NULL is fine.
void error_free(struct error *error);

// For __attribute__((cleanup)).
void error_cleanup(struct error **error);

#endif
