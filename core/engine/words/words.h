// SPDX-License-Identifier: Apache-2.0
// The last words of failed workloads: when a mirror has failed, the part asks the host once to read the end of its
// failed containers, and when the workload ends, to forget them. The host reads and keeps them (core/host/words/).
#pragma once

#include "core/engine/engine_internal.h"

#define WORDS_HOLD_NS (5 * CLOCK_SECOND) // how long the deletion of a failed mirror waits for the read
