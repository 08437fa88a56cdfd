// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/clusters.h" // moved
