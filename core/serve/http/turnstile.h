// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h" // moved
