// SPDX-License-Identifier: Apache-2.0
// Returns memory to the system that is not needed at the moment.
#pragma once

// Returns free heap to the system and drops pages of program text and constants: libcurl loads about thirty libraries,
// which use most of their text only once, at startup. The kernel reads dropped pages again from the page cache.
void memory_trim_all(void);
