# SPDX-License-Identifier: Apache-2.0
## make conformance  `wharf adapter test`: each adapter over its fixtures, and bad adapters, each of which must be found
BAD_CONFORMANCE := $(patsubst tests/conformance/bad/%.c,$(B)/conformance/%.so,$(wildcard tests/conformance/bad/*.c))
TEST_TARGETS += conformance

$(B)/conformance/%.so: tests/conformance/bad/%.c tests/conformance/template.h tests/conformance/adapter.h include/wharf/adapter.h
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) -D_GNU_SOURCE -std=c11 $(OPT) $(WARN) -Iinclude -I. -fPIC -fvisibility=hidden -shared $(SAN) $(CFLAGS) $(LDFLAGS) -o $@ $<

.PHONY: conformance
conformance: $(B)/wharf $(B)/wharf-conformance $(ADAPTERS) $(BAD_CONFORMANCE)
	@python3 -B tests/conformance/run.py $(B)
