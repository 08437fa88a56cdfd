// SPDX-License-Identifier: Apache-2.0
// Releases memory that only startup needed.
#ifndef WHARF_HOST_MEMORY_TRIM_H
#define WHARF_HOST_MEMORY_TRIM_H

// Returns free heap to the system and drops pages of program text and constants: libcurl brings some thirty libraries,
// most of whose text is used once, at startup. Pages needed again are faulted in from the page cache.
void memory_trim_all(void);

// Returns free heap only.
void memory_trim_heap(void);

#endif
