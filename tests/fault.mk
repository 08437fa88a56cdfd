# SPDX-License-Identifier: Apache-2.0
# tests/unit/fault: the allocating functions pass through tests/unit/fault/fault.c, which makes them fail.
FAULT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/fault/*_test.c))
FAULT_WRAP := malloc calloc realloc reallocarray free strdup strndup vasprintf __vasprintf_chk cJSON_malloc cJSON_free
$(FAULT_BIN): $(B)/tests/unit/fault/fault.o
$(FAULT_BIN): private LDFLAGS_ALL += $(FAULT_WRAP:%=-Wl,--wrap=%)
$(B)/unit/fault/files_test: $(B)/tests/unit/kube/pki.o
