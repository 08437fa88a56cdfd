// SPDX-License-Identifier: Apache-2.0
#include "core/host/tokens/tokens.h" // moved
