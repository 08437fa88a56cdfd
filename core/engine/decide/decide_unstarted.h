// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/decide_parts.h" // moved
