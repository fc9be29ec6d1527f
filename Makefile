# The tasks of development; `make` lists them.

VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
# An environment that is a link belongs to another checkout: an installation would change it there.
INSTALL = test ! -L $(VENV) || { echo "$(VENV) is the environment of another checkout, and nothing" \
  "is installed into it; give one of your own: make VENV=build/venv $(MAKECMDGOALS)"; exit 1; }; \
  $(BIN)/python -m pip install --quiet
HAS_SETUPTOOLS = $(BIN)/python -c \
  'import setuptools; exit(int(setuptools.__version__.split(".")[0]) < 77)' 2>/dev/null
KERNEL = $(wildcard $(addprefix simdb_ext/,*.pyx *.pxd *.h */*.pxi */*.[ch] */*/*.[ch]))

# `make test JOBS=1`, `make fuzz SECONDS=300 KINDS="session burst" SEED=7`, `make mutants SEED=7`,
# `make decoders SECONDS=300 TARGETS="page database"`, `make figures FIGURES="--documents 100k"`
SECONDS ?= 30
KINDS ?=
TARGETS ?=
SEED ?=
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
FIGURES ?=

# Compiled modules are kept: hundreds of processes of the tests start from them.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test test-all oldest coverage mutants fuzz decoders sanitize sanitize-threads lint bench figures \
  build wheels docs reference clean

help:  ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed  ## set up, then find the near-duplicate files of this machine's Python
	$(BIN)/simdb demo

# Databases of the tests lie in memory if 4 GB are free and programs may run there: a commit waits
# for a disk.
IN_MEMORY = if place=$$(mktemp -d -p /dev/shm 2>/dev/null); then trap 'rm -rf "$$place"' EXIT; \
  if [ "$$(df -k --output=avail "$$place" | tail -n 1)" -gt 4000000 ] && cp /bin/true "$$place" \
  && "$$place/true"; then export TMPDIR="$$place"; fi; fi;

# Each process collects and runs a share of the files (tests/conftest.py); xdist would count wrong.
SHARES = --dist each -o console_output_style=classic

test: $(VENV)/.developed  ## set up, then run the quick tests in JOBS processes
	@$(IN_MEMORY) $(BIN)/python -m pytest -q -m "not slow" -n $(JOBS) $(SHARES)

test-all: $(VENV)/.developed  ## run all tests, the slow ones too, with all cases and more examples
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -q

OLDEST = build/oldest

oldest: $(VENV)/.developed  ## run the quick tests with Python 3.10 and the oldest packages that simdb takes
	rm -rf $(OLDEST)
	mkdir -p $(OLDEST)
	git ls-files -z | xargs -0 tar c | tar x -C $(OLDEST)
	python3.10 -m venv $(OLDEST)/.venv
	$(BIN)/python tools/wheels/oldest.py >$(OLDEST)/constraints.txt
	cd $(OLDEST) && .venv/bin/python -m pip install --quiet -c constraints.txt --editable '.[test]' \
	  && .venv/bin/python -m pytest -q -m "not slow" -n $(JOBS)

coverage: $(VENV)/.developed  ## run the quick tests and list the lines that they do not reach
	$(BIN)/python -m pytest -q -m "not slow" --cov=simdb --cov-report=term-missing:skip-covered

MUTANTS = build/mutants

mutants: $(VENV)/.developed  ## change one line at a time: how many changes do the quick tests find?
	@$(INSTALL) --editable '.[mutants]'
	mkdir -p $(MUTANTS)
	$(BIN)/python tools/mutants/mutants.py draw --seed $(or $(SEED),1) >$(MUTANTS)/drawn.json
	rm -f $(MUTANTS)/reached.jsonl
	@$(IN_MEMORY) $(BIN)/python tools/mutants/mutants.py run $(MUTANTS)/drawn.json \
	  --reached $(MUTANTS)/reached.jsonl >$(MUTANTS)/killed.jsonl
	$(BIN)/python tools/mutants/mutants.py table $(MUTANTS)/killed.jsonl

fuzz: $(VENV)/.developed  ## do random things beside a model, with kills and errors: SECONDS, KINDS, SEED
	$(BIN)/python tools/fuzz/fuzz.py --seconds $(SECONDS) $(if $(KINDS),--only $(KINDS)) \
	  $(if $(SEED),--seed $(SEED))

decoders: $(VENV)/.developed  ## feed any bytes to all decoders and parsers with atheris: SECONDS, TARGETS
	@$(INSTALL) 'atheris>=2.3'
	$(BIN)/python tools/fuzz/decoders/run.py --seconds $(SECONDS) $(TARGETS)

SANITIZED = build/sanitize
# Leaks are not reported: the interpreter itself does not free everything before it ends.
# libstdc++ is loaded too, so that exceptions inside pyarrow find their handlers.
SANITIZING = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

sanitize: $(VENV)/.developed  ## test the kernel with ASan, UBSan and bounds checks, in its own tree
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	git ls-files -z | xargs -0 tar c | tar x -C $(SANITIZED)
	@$(HAS_SETUPTOOLS) || { $(INSTALL) 'setuptools>=77'; }
	cd $(SANITIZED) && SIMDB_DEBUG=1 $(abspath $(BIN))/python setup.py -q build_ext --inplace
	cd $(SANITIZED) && $(SANITIZING) PYTHONPATH=. $(abspath $(BIN))/python -m pytest -q \
	  -p no:cacheprovider -m "not slow" tests/kernel tests/sketch tests/storage \
	  tests/database/test_exactness.py tests/database/test_transaction.py tests/database/test_recall.py
	cd $(SANITIZED) && $(SANITIZING) PYTHONPATH=. $(abspath $(BIN))/python tools/fuzz/fuzz.py \
	  --only session texts decoders --cases 80 --seed 1 --limit 2000

THREADED = build/threads

sanitize-threads: $(VENV)/.developed  ## run the kernel with TSan, in several threads
	rm -rf $(THREADED)
	mkdir -p $(THREADED)
	git ls-files -z | xargs -0 tar c | tar x -C $(THREADED)
	@$(HAS_SETUPTOOLS) || { $(INSTALL) 'setuptools>=77'; }
	cd $(THREADED) && SIMDB_DEBUG=thread $(abspath $(BIN))/python setup.py -q build_ext --inplace
	cd $(THREADED) && LD_PRELOAD=$$(gcc -print-file-name=libtsan.so) \
	  TSAN_OPTIONS=report_bugs=1:ignore_noninstrumented_modules=1:exitcode=66 \
	  PYTHONPATH=. $(abspath $(BIN))/python tools/fuzz/fuzz.py --only burst --inside \
	  --cases 6 --steps 2 --documents 300 --seed 1

lint: $(VENV)/.developed  ## check style, types and architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" cython-lint simdb_ext
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_tidy.py

bench: $(VENV)/.developed  ## list the benchmarks
	@ls tools/bench/*.py
	@echo "run one with $(BIN)/python FILE --help"

figures: $(VENV)/.developed  ## repeat the papers' figures: docs/RESULTS.md, pictures in build/figures, with options FIGURES
	$(BIN)/python tools/figures/evaluation.py $(FIGURES)

build: $(VENV)/.developed  ## build source distribution and wheel in dist/
	$(BIN)/python -m build

PYTHONS = 3.10 3.11 3.12 3.13 3.14
WHEEL = build/wheel

wheels:  ## build and try a wheel with each CPython from 3.10 to 3.14 of this machine
	@for version in $(PYTHONS); do \
	  python=$$(command -v python$$version) && $$python -c '' 2>/dev/null \
	    || { echo "$$version: no such Python on this machine"; continue; }; \
	  rm -rf $(WHEEL) && $$python -m venv $(WHEEL) \
	    && $(WHEEL)/bin/python -m pip wheel --quiet --no-deps -w dist . \
	    && $(WHEEL)/bin/python -m pip install --quiet dist/simdb-*-cp$${version%.*}$${version#*.}-*.whl \
	    && $(WHEEL)/bin/python tools/wheels/compiled.py || exit 1; \
	done

docs: $(VENV)/.developed  ## build the documentation site in build/site/html; warnings are errors
	$(BIN)/python tools/site/build.py

reference: $(VENV)/.installed  ## write build/REFERENCE.md, build/CLI.md and build/MODULES.md: public names, commands, modules
	$(BIN)/python tools/generate/reference.py
	$(BIN)/python tools/site/commands.py
	$(BIN)/python tools/generate/modules.py

clean:  ## remove what was built
	rm -rf $(VENV) build dist *.egg-info simdb_ext/*.so simdb_ext/_*.c .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv"; \
	  rm -rf $(VENV); exit 1; }

# `make demo` needs the package alone; the other tasks also need the development tools.
$(VENV)/.installed: $(BIN)/python pyproject.toml setup.py $(KERNEL)
	@$(INSTALL) --editable .
	touch $@

# Every installation compiles the kernel, so all that the tasks need comes with one.
$(VENV)/.developed: $(BIN)/python pyproject.toml setup.py $(KERNEL)
	@$(INSTALL) --editable '.[test,lint,arrow,docs]' build
	touch $(VENV)/.installed $@
