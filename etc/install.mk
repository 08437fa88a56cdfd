# SPDX-License-Identifier: Apache-2.0
## make install   program, adapters, header, manual pages, documents: into PREFIX (/usr/local), below DESTDIR if given
DESTDIR ?=
INSTALL ?= install
DOC_DIR := $(PREFIX)/share/doc/wharf
MAN_DIR := $(PREFIX)/share/man
DOCS := README.md CHANGELOG.md CONTRIBUTING.md $(wildcard docs/*.md)
# Rewrites links for $(DOC_DIR), which has all documents side by side; tests/authors follows each link.
RELINK := s|](\.\./|](|g; s|](docs/|](|g; s|](include/|](../../../include/|g; \
	s|](etc/wharf\.service\.in)|](../../../lib/systemd/system/wharf.service)|g; s|](etc/|](|g
MANIFESTS := $(wildcard etc/kubernetes/*.yaml)
# Installed under their paths below etc/; symlinks in the chart become files.
DEPLOY := $(sort $(shell find etc/overlays etc/helm etc/prometheus etc/grafana ! -type d))
DEPLOY_DIRS := $(sort $(patsubst etc/%/,%,$(dir $(DEPLOY))))
EXAMPLE_DIRS := $(sort $(dir $(wildcard examples/* examples/*/* examples/*/*/*)))
EXAMPLES := $(wildcard $(foreach suffix,yaml c cc rs md,$(EXAMPLE_DIRS:%=%*.$(suffix))) $(EXAMPLE_DIRS:%=%Makefile))
INSTALL_DIRS := bin share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d libexec/wharf lib/wharf/adapters lib/pkgconfig lib/systemd/system include/wharf share/man/man1 share/man/man3 \
	share/doc/wharf/kubernetes $(DEPLOY_DIRS:%=share/doc/wharf/%) $(patsubst %/,share/doc/wharf/%,$(EXAMPLE_DIRS))

$(B)/wharf-adapter.pc: etc/wharf-adapter.pc.in $(B)/adapter-dir Makefile
	sed 's|@PREFIX@|$(PREFIX)|g; s|@VERSION@|$(VERSION)|g' $< > $@

$(B)/wharf.service: etc/wharf.service.in $(B)/adapter-dir Makefile
	sed 's|@PREFIX@|$(PREFIX)|g' $< > $@

# The documents are beside the installed file.
$(B)/wharf.yaml: etc/wharf.yaml $(B)/adapter-dir Makefile etc/install.mk
	sed 's|/usr/lib/wharf/adapters|$(ADAPTER_DIR)|g; s|docs/\([a-z]*\.md\)|\1|g' $< > $@

# A page of each command, from the tables of its flags.
$(B)/man/made: $(B)/wharf etc/man/wharf.1 etc/man/overview.awk
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$(B)/wharf help --man $(@D)
	awk -f etc/man/overview.awk $(@D)/wharf-*.1 etc/man/wharf.1 > $(B)/overview.1
	mv $(B)/overview.1 $(@D)/wharf.1
	@touch $@

.PHONY: install uninstall
install: all $(B)/wharf-sandbox $(B)/wharf-adapter.pc $(B)/wharf.service $(B)/wharf.yaml $(B)/man/made
	$(INSTALL) -d $(addprefix '$(DESTDIR)$(PREFIX)'/,$(INSTALL_DIRS))
	$(INSTALL) -m 755 $(B)/wharf '$(DESTDIR)$(PREFIX)/bin/wharf'
	@for name in kubectl-wharf kubectl_complete-wharf; do ln -sf wharf '$(DESTDIR)$(PREFIX)/bin/'"$$name"; done
	$(B)/wharf completion bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/wharf'
	$(B)/wharf completion zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_wharf'
	$(B)/wharf completion fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/wharf.fish'
	$(INSTALL) -m 755 $(B)/wharf-conformance '$(DESTDIR)$(PREFIX)/libexec/wharf/wharf-conformance'
	$(INSTALL) -m 755 $(B)/wharf-adapter '$(DESTDIR)$(PREFIX)/libexec/wharf/wharf-adapter'
	$(INSTALL) -m 755 $(B)/wharf-sandbox '$(DESTDIR)$(PREFIX)/bin/wharf-sandbox'
	$(INSTALL) -m 644 $(ADAPTERS) '$(DESTDIR)$(ADAPTER_DIR)/'
	$(INSTALL) -m 644 include/wharf/adapter.h '$(DESTDIR)$(PREFIX)/include/wharf/adapter.h'
	$(INSTALL) -m 644 $(B)/wharf-adapter.pc '$(DESTDIR)$(PREFIX)/lib/pkgconfig/wharf-adapter.pc'
	$(INSTALL) -m 644 $(B)/wharf.service '$(DESTDIR)$(PREFIX)/lib/systemd/system/wharf.service'
	$(INSTALL) -m 644 $(B)/man/*.1 '$(DESTDIR)$(MAN_DIR)/man1/'
	$(INSTALL) -m 644 etc/man/wharf-sandbox.1 '$(DESTDIR)$(MAN_DIR)/man1/wharf-sandbox.1'
	$(INSTALL) -m 644 etc/man/wharf-adapter.3 '$(DESTDIR)$(MAN_DIR)/man3/wharf-adapter.3'
	$(INSTALL) -m 644 $(B)/wharf.yaml LICENSE '$(DESTDIR)$(DOC_DIR)/'
	$(INSTALL) -m 644 $(MANIFESTS) '$(DESTDIR)$(DOC_DIR)/kubernetes/'
	@for file in $(DOCS); do sed '$(RELINK)' "$$file" > $(B)/document && \
		$(INSTALL) -m 644 $(B)/document '$(DESTDIR)$(DOC_DIR)'/"$$(basename "$$file")" || exit 1; done
	@for file in $(DEPLOY:etc/%=%); do $(INSTALL) -m 644 "etc/$$file" '$(DESTDIR)$(DOC_DIR)'/"$$file" || exit 1; done
	$(INSTALL) -m 644 docs/page.png '$(DESTDIR)$(DOC_DIR)/'
	@for file in $(EXAMPLES); do $(INSTALL) -m 644 "$$file" '$(DESTDIR)$(DOC_DIR)'/"$$file" || exit 1; done

## make uninstall removes the files of `make install`, with the same PREFIX and DESTDIR; other adapters and folders stay
UNINSTALL := $(abspath $(B))/uninstall
uninstall:
	@rm -rf '$(UNINSTALL)'
	+@$(MAKE) --no-print-directory install DESTDIR='$(UNINSTALL)' > $(B)/uninstall.log 2>&1 || { cat $(B)/uninstall.log; exit 1; }
	@cd '$(UNINSTALL)$(PREFIX)' && find . ! -type d | while read -r file; do rm -f '$(DESTDIR)$(PREFIX)'/"$$file" || exit 1; done
	@cd '$(UNINSTALL)$(PREFIX)' && find . -depth -mindepth 1 -type d \( -path '*/wharf' -o -path '*/wharf/*' \) | \
		while read -r folder; do rmdir '$(DESTDIR)$(PREFIX)'/"$$folder" 2>/dev/null || :; done
	@rm -rf '$(UNINSTALL)'
