// SPDX-License-Identifier: Apache-2.0
// Objects of the kinds that have fixtures, and what users do to them.
#pragma once

#include "tests/simulation/shapes.h"

// As it would be created: mostly delegated to the host, with a story for its controller.
struct json *play_object(struct trial *trial, size_t index, const char *namespace_, const char *name, bool finalizer);

// As shape_foreign, of this kind.
struct json *play_foreign(struct trial *trial, size_t index, enum foreign_kind foreign, const char *namespace_,
                          const char *name, const char *uid, const char *owner_uid, const char *owner_name);

// Merge patches, owned by the caller; NULL: not applicable to this kind.
char *play_suspend(const struct trial *trial, size_t index, bool on);
// What some user of some story patches.
char *play_patch(struct trial *trial, size_t index);
// What the user of this object's own story patches, the `number`th time.
char *play_story_patch(const struct trial *trial, size_t index, const struct json *object, unsigned number);
// Delegates or reclaims the object, if the API allows it.
char *play_manager(const struct trial *trial, size_t index, const struct json *object);
