// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/watcher.h" // moved
