# `make run` shows Corkboard at work, `make test` proves it. The rest is for those who build it.

CARGO ?= cargo

.PHONY: run test check nextest doc-test bench soak deny fixtures help

help:
	@echo "make run     build everything and run a commented tour of an agent's memory"
	@echo "make test    format, lints, every test, the documentation's examples"
	@echo "make bench   one table of ratios (README); needs valgrind"
	@echo "make soak    the crash and fault tests, for long"
	@echo "make deny    licences, bans and sources of all dependencies"

# Until the server exists: the tour.
run:
	$(CARGO) build --workspace
	$(CARGO) run --quiet --package corkboard --example tour

test: nextest check doc-test

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features --quiet -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --all-features --quiet

nextest:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest
	$(CARGO) nextest run --workspace --all-features

doc-test:
	$(CARGO) test --workspace --all-features --doc --quiet

bench:
	@command -v valgrind >/dev/null || { echo "make bench counts instructions with valgrind: install it first" >&2; exit 1; }
	$(CARGO) bench --quiet --package corkboard --bench table

# Rounds of the tests that rest on chance: kills, faults, contention, random histories.
ROUNDS ?= 20
soak:
	PROPTEST_CASES=2000 $(CARGO) nextest run --package corkboard-core --all-features
	for round in $$(seq $(ROUNDS)); do \
	  $(CARGO) nextest run --workspace --all-features -E 'test(kill) | test(process) | test(acknowledged) | test(shells) | test(race) | test(contended)' || exit 1; \
	done

deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check licenses bans sources
