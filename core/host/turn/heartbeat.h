// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h" // moved
