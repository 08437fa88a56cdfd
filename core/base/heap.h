// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h" // moved
