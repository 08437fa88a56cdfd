# SPDX-License-Identifier: Apache-2.0
## make package-quick the chart beside the kustomize base, the policies beside the adapters, the systemd unit; part of make test
TEST_TARGETS += package-quick
.PHONY: package-quick
package-quick-programs: $(B)/wharf $(ADAPTERS) $(B)/tests/to_json
package-quick: package-quick-programs
	@python3 -B tests/package $(B) quick

## make package-test the same, and the Debian package, the RPM, the image and the tarballs, each built twice (./bootstrap --package; 2 min)
.PHONY: package-test package-test-programs
package-test package-test-programs: $(B)/wharf $(ADAPTERS) $(B)/tests/to_json
package-test:
	@python3 -B tests/package $(B) all
