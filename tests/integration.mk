# SPDX-License-Identifier: Apache-2.0
## make integration  `wharf run` against simulated clusters over HTTP and TLS, and against servers that misbehave
TEST_TARGETS += integration
CHURN := $(B)/tests/integration/churn_test
.PHONY: integration churn
integration-programs: $(filter-out $(CHURN),$(INTEGRATION_BIN)) $(B)/wharf $(ADAPTERS) $(HANG_ADAPTERS) $(SCORER) $(B)/tests/world/world
# They mostly wait.
integration: integration-programs
	@JOBS=$$((2 * $$(nproc))) sh tests/cmocka.sh $(filter-out $(CHURN),$(INTEGRATION_BIN))

## make churn     a worker that comes and goes delays no other: compares times, and so runs beside nothing else
TEST_ALONE += churn
churn-programs: $(CHURN)
churn: churn-programs
	@sh tests/cmocka.sh $(CHURN)
