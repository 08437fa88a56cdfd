# SPDX-License-Identifier: Apache-2.0
## make install   into PREFIX (default /usr/local), below DESTDIR if that is given
DESTDIR ?=
INSTALL ?= install
DOC_DIR := $(PREFIX)/share/doc/wharf
MANIFESTS := $(wildcard etc/kubernetes/*.yaml)

$(B)/wharf-adapter.pc: etc/wharf-adapter.pc.in $(B)/adapter-dir Makefile
	sed 's|@PREFIX@|$(PREFIX)|g; s|@VERSION@|$(VERSION)|g' $< > $@

$(B)/wharf.service: etc/wharf.service.in $(B)/adapter-dir Makefile
	sed 's|@PREFIX@|$(PREFIX)|g' $< > $@

$(B)/wharf.yaml: etc/wharf.yaml $(B)/adapter-dir Makefile
	sed 's|/usr/lib/wharf/adapters|$(ADAPTER_DIR)|g' $< > $@

.PHONY: install
install: all $(B)/wharf-adapter.pc $(B)/wharf.service $(B)/wharf.yaml
	$(INSTALL) -d $(addprefix '$(DESTDIR)$(PREFIX)'/,bin lib/wharf/adapters lib/pkgconfig lib/systemd/system include/wharf share/doc/wharf/kubernetes)
	$(INSTALL) -m 755 $(B)/wharf '$(DESTDIR)$(PREFIX)/bin/wharf'
	$(INSTALL) -m 644 $(ADAPTERS) '$(DESTDIR)$(ADAPTER_DIR)/'
	$(INSTALL) -m 644 include/wharf/adapter.h '$(DESTDIR)$(PREFIX)/include/wharf/adapter.h'
	$(INSTALL) -m 644 $(B)/wharf-adapter.pc '$(DESTDIR)$(PREFIX)/lib/pkgconfig/wharf-adapter.pc'
	$(INSTALL) -m 644 $(B)/wharf.service '$(DESTDIR)$(PREFIX)/lib/systemd/system/wharf.service'
	$(INSTALL) -m 644 $(B)/wharf.yaml LICENSE '$(DESTDIR)$(DOC_DIR)/'
	$(INSTALL) -m 644 $(MANIFESTS) '$(DESTDIR)$(DOC_DIR)/kubernetes/'
