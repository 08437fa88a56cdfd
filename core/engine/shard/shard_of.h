// SPDX-License-Identifier: Apache-2.0
#include "core/engine/shard/shard.h" // moved
