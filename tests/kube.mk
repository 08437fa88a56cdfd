# SPDX-License-Identifier: Apache-2.0
# Certificates and a server for the tests of core/kube that go over the network.
KUBE_HELP := $(patsubst %,$(B)/tests/unit/kube/%.o,pki tls_server net_world)
KUBE_HELPED := $(patsubst %,$(B)/unit/kube/%_test,curl_transport curl_cancel curl_limits curl_trust loop kubeconfig endpoint)
$(KUBE_HELPED): $(KUBE_HELP)
$(KUBE_HELPED): private LIBS += -lssl
