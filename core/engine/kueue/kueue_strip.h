// SPDX-License-Identifier: Apache-2.0
#include "core/engine/kueue/kueue_object.h" // moved
