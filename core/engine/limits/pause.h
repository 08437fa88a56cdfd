// SPDX-License-Identifier: Apache-2.0
#include "core/engine/limits/limits.h" // moved
