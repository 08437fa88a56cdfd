// SPDX-License-Identifier: Apache-2.0
// Labels and annotations that Kueue uses on queued objects.
#pragma once

#define KUEUE_QUEUE_NAME "kueue.x-k8s.io/queue-name"         // label
#define KUEUE_PRIORITY_CLASS "kueue.x-k8s.io/priority-class" // label
#define KUEUE_STOPPING "kueue.x-k8s.io/stopping"             // annotation
