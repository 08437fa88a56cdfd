// SPDX-License-Identifier: Apache-2.0
#include "core/json/pointer.h" // moved
