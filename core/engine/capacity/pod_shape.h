// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/free_capacity.h" // moved
