// SPDX-License-Identifier: Apache-2.0
#include "core/engine/status/rival.h" // moved
