# SPDX-License-Identifier: Apache-2.0
# Adapters for the loader's tests, most of them bad in one way: $(B)/bad_adapters/<name>.so
BAD_ADAPTERS := $(patsubst tests/unit/adapter/bad_adapters/%.c,$(B)/bad_adapters/%.so,$(wildcard tests/unit/adapter/bad_adapters/*.c))

$(B)/bad_adapters/%.so: tests/unit/adapter/bad_adapters/%.c tests/unit/adapter/bad_adapters/template.h include/wharf/adapter.h
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) -D_GNU_SOURCE -std=c11 $(OPT) $(WARN) -Iinclude -fPIC -fvisibility=hidden -shared $(SAN) $(CFLAGS) $(LDFLAGS) -o $@ $<

$(B)/unit/adapter/adapters_test: | $(BAD_ADAPTERS)

.PHONY: bad-adapters
bad-adapters: $(BAD_ADAPTERS)
