// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine_internal.h" // moved
