// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/fence.h" // moved
