// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h" // moved
