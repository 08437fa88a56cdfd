// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue.h" // moved
