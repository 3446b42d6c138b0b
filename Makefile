# `make` alone prints what there is. Names with ## are for people, the others
# are the steps of `make test`, which can also be called one by one.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The lint tool is not in go.mod, so that its hundreds of modules are not ours.
GOLANGCI_VERSION := v2.14.0
GOLANGCI := .tools/golangci-lint-$(GOLANGCI_VERSION)

# One way to compile, so that run, build, lint and the tests share what they compiled.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS = -s -w -X github.com/lineshaft/lineshaft/internal/cli.version=$(VERSION)

GOTEST := go run ./scripts/gotest
STEP := @scripts/step

# Recipes that start a server use exec: a signal to make then reaches the
# script that stops it.

# Programs that are started as users start them take minutes; make test has those.
FAST = $(shell go list ./... | grep -vE '/(e2e|bench|tests)(/|$$)')
# How long `make fuzz` stays with each target.
FUZZTIME ?= 30s
# How many inputs of each target testdata has at most, so that every test tries them.
FUZZKEEP ?= 10

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start a server here, with its data in ./lineshaft-data.
	@echo "building (the first time takes a minute) …"
	@$(MAKE) build
	@exec bin/lineshaft serve

.PHONY: build
build: ## Build the static binary bin/lineshaft.
	@go build -ldflags "$(LDFLAGS)" -o bin/lineshaft ./cmd/lineshaft

.PHONY: test
test: ## Checks, both engines, e2e, an agent, SDKs, senders, own clients, browser. Installs what is missing.
	$(STEP) "install what is missing" scripts/install-deps
	$(STEP) "install the lint tool" $(MAKE) $(GOLANGCI)
	@scripts/checks
	@exec env LINESHAFT_BIN=$(CURDIR)/bin/lineshaft scripts/with-postgres --no-fsync scripts/suites

.PHONY: test-fast
test-fast: ## Go tests of the packages on SQLite, for the inner loop. PKG=./internal/x/... narrows it.
	@env -u LINESHAFT_TEST_FULL -u LINESHAFT_TEST_POSTGRES -u LINESHAFT_SOAK $(GOTEST) $(or $(PKG),$(FAST))

# With LINESHAFT_TEST_KUBERNETES=FOLDER, what scripts/kubernetes-control-plane FOLDER
# built, this and `make test` also use a real Kubernetes control plane.
.PHONY: soak
soak: build ## All rounds of the long tests, in parts; takes a day. PART="rolling store" runs some; scripts/soak --list names them.
	$(STEP) "install what is missing" scripts/install-deps --all
	$(STEP) "install the agents that are tested" tests/agents/install
	@exec env LINESHAFT_BIN=$(CURDIR)/bin/lineshaft scripts/soak $(PART)

# CONTRIBUTING.md says what is in which.
.PHONY: test-all
test-all: build ## What `make test` leaves out: race detector, every agent and SDK version, fault rounds, fuzzing.
	$(STEP) "install what is missing" scripts/install-deps --all
	$(STEP) "install the agents that are tested" tests/agents/install
	@exec env LINESHAFT_BIN=$(CURDIR)/bin/lineshaft scripts/with-postgres --no-fsync scripts/suites-all

# Each call is one part with a seed of its own; the report has all of them.
MINUTES ?= 10
ENGINE ?= sqlite
SEED ?= 0
.PHONY: faults
faults: build ## Make faults for MINUTES=10 on ENGINE=sqlite or postgres; any broken promise fails it. Adds to docs/fault-report.md.
	$(STEP) "install what is missing" scripts/install-deps --all
	@mkdir -p bin && go build -o bin/faults ./e2e/faults
	@exec bin/faults -engine $(ENGINE) -minutes $(MINUTES) -seed $(SEED) -parts e2e/faults/parts -report docs/fault-report.md

# CI has no commits but its own; this needs those of tests/upgrade/make.
.PHONY: neighbours
neighbours: build ## Run the version before beside this one, servers and workers, under load.
	@before=$$(OLD_PROGRAMS=bin tests/upgrade/make program) && \
		exec env CI=true LINESHAFT_TEST_FULL=1 LINESHAFT_BIN=$(CURDIR)/bin/lineshaft LINESHAFT_BIN_BEFORE=$$before \
		scripts/with-postgres --no-fsync go test -count=1 -timeout 20m -v ./e2e -run 'TestD3VersionsSideBySide|TestD3WorkersOfTheOtherVersion'

