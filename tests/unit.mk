# SPDX-License-Identifier: Apache-2.0
## make unit      unit tests (cmocka): tests/unit/<folder>/<name>_test.c, one program each
UNIT_SRC := $(wildcard tests/unit/*/*_test.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)

$(B)/unit/%: tests/unit/%.c $(B)/core.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -MF $@.d -o $@ $< $(B)/core.a $(LDFLAGS_ALL) $(LIBS) -lcmocka

.PHONY: unit
unit: $(UNIT_BIN) $(ADAPTERS)
	@fail=0; for t in $(UNIT_BIN); do $$t || fail=1; done; exit $$fail

# Certificates and a server for the tests of core/kube that go over the network.
KUBE_HELP := $(B)/tests/unit/kube/pki.o $(B)/tests/unit/kube/tls_server.o
KUBE_HELPED := $(patsubst %,$(B)/unit/kube/%_test,curl_transport loop kubeconfig endpoint)
$(KUBE_HELPED): $(KUBE_HELP)
$(KUBE_HELPED): private LIBS := $(KUBE_HELP) -lssl $(LIBS)
