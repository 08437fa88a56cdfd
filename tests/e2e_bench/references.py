# SPDX-License-Identifier: Apache-2.0
"""wharf that copies the ConfigMaps to which each Job refers."""
import manifests
import needs
from turn import Wharf

_SETTINGS = {"dependencies": "{copy: [configmaps]}"}


class WithReferences(Wharf):
    """Each Job refers to `number` ConfigMaps of 1 kB, and the Jobs take turns over `configmaps` of them."""

    def __init__(self, name, host, clusters, number, configmaps):
        super().__init__(name, host)
        self.clusters, self.references = clusters, (number, max(number, configmaps))

    def start(self, namespace):
        needs.create(self.clusters.management.admin, namespace, {"configmaps": [
            needs.configmap(f"configmap-{number}", text="x" * 1000) for number in range(self.references[1])]})
        self.host.write(_SETTINGS)
        manifests.apply_rights(self.clusters, {role: self.host.rights(role, "--user", "wharf") for role in ("management", "worker")})
        self.host.use(**_SETTINGS)
