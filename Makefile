# `make demo` and `make test` need nothing but python3 and make; both build on `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# one more than there are cores: many tests wait for processes that they start
PROCESSES := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
INSTALL := $(BIN)/python $(PIP_INSTALL) --constraint constraints.txt

.PHONY: help setup demo test coverage test-lowest lint format types chaos bench docs dist clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed ## create .venv with the package and its command

demo: setup ## find a good network among 15,625 without training any
	$(BIN)/firstlight search nasbench201 --proxy dextr --samples 1000 --max-params 1.0M --input synthetic --out runs/demo

test: lint types ## lint, types and tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal --durations 40

coverage: $(VENV)/.installed-dev ## run the tests, and print which lines they miss
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal --cov

test-lowest: $(LOWEST)/.installed ## run the tests with the lowest versions that pyproject.toml allows
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest --numprocesses $(PROCESSES) --dist worksteal

lint: $(VENV)/.installed-dev ## check style, formatting and the order of imports between packages; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.installed-dev ## static types of the source
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## rewrite the code in the common format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chaos: $(VENV)/.installed-dev ## strike searches with faults, resume them, and compare: nothing may be lost
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.chaos

bench: $(VENV)/.installed-dev ## cost of the proxies, as ratios of CPU time; of a search, its store and its workers
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.executors
	$(BIN)/python -m benchmarks.nasi

docs: $(VENV)/.installed-dev ## write the generated pages and build the guide into site/
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.notebook
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# `build` makes the wheel from the sdist, so both are tried
dist: $(VENV)/.installed-dev ## build sdist and wheel, install the wheel into a new environment and search there
	rm -rf dist
	$(BIN)/python -m build
	$(PYTHON) -m venv dist/try
	dist/try/bin/python $(PIP_INSTALL) --constraint constraints.txt torch
	dist/try/bin/python $(PIP_INSTALL) --constraint constraints.txt dist/*.whl
	ls dist/firstlight-$$(cd dist/try && bin/python -c 'import firstlight; print(firstlight.__version__)')-py3-none-any.whl
	mkdir dist/try/empty
	cd dist/try/empty && ../bin/firstlight search nasbench201 --proxy dextr --samples 4 --workers 0 --out run
	rm -rf dist/try

clean: ## remove the environments, caches and everything that was built
	rm -rf $(VENV) $(LOWEST) dist site .coverage* .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

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

$(LOWEST)/.installed: $(VENV)/.installed-dev tools/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(BIN)/python -m tools.lowest docs test > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(PIP_INSTALL) --constraint $(LOWEST)/constraints.txt torch
	$(LOWEST)/bin/python $(PIP_INSTALL) --constraint $(LOWEST)/constraints.txt --editable '.[docs,test]'
	touch $@
