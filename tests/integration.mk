# SPDX-License-Identifier: Apache-2.0
## make integration  `wharf run` against simulated clusters over HTTP and TLS, and against servers that misbehave
TEST_TARGETS += integration
# They mostly wait. The one that runs alone compares times.
INTEGRATION_ALONE := $(B)/tests/integration/churn_test
.PHONY: integration
integration-programs: $(INTEGRATION_BIN) $(B)/wharf $(ADAPTERS) $(HANG_ADAPTERS) $(SCORER) $(B)/tests/world/world
integration: integration-programs
	@JOBS=$$((2 * $$(nproc))) sh tests/cmocka.sh $(filter-out $(INTEGRATION_ALONE),$(INTEGRATION_BIN))
	@sh tests/cmocka.sh $(INTEGRATION_ALONE)
