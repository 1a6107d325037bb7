# Every target says in one line what it does: `make help` prints them.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
GO          ?= go
ARCH        ?= $(shell $(GO) env GOARCH)
IMAGE       ?= sluice:dev
FUZZTIME    ?= 60s
BENCH       ?= .
BENCHTIME   ?= 1s
# How much of the comparison is measured (less than all: .cache/bench), or BASE, an earlier binary to compare with.
ROWS        :=
PROXIES     :=
ROUNDS      := 3
SECONDS     := 3
OUT         :=
# What is measured in a cluster follows the comparison, but for a part of that (yes, no or only). GATEWAY, INGRESS: full or small, alone.
KUBERNETES  := $(if $(ROWS)$(PROXIES)$(OUT)$(BASE),no,yes)
SIZES       := 1000 5000 20000
CHURN       := 10m
# The commit goes into the binary wherever git can name it (a tarball or a foreign checkout has none).
VCS         := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false)
BUILD       := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=$(VCS) -ldflags '-s -w'
# The modules that are linted: this one, the libraries for applications, and the conformance tests.
MODULES     := . $(dir $(wildcard sdk/*/go.mod sdk/*/*/go.mod)) integration/conformance
SUMMARY     := $(GO) build -o .cache/bin/testsummary ./integration/testsummary && TEST_SLUICE=$(CURDIR)/dist/sluice exec .cache/bin/testsummary

.DEFAULT_GOAL := help
.PHONY: help build run test unit integration conformance lint fmt generate fuzz bench microbench image release docs clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build dist/sluice
	@$(BUILD) -o dist/sluice ./cmd/sluice

run: build ## Start Sluice on deploy/examples/quickstart with three endpoints; Ctrl-C stops all of it
	@exec deploy/examples/quickstart/run.sh dist/sluice

test: build ## Run every test; the last line is "N passed, N failed, N skipped"
	@.ci/tools test
	@$(SUMMARY)

unit: ## Run the unit tests alone, under the race detector
	@.ci/tools unit
	@$(SUMMARY) -only unit

integration: build ## Run the integration tests alone
	@.ci/tools test
	@$(SUMMARY) -only integration

conformance: build ## Run the Gateway API's conformance tests (CHANNEL: experimental or standard; TESTS: more flags); reports go to dist/conformance
	@CHANNEL='$(or $(CHANNEL),experimental)' .ci/conformance $(TESTS)

lint: ## Run the linters and check that go.mod is tidy
	@.ci/tools lint
	@for module in $(MODULES); do (cd $$module; CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -pgo=off" $(CURDIR)/.cache/bin/golangci-lint run ./...; $(GO) mod tidy -diff); done

fmt: ## Format the Go files as the linters want them
	@.ci/tools lint
	@for module in $(MODULES); do (cd $$module; $(CURDIR)/.cache/bin/golangci-lint fmt ./...); done

generate: ## Make the CRDs and rules (in deploy and the chart), deep copies, the DNS providers and the reference pages from Go code
	@.ci/tools generate
	@$(GO) run ./provider/kubernetes/crd/v1alpha1/generate && $(GO) run ./certificate/dnsprovider/generate && $(GO) test ./middleware ./static ./integration/reference ./provider/gotemplate ./provider/kubernetes/ingressnginx/annotation -run 'Documentation|Reference' -update >/dev/null
	@rm -rf deploy/helm/sluice/crds && cp -R deploy/crds deploy/helm/sluice/crds && rm deploy/helm/sluice/crds/kustomization.yaml
	@cp deploy/prometheus/rules.yaml deploy/helm/sluice/rules.yaml

fuzz: ## Run every fuzz target for FUZZTIME (60s), then look for the planted bugs
	@FUZZTIME=$(FUZZTIME) .ci/fuzz

bench: build ## Compare with nginx, haproxy and caddy, HTTP, TCP and UDP (ROWS, PROXIES, ROUNDS, SECONDS, OUT) or with an earlier binary (BASE), then KUBERNETES (yes, no or only; SIZES, CHURN, PARTS); or repeat the benchmark of the Gateway API (GATEWAY: full or small; PARTS) or of Ingresses of ingress-nginx (INGRESS)
	@[ '$(KUBERNETES)' = only ] || [ -n '$(GATEWAY)$(INGRESS)' ] || .ci/bench -rows '$(ROWS)' -proxies '$(PROXIES)' -rounds '$(ROUNDS)' -seconds '$(SECONDS)' -out '$(OUT)' -base '$(BASE)'
	@[ '$(KUBERNETES)' = no ] && [ -z '$(GATEWAY)$(INGRESS)' ] || GATEWAY='$(GATEWAY)' INGRESS='$(INGRESS)' SIZES='$(SIZES)' CHURN='$(CHURN)' ROUNDS='$(ROUNDS)' PARTS='$(PARTS)' .ci/bench-kubernetes

microbench: ## Run the benchmarks that match BENCH (all) for BENCHTIME (1s) each
	@exec $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

image: ## Build the container image IMAGE (sluice:dev) for ARCH (this machine's)
	@GOOS=linux GOARCH=$(ARCH) $(BUILD) -o dist/sluice-linux-$(ARCH) ./cmd/sluice
	@docker build --platform linux/$(ARCH) --build-arg TARGETARCH=$(ARCH) --tag $(IMAGE) .

docs: ## Build the documentation's site into dist/site
	@.ci/docs dist/site

release: ## Build archives, packages, image, chart and checksums of the commit into dist/release, for PLATFORMS (all)
	@.ci/release

clean: ## Remove what the other targets made
	@rm -rf dist .cache
