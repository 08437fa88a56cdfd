// SPDX-License-Identifier: Apache-2.0
#include "core/base/trust.h" // moved
