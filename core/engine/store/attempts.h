// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/store.h" // moved
