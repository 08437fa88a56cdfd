// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/mirror.h" // moved
