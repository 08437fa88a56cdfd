// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/requests.h" // moved
