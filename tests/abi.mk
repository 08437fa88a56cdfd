# SPDX-License-Identifier: Apache-2.0
## make abi       the ABI of adapters: its header in C and C++, its layout, what was promised with 1.0; adapters of then
TEST_TARGETS += abi
ABI_FROZEN := tests/abi/wharf-1.0/adapter.h
ABI_TESTS := $(B)/abi/load_test $(B)/abi/drive_test $(B)/abi/drive_test_grown
ABI_ADAPTERS := $(foreach header,frozen grown,$(foreach name,full data,$(B)/abi/$(header)/$(name).so)) $(B)/abi/grown/minor.so
ABI_HOST := $(patsubst %.c,$(B)/abi/grown/%.o,$(shell grep -slE '"core/(adapter|engine|host)/|<wharf/' core/adapter/*.c core/adapter/*/*.c core/engine/*.c core/engine/*/*.c core/host/*.c core/host/*/*.c))

$(ABI_TESTS): private LIBS += -lcmocka
$(B)/abi/load_test $(B)/abi/drive_test: $(B)/abi/%: $(B)/tests/abi/%.o
$(B)/abi/drive_test_grown: $(B)/abi/grown/tests/abi/drive_test.o $(ABI_HOST)
$(ABI_TESTS): $(B)/core.a
	$(link)

# The header of 1.0, and that of a host that is newer: every struct that may grow has grown.
$(B)/abi/frozen/wharf/adapter.h: $(ABI_FROZEN)
	@mkdir -p $(@D)
	@cp $< $@

$(B)/abi/grown/wharf/adapter.h: include/wharf/adapter.h tests/abi/headers.py
	@mkdir -p $(@D)
	@python3 -B tests/abi/headers.py write grown $< $@

# The newer host: what of the core knows the header, and the test, built with it.
$(B)/abi/grown/%.o: private CPPFLAGS_ALL := -DGROWN -I$(B)/abi/grown $(CPPFLAGS_ALL)
$(B)/abi/grown/%.o: private CFLAGS_ALL += -O0 -U_FORTIFY_SOURCE
$(B)/abi/grown/%.o: %.c $(B)/abi/grown/wharf/adapter.h
	$(compile)

# Adapters built with each; minor.so says that it needs the newer host.
$(filter $(B)/abi/frozen/%,$(ABI_ADAPTERS)): $(B)/abi/frozen/%.so: tests/abi/%.c $(B)/abi/frozen/wharf/adapter.h
$(filter-out %/minor.so,$(filter $(B)/abi/grown/%,$(ABI_ADAPTERS))): $(B)/abi/grown/%.so: tests/abi/%.c $(B)/abi/grown/wharf/adapter.h
$(B)/abi/grown/minor.so: tests/abi/full.c $(B)/abi/grown/wharf/adapter.h
$(B)/abi/frozen/%.so: private ADAPTER_FLAGS := -Wpedantic -I$(B)/abi/frozen $(ADAPTER_FLAGS)
$(B)/abi/grown/%.so: private ADAPTER_FLAGS := -Wpedantic -DNEWER -I$(B)/abi/grown $(ADAPTER_FLAGS)
$(B)/abi/grown/minor.so: private ADAPTER_FLAGS += -UNEWER
$(ABI_ADAPTERS):
	$(link_adapter)

.PHONY: abi
abi-programs: $(ABI_TESTS) $(ABI_ADAPTERS) $(B)/wharf-adapter
abi: abi-programs
	@sh tests/abi/run.sh $(B)
