# Every target sets up what it needs: `make run` and `make test` are all that a fresh Debian machine takes.
VENV := .venv
BIN := $(VENV)/bin
RECIPE ?= jq
# Pytest's arguments, as in: make unit ARGS="-k grammar"
ARGS ?=

.PHONY: help run test lint unit integration bench docs clean setup setup-tests

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: setup  ## Prove a recipe in a sandbox (RECIPE=jq)
	$(BIN)/tsandbox install $(RECIPE) --sandbox

test: setup-tests lint unit integration  ## Everything that CI checks

lint: setup  ## Format, lint, types, import rules, generated documents
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/reference.py --check

unit: setup  ## Tests that need no container engine
	$(BIN)/pytest tests/unit -n auto $(ARGS)

integration: setup-tests  ## Tests on real podman and real docker
	$(BIN)/pytest tests/integration -n 2 --dist loadgroup $(ARGS)

bench: setup-tests  ## Measure: ratios within one run, never absolute times
	@eval "$$(scripts/dockerd start --lease $$$$)"; trap 'scripts/dockerd stop --lease '$$$$ EXIT; \
	$(BIN)/python -m benchmarks $(ARGS)

docs: setup  ## Write the generated parts of the reference again
	$(BIN)/python scripts/reference.py

clean:  ## Remove what the targets above made in this directory
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf "$${TSANDBOX_TEST_HOME:-$${XDG_STATE_HOME:-$$HOME/.local/state}/tsandbox-tests}"
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@scripts/setup

setup-tests:
	@scripts/setup tests
