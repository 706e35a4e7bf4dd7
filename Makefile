# keptstep: everything a contributor types. `make` alone lists the verbs.
# Needs only make and a Python >= 3.11; uses uv when it is there.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.keptstep-setup
PYTEST := $(PY) -m pytest
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile --quiet --universal \
	--python-version 3.11 --generate-hashes --no-emit-index-url
RUNTIME := pyproject.toml --extra redis --extra postgres

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick chaos lint type format lock bench coverage clean

help: ## list the verbs
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' \
		| awk -F'|' '{ printf "%-15s %s\n", $$1, $$2 }'

setup: $(STAMP) ## make .venv with what requirements/dev.txt pins

$(STAMP): requirements/dev.txt pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || { echo "keptstep needs Python >= 3.11, but there is no $(PYTHON): name one with make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "keptstep needs Python >= 3.11, but $(PYTHON) is $$("$(PYTHON)" --version 2>&1): name another with make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "making $(VENV) with what requirements/dev.txt pins: about half a minute"
	@if command -v uv >/dev/null; then \
		{ [ -x $(PY) ] || uv venv --quiet --python "$$("$(PYTHON)" -c 'import sys; print(sys.executable)')" $(VENV); } && \
		uv pip install --quiet --python $(PY) --require-hashes -r requirements/dev.txt && \
		uv pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable . ; \
	else \
		"$(PYTHON)" -m venv $(VENV) && \
		$(PY) -m pip install --quiet --require-hashes -r requirements/dev.txt && \
		$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable . ; \
	fi
	@touch $@

demo: setup ## watch a step survive a killed process
	$(PY) demo/run.py

test: setup ## every test but the long chaos runs
	$(PYTEST) -n 2 --dist worksteal

quick: lint type ## the inner loop: lint, types and the fast tests
	$(PYTEST) -n 2 --dist worksteal -q -m "not slow and not crash and not chaos"

chaos: setup ## minutes of random faults
	$(PYTEST) -m chaos --timeout 1800

lint: setup ## style, formatting, architecture and unused dependencies
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/deptry .

type: setup ## mypy --strict on the package and its tests
	$(PY) -m mypy

format: setup ## rewrite the code in the project's style
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lock: ## pin the dependencies again (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	$(COMPILE) $(RUNTIME) --output-file requirements/base.txt
	$(COMPILE) --group build --output-file requirements/build.txt
	$(COMPILE) $(RUNTIME) --group dev --output-file requirements/dev.txt

bench: setup ## measure what a kept step costs
	$(PY) -m benchmarks.run

coverage: setup ## the tests again, with the lines and branches they reach
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest -q
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

clean: ## remove the environment, the caches and what builds left
	rm -rf $(VENV) build dist htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.*
	find keptstep tests -name __pycache__ -type d -prune -exec rm -rf {} +
