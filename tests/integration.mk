# SPDX-License-Identifier: Apache-2.0
## make integration  `wharf run` against simulated clusters over HTTP and TLS, and against servers that misbehave
TEST_TARGETS += integration
.PHONY: integration
integration: $(INTEGRATION_BIN) $(B)/wharf $(ADAPTERS) $(HANG_ADAPTERS)
	@sh tests/cmocka.sh $(INTEGRATION_BIN)
