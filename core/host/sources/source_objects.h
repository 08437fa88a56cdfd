// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h" // moved
