# `make run` starts Corkboard, `make test` runs every test. `make help` lists the other targets.

CARGO ?= cargo

.PHONY: run tour test check openapi examples built nextest remote schemathesis clients mcp servers doc-test bench soak deny help

help:
	@echo "make run        build cork and serve a SQLite store (STORE, default ./corkboard.db); Ctrl-C stops it"
	@echo "make tour       run a commented tour in Rust: an agent's memory, a board, a memory core"
	@echo "make test       run every test, with PostgreSQL and Redis, and the documentation's examples"
	@echo "make clients    generate a TypeScript and a Python client and use them"
	@echo "make mcp        test the MCP server with official clients and the public conformance suite"
	@echo "make check      check formatting, lints and links in the API documentation"
	@echo "make examples   update the example answers in the HTTP description, after a change to answers"
	@echo "make openapi    update the HTTP description (openapi.json), after a change to the routes"
	@echo "make bench      print benchmark tables (docs/benchmarks.md); needs valgrind"
	@echo "make soak       run the crash and fault tests many times, with new random values"
	@echo "make deny       check licences, bans and sources of all dependencies"

# The store that `make run` serves.
STORE ?= sqlite:corkboard.db

run:
	$(CARGO) build --package corkboard-cli
	@exec $${CARGO_TARGET_DIR:-target}/debug/cork --store "$(STORE)" serve

tour:
	$(CARGO) run --quiet --package corkboard --example tour

test: nextest remote schemathesis clients mcp doc-test

# Format, lints, and links in the API documentation.
check:
	$(CARGO) fmt --all --check
	$(CARGO) check --package corkboard-core --quiet
	$(CARGO) check --package corkboard --quiet
	$(CARGO) clippy --workspace --all-targets --all-features --quiet -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --all-features --quiet

# Collects example answers from a real server.
examples:
	CORK_WRITE_FIXTURES=1 $(CARGO) test --quiet --package corkboard-server --all-features --test http every_example_of_an_answer
	$(MAKE) openapi

openapi:
	CORK_WRITE_FIXTURES=1 $(CARGO) test --quiet --package corkboard-server --lib the_description_that_is_served

# One build serves every target below, with the same packages and features.
TESTS = --workspace --all-features --tests

built:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest
	$(CARGO) nextest run $(TESTS) --no-run

nextest: built servers
	$(WITH_SERVERS) $(CARGO) nextest run $(TESTS)

# The command line's tests again, with every command sent to a server (`.config/nextest.toml` selects the tests).
remote: built
	CORK_TEST_REMOTE=1 $(CARGO) nextest run --profile remote $(TESTS)

# Runs a command with a temporary PostgreSQL and Redis on free ports.
WITH_SERVERS = $${CARGO_TARGET_DIR:-target}/debug/test-servers

# Installs the servers that tests start. Starts none.
servers:
	@sh scripts/install-servers.sh

# Sends random valid and invalid requests, generated from the HTTP description. No answer may be a 5xx or undocumented.
SECONDS_OF_SCHEMATHESIS ?= 90
# A fixed seed, so that a run without changes finds nothing new. `make soak` uses random seeds.
SEED_OF_SCHEMATHESIS ?= --seed 1
schemathesis: built
	sh scripts/schemathesis.sh $(SECONDS_OF_SCHEMATHESIS) $(SEED_OF_SCHEMATHESIS)

# Clients for TypeScript and Python, generated from the description and used (crates/corkboard-server/tests/clients).
clients: built servers
	sh scripts/clients.sh

# The MCP server, as other people's programs see it (crates/corkboard-server/tests/mcp).
mcp: built
	sh scripts/mcp.sh

doc-test:
	$(CARGO) test --workspace --all-features --doc --quiet

bench: servers
	@command -v valgrind >/dev/null || { echo "make bench counts instructions with valgrind: install it first" >&2; exit 1; }
	$(CARGO) bench --quiet --package corkboard --package corkboard-testing --bench table --bench servers --bench redis
	$(CARGO) bench --quiet --profile release --package corkboard-cli --bench server

# Repeats the randomized tests: kills, faults, contention, random histories. `make test` uses the same random values in
# every run (.cargo/config.toml). A soak uses new ones and prints their seed.
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
