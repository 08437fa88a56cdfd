// SPDX-License-Identifier: Apache-2.0
// The parts behind sandbox.h.
#pragma once

#include "core/base/problems.h"

// A build with sanitizers maps terabytes, and makes further system calls.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANDBOX_SANITIZED true
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED false
#endif

// sandbox_libraries.c
// Loads the libraries that the ELF file in `file` names (DT_NEEDED), which become part of the process.
struct error *sandbox_load_libraries(int file);

// sandbox_landlock.c
// From here on no file can be opened, executed, made or removed, no TCP socket bound or connected, no abstract Unix
// socket reached and no signal sent to another process: as many of these as the kernel knows.
void sandbox_landlock(struct problems *missing);

// sandbox_filter.c
// The filters of both phases, by libseccomp; the first applies when this returns, also to threads that libraries have
// started. *opens: `path` becomes a duplicate of `file`; otherwise the kernel opens it.
struct error *sandbox_filter_load(int file, const char *path, int channel, struct problems *missing, bool *opens);
// The filter of calls. Nothing where the first filter was refused.
struct error *sandbox_filter_calls(void);
