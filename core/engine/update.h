// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event.h" // moved
