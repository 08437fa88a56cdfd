// SPDX-License-Identifier: Apache-2.0
#pragma once

// The path of something that was built, in the build folder that the running program is in: the next folder above it
// that has "core.a". NULL if there is none.
char *built_path(const char *relative);
