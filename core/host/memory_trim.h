// SPDX-License-Identifier: Apache-2.0
// Giving memory back that only starting needed.
#ifndef WHARF_HOST_MEMORY_TRIM_H
#define WHARF_HOST_MEMORY_TRIM_H

// Returns free heap to the system, and lets go of the pages of program text and constants: libcurl brings some thirty
// libraries, most of whose text is touched once, at start. What is needed again is mapped again from the page cache.
void memory_trim_all(void);

// The first part of it alone.
void memory_trim_heap(void);

#endif
