// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/span.h" // moved
