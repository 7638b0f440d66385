# Two commands do everything on a machine with Python 3.11 or newer: `make run` and `make test`.
# `make help` lists the rest. A second call installs nothing: stamps in $(VENV) remember what was installed from what.

PYTHON   ?= python3
VENV     ?= .venv
JOBS     ?= 2
MANIFEST ?= manifests/load-manifest.v2.json
OUT      ?= out
ONLY     ?=
RENEW    ?=

PY     := $(VENV)/bin/python
PYTEST := $(PY) -m pytest

# What the user's shell says about Python must not leak into the environment made here.
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test lint types layers bench evidence long notebooks docs lock clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

# ------------------------------------------------------------------------------------------------------ environment

$(VENV)/created.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "tollgate needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
	  echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
	  echo "could not make a virtual environment; some systems keep venv in a package of its own (python3-venv)." >&2; \
	  exit 2; }
	@touch $@

# Python 3.11 installs exactly the hashed pins; another Python installs from the ranges that the pins were made from.
# The project itself is installed without isolation, so that its build backend is a pinned one too.
define install
	@echo "installing requirements/$(1) into $(VENV)"
	@if $(PY) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
	then $(PY) -m pip install --quiet --require-hashes -r requirements/$(1).txt; \
	else $(PY) -m pip install --quiet -r requirements/run.in -r requirements/$(1).in '.[lab]'; fi
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@
endef

$(VENV)/run.stamp: $(VENV)/created.stamp requirements/run.txt pyproject.toml
	$(call install,run)

$(VENV)/test.stamp: $(VENV)/created.stamp requirements/test.txt pyproject.toml
	$(call install,test)

$(VENV)/bench.stamp: $(VENV)/run.stamp requirements/bench.txt
	$(call install,bench)

# ---------------------------------------------------------------------------------------------------- run and report

run: $(VENV)/run.stamp ## run the v2 manifest through the real controller; bundle and page go to out/
	@$(VENV)/bin/tollgate run $(MANIFEST) --out $(OUT) --page

evidence: $(VENV)/run.stamp ## write missing records below evidence/, compare the others; RENEW=1 replaces them
	@$(PY) tools/make_evidence.py $(if $(RENEW),--renew)

bench: $(VENV)/bench.stamp ## print one JSON object a benchmark; ONLY=name runs one
	@$(PY) -m benchmarks $(if $(ONLY),--only $(ONLY))

# ------------------------------------------------------------------------------------------------------------- tests

test: lint types layers ## everything that must hold: lint, types, layers, then all tests but the long ones
	@$(PYTEST) -q -n $(JOBS) -m "not long"

lint: $(VENV)/test.stamp ## style, the bans on clock, randomness and I/O
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) tools/purity.py

types: $(VENV)/test.stamp ## mypy, strict
	@$(PY) -m mypy

layers: $(VENV)/test.stamp ## who may import whom
	@$(VENV)/bin/lint-imports

long: $(VENV)/test.stamp ## the suites that take minutes, with a larger search
	@HYPOTHESIS_PROFILE=long $(PYTEST) -q -n $(JOBS) -m "long or not long" tests/property tests/determinism tests/conformance

notebooks: $(VENV)/test.stamp ## run every notebook headless, with papermill and cell by cell with nbval
	@$(PYTEST) -q tests/notebooks
	@$(PYTEST) -q --nbval-lax --nbval-current-env notebooks

docs: $(VENV)/test.stamp ## check links, commands and code of the documentation
	@$(PYTEST) -q $(wildcard tests/docs) tests/house/test_documents.py

# ------------------------------------------------------------------------------------------------------- maintenance

# Run with Python 3.11; writes neither an index address nor a path of the machine it runs on.
COMPILE = $(PY) -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options
lock: $(VENV)/created.stamp ## pin anew from pyproject.toml and requirements/*.in
	@$(PY) -m pip install --quiet pip-tools
	@$(COMPILE) --extra lab pyproject.toml requirements/run.in -o requirements/run.txt
	@$(COMPILE) --extra lab pyproject.toml requirements/run.in requirements/test.in -c requirements/run.txt -o requirements/test.txt
	@$(COMPILE) requirements/bench.in -c requirements/run.txt -o requirements/bench.txt

clean: ## remove what make made: environment, output, caches
	rm -rf $(VENV) $(OUT) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
