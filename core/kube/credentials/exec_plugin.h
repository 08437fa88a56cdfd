// SPDX-License-Identifier: Apache-2.0
#include "core/kube/credentials/credentials.h" // moved
