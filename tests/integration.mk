# SPDX-License-Identifier: Apache-2.0
## make integration  `wharf run` against simulated clusters over HTTP and TLS, and against servers that misbehave
INTEGRATION_SRC := $(wildcard tests/integration/*_test.c)
INTEGRATION_BIN := $(INTEGRATION_SRC:tests/integration/%.c=$(B)/tests/integration/%)
INTEGRATION_HELP := $(patsubst %.c,$(B)/%.o,$(filter-out $(INTEGRATION_SRC),$(wildcard tests/integration/*.c))) $(B)/tests/unit/kube/tls_server.o
TEST_TARGETS += integration

$(B)/tests/integration/%_test: $(B)/tests/integration/%_test.o $(INTEGRATION_HELP) $(B)/tests/support.a $(B)/tests/world-http.a $(B)/tests/world.a $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(WORLD_LIBS) -lssl -lcmocka

# Adapters that do what none may do.
HANG_ADAPTERS := $(patsubst tests/integration/hang/%.c,$(B)/hang_adapters/%.so,$(wildcard tests/integration/hang/*.c))
$(B)/hang_adapters/%.so: tests/integration/hang/%.c include/wharf/adapter.h
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) -D_GNU_SOURCE -std=c11 $(OPT) $(WARN) -Iinclude -fPIC -fvisibility=hidden -shared $(SAN) $(CFLAGS) $(LDFLAGS) -o $@ $<

.PHONY: integration
integration: $(INTEGRATION_BIN) $(B)/wharf $(ADAPTERS) $(HANG_ADAPTERS)
	@sh tests/cmocka.sh $(INTEGRATION_BIN)
