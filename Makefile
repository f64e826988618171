# `make demo` and `make test` need nothing but python3 and make; both build on `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help setup demo test lint format types chaos bench docs clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.installed ## create .venv with the package and its command

demo: setup ## find a good network among 15,625 without training any
	$(BIN)/firstlight search nasbench201 --proxy dextr --samples 1000 --max-params 1.0M --input synthetic --out runs/demo

test: lint types ## lint, types and tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations 40

lint: $(VENV)/.installed-dev ## style and formatting, nothing is changed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev ## static types of the source
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## rewrite the code in the common format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chaos: $(VENV)/.installed-dev ## strike searches with faults, resume them, and compare: nothing may be lost
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.chaos

bench: $(VENV)/.installed-dev ## cost of the proxies, as ratios of CPU time; of a search, its store and its workers
	$(BIN)/python -m benchmarks.dextr
	$(BIN)/python -m benchmarks.proxies
	$(BIN)/python -m benchmarks.search_overhead
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.executors
	$(BIN)/python -m benchmarks.nasi

docs: $(VENV)/.installed-docs ## write the generated pages and build the guide into site/
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.notebook
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## remove the environment and caches
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	touch $@

# the torch of constraints.txt goes first, so that nothing else can ask for another build of it
$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) torch
	$(INSTALL) --editable '.[onnx]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) --editable '.[dev]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(INSTALL) --editable '.[docs]'
	touch $@
