# The index of work.  `make` lists it.

VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
KERNEL = $(wildcard $(addprefix simdb_ext/,*.pyx *.pxd *.h */*.pxi */*.c */*.h))

# `make fuzz SECONDS=300 TARGETS="page database"`
SECONDS ?= 30
TARGETS ?=

.PHONY: help demo test test-all coverage fuzz lint bench build clean

help:  ## list what can be done
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed  ## set up, then find the near-duplicate files of this machine's Python
	$(BIN)/simdb demo

test: $(VENV)/.developed  ## set up, then run the tests that take seconds
	$(BIN)/python -m pytest -q -m "not slow"

test-all: $(VENV)/.developed  ## all tests, the long ones too
	$(BIN)/python -m pytest -q

coverage: $(VENV)/.developed  ## the tests of `make test` and what they reach
	$(BIN)/python -m pytest -q -m "not slow" --cov=simdb --cov-report=term-missing:skip-covered

fuzz: $(VENV)/.developed  ## bytes of any kind for whatever decodes or parses: SECONDS, TARGETS
	$(BIN)/python -m pip install --quiet 'atheris>=2.3'
	$(BIN)/python tools/fuzz/run.py --seconds $(SECONDS) $(TARGETS)

lint: $(VENV)/.developed  ## style, types, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" cython-lint simdb_ext
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_tidy.py

bench: $(VENV)/.developed  ## list the benchmarks
	@ls tools/bench/*.py
	@echo "run one with $(BIN)/python FILE --help"

build: $(VENV)/.developed  ## source distribution and wheel, into dist/
	$(BIN)/python -m build

clean:  ## remove what was built
	rm -rf $(VENV) build dist *.egg-info simdb_ext/*.so simdb_ext/_*.c .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv"; \
	  rm -rf $(VENV); exit 1; }

# One installation serves `demo` alone; what `test` needs is put on top.
$(VENV)/.installed: $(BIN)/python pyproject.toml setup.py $(KERNEL)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,arrow]' build
	touch $@
