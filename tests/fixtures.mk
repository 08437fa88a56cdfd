# SPDX-License-Identifier: Apache-2.0
## make fixtures  $(B)/tests/to_json, which prints YAML documents as JSON for drivers that have no YAML
$(B)/tests/to_json: $(B)/tests/support/to_json.o $(B)/core.a
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

.PHONY: fixtures
fixtures: $(B)/tests/to_json

# The table of all kinds: its parts, and the reader of fixtures.
KINDS_HELP := $(patsubst %,$(B)/tests/unit/plugins/%.o,kinds_compare kinds_host kinds_story) $(B)/tests/support/fixture.o
$(B)/unit/plugins/kinds_test: $(KINDS_HELP)