# EXAMPLES=700 makes 100,000 requests of it.
EXAMPLES ?= 0
.PHONY: contract
contract: build ## Hold the OpenAPI document against a server with schemathesis; any finding fails it. EXAMPLES=20 adds random requests.
	@exec env LINESHAFT_CONTRACT_EXAMPLES=$(EXAMPLES) LINESHAFT_BIN=$(CURDIR)/bin/lineshaft tests/openapi/run

.PHONY: fuzz
fuzz: ## Fuzz every target in turn, FUZZTIME=30s each; FUZZKEEP=10 new inputs of each are kept in testdata.
	@exec env LINESHAFT_FUZZ_KEEP=$(FUZZKEEP) scripts/fuzz $(FUZZTIME) $(FUZZ)

.PHONY: bench
bench: ## Run the benchmark program on both engines.
	@exec scripts/with-postgres go run ./bench

.PHONY: bench-quick
bench-quick: ## The same in minutes: each benchmark at a size where its ratio holds.
	@exec scripts/with-postgres go run ./bench -quick

.PHONY: bench-compare
bench-compare: ## Compare the two newest results: better, same or worse.
	@go run ./bench compare

.PHONY: figures
figures: ## Take the figures of docs/benchmarks.md over into the pages that cite them and into the model of a fleet.
	@go test ./internal/house -count=1 -run HouseFigures -update
	@go test ./bench/fleet -count=1 -run ScalingPage -update

.PHONY: counts
counts: ## Count the house: lines, packages, what use cases reach, files that a field touches.
	@go test ./internal/house -run 'Counts|Reach|AField' -count=1 -v | grep '_test.go:'

.PHONY: lint
lint: $(GOLANGCI) ## Run the linters of .golangci.yml and the table of words in docs/glossary.md.
	@go test -count=1 ./internal/house -run I7Words
	@$(GOLANGCI) run ./...
	@$(GOLANGCI) fmt --diff $$(go list -f '{{$$dir := .Dir}}{{range .IgnoredGoFiles}}{{$$dir}}/{{.}} {{end}}' ./...) || { echo "run: make fmt" >&2; exit 1; } # those of other systems

.PHONY: fmt
fmt: $(GOLANGCI) ## Format all Go files.
	@$(GOLANGCI) fmt ./...

.PHONY: generate
generate: ## Write the generated files again: api/openapi.yaml, client/*_gen.go.
	@mkdir -p api
	@go run ./cmd/lineshaft openapi >api/openapi.yaml.new
	@mv api/openapi.yaml.new api/openapi.yaml
	@go run ./scripts/clienttypes

.PHONY: man
man: build ## Write the manual pages to bin/man and the completions to bin/completions.
	@bin/lineshaft docs man --dir bin/man
	@mkdir -p bin/completions
	@for shell in bash zsh fish powershell; do bin/lineshaft completion $$shell >bin/completions/lineshaft.$$shell; done

.PHONY: docs
docs: build ## Write the documentation as static files to bin/docs; a server shows it at /docs.
	@bin/lineshaft docs html --dir bin/docs

.PHONY: release
release: ## Build what is published into bin/release: programs, .deb, checksums, SBOM. The same commit gives the same bytes.
	@scripts/release $(VERSION) bin/release

.PHONY: screens
screens: ## Take the pictures in docs/screens again, with Chromium.
	@exec e2e/browser/screens

.PHONY: clean
clean: ## Remove what the build and the tests made; .tools stays.
	@rm -rf bin coverage.out api/openapi.yaml.new e2e/browser/test-results

# Steps of `make test` and `make test-all`.

.PHONY: cross
cross:
	@GOOS=darwin GOARCH=arm64 go vet ./cmd/... ./client/...
	@GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/lineshaft

.PHONY: generate-check
generate-check: build
	@bin/lineshaft openapi | diff -u api/openapi.yaml - || { echo "run: make generate" >&2; exit 1; }
	@go run ./scripts/clienttypes --check

# Named with its version, so that another version is another file.
$(GOLANGCI):
	@mkdir -p .tools
	@GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .tools/golangci-lint $@
