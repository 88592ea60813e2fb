# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

# Two commands need nothing else: `make run` and `make test` install what is missing, build and go on.

SWIFT ?= swift
STATE := .timerd
BINARIES := timerd timerd-runner timerctl
# Those of them that complete their arguments in a shell.
COMPLETED := timerd timerctl
# The Swift runtime is linked in, so that the binaries run where no Swift is; symbols stay out of them, also
# those that are there for plug-ins, of which there are none.
RELEASE := -c release --static-swift-stdlib -Xlinker -s -Xlinker --no-export-dynamic
PACKAGES := libsystemd-dev libsqlite3-dev libtomlplusplus-dev pkg-config g++
FORMATTED := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources

# Where things go: `make install DESTDIR=/tmp/x PREFIX=/usr UNITS=/lib/systemd/system`.
PREFIX ?= /usr/local
UNITS ?= $(PREFIX)/lib/systemd/system
USER_UNITS ?= $(PREFIX)/lib/systemd/user
ZSH ?= $(PREFIX)/share/zsh/site-functions
# The binaries that are installed, and where `make deb` leaves the package.
BIN ?= .build/release
DIST ?= dist

# The cases to run, such as CASES="next agenda"; none named are all. LONG=1 takes ten times as long.
CASES ?=

.PHONY: help run status build test test-library test-mutations test-systemd bench bench-guard docs format check-format setup clean \
    install uninstall deb check-deb

help:
	@echo 'make run           set up, build, and run the daemon here on config/timerd.toml'
	@echo 'make status        the table of its jobs, from another terminal'
	@echo 'make test          set up, build and test'
	@echo 'make test-library  the library PausableTimers at length: a client package, laws, threads, kills (15 minutes)'
	@echo 'make test-mutations  make mistakes in the core and in the order of a start, and see the tests catch each (half an hour)'
	@echo 'make test-systemd  test under a real systemd, in a container (needs root)'
	@echo 'make build         release binaries in .build/release/'
	@echo 'make deb           a Debian package, in dist/'
	@echo 'make check-deb     look it over with lintian'
	@echo 'make install       install what is built, below PREFIX=/usr/local and DESTDIR='
	@echo 'make uninstall     take it away again; the configuration and the accounts stay'
	@echo 'make bench         measure it beside its peers, into Benchmarks/RESULTS.md (45 minutes)'
	@echo 'make bench-guard   compare the instructions of the core'"'"'s paths with those recorded'
	@echo 'make docs          the documentation of the library, into .build/docs/'
	@echo 'make format        put the sources into the form CI demands'

# Debian's packages that are missing, and only those. Root installs them; others are told the command.
setup:
	@missing=; for package in $(PACKAGES); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
	        || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
	    if [ "$$(id -u)" = 0 ]; then sudo=; elif command -v sudo >/dev/null; then sudo=sudo; \
	    else echo "missing packages; as root: apt-get install$$missing" >&2; exit 1; fi; \
	    $$sudo apt-get update -q && \
	    DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -q -y --no-install-recommends $$missing; \
	fi
	@command -v $(SWIFT) >/dev/null || { echo 'no swift; see https://swift.org/install' >&2; exit 1; }

build: setup
	$(SWIFT) build $(RELEASE)

run: build
	@mkdir -p -m 700 $(STATE)
	exec .build/release/timerd run --config config/timerd.toml \
	    --state $(STATE)/state --runtime $(STATE)/run --log stderr

status:
	@.build/release/timerctl list --socket $(STATE)/run/control.sock

# The black-box suite takes about a minute and a half of real time, since it lets a job wait for a minute;
# the others come first, so that what is wrong is known soon.
test: setup
	$(SWIFT) build --build-tests $(SWIFTFLAGS)
	$(SWIFT) test --skip-build --skip LifeTests $(SWIFTFLAGS)
	$(SWIFT) test --skip-build --filter LifeTests $(SWIFTFLAGS)

test-library: setup
	Tests/Library/run

test-mutations: setup
	Tests/Mutations/run core
	Tests/Mutations/run shell

# One of its cases installs the package.
test-systemd: deb
	Tests/Machine/run .build/release

