# SPDX-License-Identifier: Apache-2.0
RBAC = $(B)/wharf rbac --config etc/all-adapters.yaml --adapters $(B)/adapters --user wharf --for
GUARD_RBAC = $(B)/wharf rbac --config etc/all-adapters.yaml --adapters $(B)/adapters --for guard

## make rbac      writes etc/kubernetes/rbac-*.yaml and etc/overlays/guard/rbac.yaml, as `wharf rbac` prints them
.PHONY: rbac
rbac: $(B)/wharf $(ADAPTERS)
	$(Q)for cluster in management worker; do \
		{ echo '# SPDX-License-Identifier: Apache-2.0' && $(RBAC) $$cluster; } > etc/kubernetes/rbac-$$cluster.yaml || exit 1; done
	$(Q){ echo '# SPDX-License-Identifier: Apache-2.0' && $(GUARD_RBAC); } > etc/overlays/guard/rbac.yaml

## make rbac-test wharf rbac: its output, and that the manifests are it
TEST_TARGETS += rbac-test
.PHONY: rbac-test
rbac-test-programs: $(B)/wharf $(ADAPTERS)
rbac-test: rbac-test-programs
	python3 -B tests/integration/rbac_test.py $(B)

## make join-test wharf join, wharf leave and wharf init, with API servers that the test plays
TEST_TARGETS += join-test
.PHONY: join-test
join-test-programs: $(B)/wharf $(ADAPTERS) $(SCORER)
join-test: join-test-programs
	python3 -B tests/integration/join/join_test.py $(B)
	python3 -B tests/integration/join/dependencies_test.py $(B)
