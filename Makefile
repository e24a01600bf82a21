# Each target makes what it needs; a fresh machine wants only Python (3.11 or later) and make.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all lint format bench docs notebooks dist clean

# A stamp for each set of packages, so that a second call installs nothing.
.venv/.core: pyproject.toml
	@echo "installing into .venv, which takes a few minutes the first time"
	@$(PYTHON) -c 'import sys; sys.exit("discreet needs Python 3.11 or later; found " + sys.version.split()[0] + ". Try make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.%: .venv/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

demo: .venv/.core
	$(BIN)/discreet demo

test: .venv/.test
	$(BIN)/pytest -n auto

test-all: .venv/.test
	$(BIN)/pytest -n auto -m ''

lint: .venv/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.lint
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

bench: .venv/.bench
	$(BIN)/python -m benchmarks

# Warnings are errors. What the pages show is run by the tests.
docs: .venv/.docs
	$(BIN)/python -m sphinx -c docs -b html -W --keep-going -q . build/site
	$(BIN)/python docs/check_site.py build/site
	@echo "open build/site/index.html"

# Runs the notebooks and stores what they print: on real data where DISCREET_DATA names its folder.
notebooks: .venv/.docs
	$(BIN)/python docs/run_notebooks.py

dist: .venv/.dist
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