# What `install` writes, but for the configuration: files, and below them what they are made from.
share = $(DESTDIR)$(PREFIX)/share
lib = $(DESTDIR)$(PREFIX)/lib
units = $(notdir $(wildcard systemd/*.service systemd/*.socket systemd/*.slice systemd/*.target))
user_units = $(notdir $(wildcard systemd/user/*))
installed = $(BINARIES:%=$(DESTDIR)$(PREFIX)/bin/%) $(units:%=$(DESTDIR)$(UNITS)/%) \
    $(user_units:%=$(DESTDIR)$(USER_UNITS)/%) \
    $(lib)/sysusers.d/timerd.conf $(lib)/tmpfiles.d/timerd.conf $(lib)/systemd/catalog/timerd.catalog \
    $(foreach page,$(notdir $(wildcard man/*)),$(share)/man/man$(lastword $(subst ., ,$(page)))/$(page)) \
    $(COMPLETED:%=$(share)/bash-completion/completions/%) $(COMPLETED:%=$(DESTDIR)$(ZSH)/_%) \
    $(COMPLETED:%=$(share)/fish/vendor_completions.d/%.fish) $(share)/doc/timerd/examples/timerd.toml

# It builds nothing, so that root leaves no files of its own in .build.
install:
	@for binary in $(BINARIES); do [ -x $(BIN)/$$binary ] \
	    || { echo "no $$binary in $(BIN); make build first" >&2; exit 1; }; done
	install -d $(sort $(dir $(installed))) $(DESTDIR)/etc/timerd/jobs.d
	install -m 755 $(BINARIES:%=$(BIN)/%) $(DESTDIR)$(PREFIX)/bin/
	@# The units name the programs by their paths.
	@put() { sed 's|/usr/bin/timer|$(PREFIX)/bin/timer|' $$1 >$$2 && chmod 644 $$2; }; \
	for unit in $(units); do put systemd/$$unit $(DESTDIR)$(UNITS)/$$unit || exit 1; done; \
	for unit in $(user_units); do put systemd/user/$$unit $(DESTDIR)$(USER_UNITS)/$$unit || exit 1; done
	install -m 644 systemd/timerd.sysusers.conf $(lib)/sysusers.d/timerd.conf
	install -m 644 systemd/timerd.tmpfiles.conf $(lib)/tmpfiles.d/timerd.conf
	install -m 644 systemd/timerd.catalog $(lib)/systemd/catalog/timerd.catalog
	for page in man/*; do install -m 644 $$page $(share)/man/man$${page##*.}/ || exit 1; done
	@# bash reads its script and does not run it, so that one begins with no interpreter.
	umask 022 && for binary in $(COMPLETED); do \
	    script="$(BIN)/$$binary --generate-completion-script" \
	        && $$script bash | sed '1 { /^#!/ d }' >$(share)/bash-completion/completions/$$binary \
	        && $$script zsh >$(DESTDIR)$(ZSH)/_$$binary \
	        && $$script fish >$(share)/fish/vendor_completions.d/$$binary.fish || exit 1; done
	install -m 644 config/timerd.toml $(share)/doc/timerd/examples/timerd.toml
	@# What an administrator wrote stays.
	[ -e $(DESTDIR)/etc/timerd/timerd.toml ] \
	    || install -m 644 config/system.toml $(DESTDIR)/etc/timerd/timerd.toml
	@[ -n "$(DESTDIR)" ] || echo 'now: systemd-sysusers && journalctl --update-catalog &&' \
	    'systemctl daemon-reload && systemctl enable --now timerd'

uninstall:
	rm -f $(installed)
	-rmdir --ignore-fail-on-non-empty -p $(share)/doc/timerd/examples

deb: PACKAGES += debhelper
deb: build
	@mkdir -p $(DIST)
	DIST=$(DIST) DEB_RULES_REQUIRES_ROOT=no debian/rules binary
	dh_clean
	@ls -l $(DIST)/*.deb

check-deb: PACKAGES += lintian
check-deb: deb
	lintian --fail-on error,warning $(DIST)/timerd_*.deb

bench: build
	Benchmarks/run $(CASES)

bench-guard: PACKAGES += valgrind
bench-guard: setup
	Benchmarks/guard

# docc reads what the compiler tells of the library's symbols; a warning is an error.
DOCS := .build/docs
DOCC ?= $(dir $(realpath $(shell command -v $(SWIFT))))docc
docs: setup
	@rm -rf $(DOCS)/symbols && mkdir -p $(DOCS)/symbols
	$(SWIFT) build --scratch-path $(DOCS)/build --target PausableTimers \
	    -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc $(CURDIR)/$(DOCS)/symbols
	@rm -f $(DOCS)/symbols/Timekeeping*
	$(DOCC) convert Sources/PausableTimers/PausableTimers.docc --warnings-as-errors \
	    --fallback-display-name PausableTimers --fallback-bundle-identifier timerd.PausableTimers \
	    --additional-symbol-graph-dir $(DOCS)/symbols --output-path $(DOCS)/PausableTimers.doccarchive

format:
	$(SWIFT) format -i -r $(FORMATTED)

check-format:
	$(SWIFT) format lint --strict -r $(FORMATTED)

clean:
	rm -rf .build Benchmarks/.build $(STATE) $(DIST)
