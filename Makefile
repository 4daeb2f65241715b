# `make run` starts Corkboard, `make test` proves it. The rest is for those who build it.

CARGO ?= cargo

.PHONY: run tour test check openapi examples built nextest remote schemathesis clients servers doc-test bench soak deny help

help:
	@echo "make run     build cork and serve a SQLite store (STORE, by default corkboard.db here); Ctrl-C ends it"
	@echo "make tour    a commented tour, from Rust: an agent's memory, a board, a memory core"
	@echo "make test    every test, with PostgreSQL and Redis, and the documentation's examples"
	@echo "make clients generate a TypeScript and a Python client and use them"
	@echo "make check   format, lints, links in the documentation"
	@echo "make examples  collect the examples of answers in that description anew, after a change to what is answered"
	@echo "make openapi write the description of the HTTP interface anew, after a change to the routes"
	@echo "make bench   tables of ratios (docs/benchmarks.md); needs valgrind"
	@echo "make soak    the crash and fault tests, for long"
	@echo "make deny    licences, bans and sources of all dependencies"

# Where `make run` keeps what it is told.
STORE ?= sqlite:corkboard.db

run:
	$(CARGO) build --package corkboard-cli
	@exec $${CARGO_TARGET_DIR:-target}/debug/cork --store "$(STORE)" serve

tour:
	$(CARGO) run --quiet --package corkboard --example tour

test: nextest remote schemathesis clients doc-test

# Format, lints, and a documentation without broken links.
check:
	$(CARGO) fmt --all --check
	$(CARGO) check --package corkboard-core --quiet
	$(CARGO) clippy --workspace --all-targets --all-features --quiet -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --all-features --quiet

# Examples of answers, as a server gives them.
examples:
	CORK_WRITE_FIXTURES=1 $(CARGO) test --quiet --package corkboard-server --all-features --test http every_example_of_an_answer
	$(MAKE) openapi

openapi:
	CORK_WRITE_FIXTURES=1 $(CARGO) test --quiet --package corkboard-server --lib the_description_that_is_served

# One build serves every target below: the same packages with the same features.
TESTS = --workspace --all-features --tests

built:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest
	$(CARGO) nextest run $(TESTS) --no-run

nextest: built servers
	$(WITH_SERVERS) $(CARGO) nextest run $(TESTS)

# The command line's tests again, with every command sent to a server (`.config/nextest.toml` says which).
remote: built
	CORK_TEST_REMOTE=1 $(CARGO) nextest run --profile remote $(TESTS)

# A PostgreSQL and a Redis for the tests, on free ports, for as long as the command runs.
WITH_SERVERS = $${CARGO_TARGET_DIR:-target}/debug/test-servers

# Installs the servers that tests start. Starts none.
servers:
	@sh scripts/install-servers.sh

# Whatever the description of the server's routes allows, and what it does not: no 5xx, and no answer that is not described.
SECONDS_OF_SCHEMATHESIS ?= 90
# The same requests in the same order, so that who changed nothing finds nothing new; `make soak` looks further.
SEED_OF_SCHEMATHESIS ?= --seed 1
schemathesis: built
	sh scripts/schemathesis.sh $(SECONDS_OF_SCHEMATHESIS) $(SEED_OF_SCHEMATHESIS)

# Clients for TypeScript and Python, generated from the description and used (crates/corkboard-server/tests/clients).
clients: built servers
	sh scripts/clients.sh

doc-test:
	$(CARGO) test --workspace --all-features --doc --quiet

bench: servers
	@command -v valgrind >/dev/null || { echo "make bench counts instructions with valgrind: install it first" >&2; exit 1; }
	$(CARGO) bench --quiet --package corkboard --package corkboard-testing --bench table --bench servers --bench redis
	$(CARGO) bench --quiet --profile release --package corkboard-cli --bench server

# Rounds of the tests that rest on chance: kills, faults, contention, random histories. `make test` draws the same random
# values in every run (.cargo/config.toml), a soak draws new ones and prints their seed.
ROUNDS ?= 20
SOAK_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d " ")
soak: export CORK_TEST_SEED = $(SOAK_SEED)
soak: export PROPTEST_RNG_SEED = $(SOAK_SEED)
soak: built servers
	@echo "Random values come from CORK_TEST_SEED=$(SOAK_SEED) PROPTEST_RNG_SEED=$(SOAK_SEED)"
	PROPTEST_CASES=2000 $(CARGO) nextest run $(TESTS) -E 'package(corkboard-core)'
	CORK_CORE_ENTRIES=100000 $(CARGO) nextest run $(TESTS) -E 'test(a_large_core)'
	for round in $$(seq $(ROUNDS)); do \
	  $(WITH_SERVERS) env CORK_SOAK_ROUNDS=10 CORK_TEST_SEED=$$(($(SOAK_SEED) + round)) $(CARGO) nextest run $(TESTS) -E 'test(kill) | test(process) | test(acknowledged) | test(shells) | test(race) | test(contended) | test(crash) | test(network) | test(connections)' || exit 1; \
	done
	CORK_SOAK_ROUTES=1 $(CARGO) nextest run $(TESTS) --no-capture -E 'test(every_route_withstands)'
	$(MAKE) schemathesis SECONDS_OF_SCHEMATHESIS=1800 SEED_OF_SCHEMATHESIS=

deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check licenses bans sources
