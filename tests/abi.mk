# SPDX-License-Identifier: Apache-2.0
## make abi       the ABI of adapters: its header in C and C++, its layout, what was promised with 1.0; adapters of then
TEST_TARGETS += abi
ABI_FROZEN := tests/abi/wharf-1.0/adapter.h
ABI_TESTS := $(B)/abi/load_test $(B)/abi/drive_test $(B)/abi/drive_test_grown
ABI_ADAPTERS := $(foreach header,frozen grown,$(foreach name,full data,$(B)/abi/$(header)/$(name).so)) $(B)/abi/grown/minor.so
ABI_HOST := $(patsubst %.c,$(B)/abi/grown/%.o,$(shell grep -lE '"core/(adapter|engine|host)/|<wharf/' core/adapter/*.c core/engine/*.c core/host/*.c))

$(B)/abi/load_test $(B)/abi/drive_test: $(B)/abi/%: tests/abi/%.c $(B)/core.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -o $@ $< $(B)/core.a $(LDFLAGS_ALL) $(LIBS) -lcmocka

# The header of 1.0, and that of a host that is newer: every struct that may grow has grown.
$(B)/abi/frozen/wharf/adapter.h: $(ABI_FROZEN)
	@mkdir -p $(@D)
	@cp $< $@

$(B)/abi/grown/wharf/adapter.h: include/wharf/adapter.h tests/abi/headers.py
	@mkdir -p $(@D)
	@python3 -B tests/abi/headers.py write grown $< $@

# The newer host: what of the core knows the header, and the test, built with it.
$(B)/abi/grown/core/%.o: core/%.c $(B)/abi/grown/wharf/adapter.h
	@mkdir -p $(@D)
	$(Q)$(CC) -I$(B)/abi/grown $(CPPFLAGS_ALL) -DWHARF_ADAPTER_DIRECTORY='"/"' $(CFLAGS_ALL) -O0 -U_FORTIFY_SOURCE -MMD -MP -c -o $@ $<

$(B)/abi/drive_test_grown: tests/abi/drive_test.c $(ABI_HOST) $(B)/core.a $(B)/abi/grown/wharf/adapter.h
	@$(if $(V),,echo "LD $@")
	$(Q)$(CC) -DGROWN -I$(B)/abi/grown $(CPPFLAGS_ALL) $(CFLAGS_ALL) -o $@ $< $(ABI_HOST) $(B)/core.a $(LDFLAGS_ALL) $(LIBS) -lcmocka

# Adapters built with each; minor.so says that it needs the newer host.
ABI_SO = $(CC) -std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fPIC -fvisibility=hidden -shared
$(B)/abi/frozen/%.so: tests/abi/%.c $(B)/abi/frozen/wharf/adapter.h
	$(Q)$(ABI_SO) -I$(B)/abi/frozen -o $@ $<
$(B)/abi/grown/minor.so: tests/abi/full.c $(B)/abi/grown/wharf/adapter.h
	$(Q)$(ABI_SO) -I$(B)/abi/grown -DNEEDS_MINOR=1 -o $@ $<
$(B)/abi/grown/%.so: tests/abi/%.c $(B)/abi/grown/wharf/adapter.h
	$(Q)$(ABI_SO) -I$(B)/abi/grown -DNEWER -o $@ $<

.PHONY: abi
abi: $(ABI_TESTS) $(ABI_ADAPTERS)
	@sh tests/abi/run.sh $(B)
