// SPDX-License-Identifier: Apache-2.0
// The identity of a tenant: a request with a tenant impersonates this user and group, so the API server authorizes,
// admits and records the request as one of the tenant. A request without a tenant is the host's own.
#pragma once

#define TENANT_USER_PREFIX "wharf:" // and the tenant
#define TENANT_GROUP "wharf:tenants"
