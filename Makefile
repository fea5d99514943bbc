# The front door. `make demo` and `make test` need Python 3.11 and make, nothing else.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
CHECKED := src tests experiments benchmarks

.PHONY: help env demo test test-long lint types layers format lock bench experiments clean

help:  ## list what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

env: $(STAMP)  ## build .venv from the hashed lock file

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)  ## a simulated city, fitted privately: result, guarantee, receipt, pictures in out/demo
	$(BIN)/discreet demo --out out/demo

test: $(STAMP) lint types layers  ## format, lint, types, layers, tests (slow ones in a short form)
	$(BIN)/python -m pytest -n 2

test-long: $(STAMP)  ## the statistical and many-process tests in full
	DISCREET_LONG=1 $(BIN)/python -m pytest -n 2 -m slow

lint: $(STAMP)  ## format and lint, without changing anything
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)

types: $(STAMP)  ## strict types
	$(BIN)/basedpyright --warnings

layers: $(STAMP)  ## who may import whom
	$(BIN)/lint-imports

format: $(STAMP)  ## rewrite the code in the house format
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

bench: $(STAMP)  ## ratios against peers, side by side in one run
	$(BIN)/python -m benchmarks

experiments: $(STAMP)  ## every table and figure, short form (data from DISCREET_DATA or ../shared/data)
	$(BIN)/python -m experiments --quick

lock: $(STAMP)  ## write requirements.lock anew (needs uv)
	uv pip compile pyproject.toml --group dev --generate-hashes --universal --python-version 3.11 --no-header -o requirements.lock

clean:  ## remove the environment and what was built
	rm -rf $(VENV) out dist build .pytest_cache .ruff_cache .hypothesis
