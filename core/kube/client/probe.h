// SPDX-License-Identifier: Apache-2.0
#include "core/kube/client/client.h" // moved
