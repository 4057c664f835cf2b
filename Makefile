# Every target sets up what it needs in .venv; a machine needs only Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

# Tests start hundreds of processes: what one of them has compiled, the others read.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo pictures results test test-gpu test-lowest lint lint-types lint-imports dist bench bench-against bench-family bench-ranking bench-structured bench-search bench-incremental bench-adaptive bench-streams bench-bayes bench-tm bench-clustering bench-linear bench-serve bench-store bench-data bench-play bench-gpu system-packages fuzz bounds endure clean clean-compiled

help:
	@echo "make demo   install, then lindero demo: compare, follow, forget; a page in demo/"
	@echo "make pictures  install, fit machines of every kind, draw some of them to demo/"
	@echo "make results   compute published tables and figures, into docs/results.md (an hour)"
	@echo "make test   install, run the tests"
	@echo "make test-gpu   the tests that need a CUDA card, and those of devices without one"
	@echo "make lint   ruff, mypy, import-linter"
	@echo "make test-lowest  the same with the lowest versions that pyproject.toml promises"
	@echo "make fuzz   play cases that nobody would make on purpose, for an hour or ARGS=\"--minutes 5\""
	@echo "make bounds the same, some cases of every kind, with every index of compiled loops checked"
	@echo "make endure what the tests play a share of: damaged files, killed writers, random sequences"
	@echo "make dist   build wheel and sdist, check them, try the wheel"
	@echo "make bench  measure SVC against scikit-learn, LIBSVM and scikit-learn-intelex"
	@echo "            (bench-family, -ranking, -structured, -search, -incremental, -adaptive, -streams, -bayes,"
	@echo "             -tm, -clustering, -linear, -serve, -store, -data, -play, -gpu: the others)"
	@echo "make bench-against BASE=main  is anything slower than in another revision?"

# One stamp per set of extras: a change of pyproject.toml installs again. To compile all modules of all
# packages takes as long as the rest; Python compiles those that are imported.
$(VENV)/made-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("lindero needs Python 3.11 or later, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile --use-pep517 -e ".[$(subst +,$(comma),$*)]"
	@touch $@

comma := ,

demo: $(VENV)/made-plot
	$(BIN)/lindero demo

pictures: $(VENV)/made-plot
	$(BIN)/python examples/pictures.py

# Published tables and figures, into docs/results.md: about an hour on two cores.
results: $(VENV)/made-plot
	$(BIN)/python docs/write_results.py $(ARGS)

# Programs that some tests need and pip does not have: tests that miss one skip, and say so.
APT ?= chromium postgresql
system-packages:
	@missing=""; for package in $(APT); do dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
	test -z "$$missing" || { command -v apt-get >/dev/null && test "$$(id -u)" = 0 && \
	  { apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing; }; } >/dev/null 2>&1 || true

# Threads of OpenMP and OpenBLAS that have nothing to do wait for work in a loop, and two processes of
# tests on two cores have four of each: here they sleep.
test test-lowest: export OMP_WAIT_POLICY := PASSIVE
test test-lowest: export OPENBLAS_THREAD_TIMEOUT := 4

test: $(VENV)/made-plot+test system-packages
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

# Where torch for the card is installed already, GPU_PYTHON names the interpreter that has it.
GPU_PYTHON ?= $(BIN)/python
test-gpu: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(VENV)/made-plot+test)
	$(GPU_PYTHON) -m pytest tests/devices -rs $(ARGS)

# Runtime dependencies, those of the extras too, at their lowest, tools of the tests as they come;
# river, which needs a later SciPy, is left out, and its tests skip themselves. What is compiled is
# kept apart: each version of Numba throws away what another one left.
test-lowest:
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check -q install uv
	$(VENV)-lowest/bin/uv pip compile -q --resolution lowest-direct --extra plot --extra onnx --extra dask --extra play --extra serve --extra postgres pyproject.toml -o $(VENV)-lowest/lowest.txt
	echo 'river; python_version < "3"' > $(VENV)-lowest/left-out.txt
	$(VENV)-lowest/bin/uv pip install -q --python $(VENV)-lowest/bin/python -c $(VENV)-lowest/lowest.txt --override $(VENV)-lowest/left-out.txt -e ".[plot,test]"
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-lowest/compiled $(VENV)-lowest/bin/python -m pytest -n 2 --dist worksteal $(ARGS)

fuzz: $(VENV)/made-plot+test
	$(BIN)/python -m tests.fuzz $(or $(ARGS),--minutes 60)

# What checks its indices is kept apart from what does not.
BOUNDS := $(CURDIR)/$(VENV)/bounds
bounds: $(VENV)/made-plot+test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(BOUNDS) $(BIN)/python -m tests.fuzz $(or $(ARGS),--cases 60 --processes 1 --longest 600)

# Minutes of what takes seconds in the tests. A model file is refused or answers like any other, a table
# is loaded or refused, what was acknowledged is never lost, and every step leads to the optimum.
endure: $(VENV)/made-plot+test
	$(BIN)/python -m tests.fuzz --kinds files --cases 20000
	$(BIN)/python -m tests.data.mutated_files 20000
	$(BIN)/python -m tests.persist.killed_saves 500
	$(BIN)/python -m tests.serve.crashes --kills 500
	$(BIN)/python -m tests.svm.incremental.machines --sequences 500

lint: $(VENV)/made-plot+test lint-types lint-imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(VENV)/made-plot+test
	$(BIN)/mypy

lint-imports: $(VENV)/made-plot+test
	$(BIN)/lint-imports

dist: $(VENV)/made-plot
	rm -rf dist $(VENV)-dist
	$(PIP) install build twine
	$(BIN)/python -m build -q
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)-dist
	$(subst $(VENV),$(VENV)-dist,$(PIP)) install dist/*.whl
	$(subst $(VENV),$(VENV)-dist,$(BIN))/lindero --version
	rm -rf $(VENV)-dist

bench: $(VENV)/made-plot+bench
	$(BIN)/python benchmarks/svc.py $(ARGS)

BASE ?= main
bench-against: $(VENV)/made-plot+bench
	$(BIN)/python benchmarks/against.py $(BASE) $(ARGS)

bench-family bench-ranking bench-structured bench-search bench-incremental bench-adaptive bench-streams bench-bayes bench-tm bench-clustering bench-linear bench-serve bench-store bench-data bench-play: bench-%: $(VENV)/made-plot+bench
	$(BIN)/python benchmarks/$*.py $(ARGS)

# On a card; GPU_PYTHON as for test-gpu.
bench-gpu: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(VENV)/made-gpu)
	$(GPU_PYTHON) benchmarks/gpu.py $(ARGS)
	$(if $(ARGS),,$(GPU_PYTHON) benchmarks/gpu_linear.py)

clean-compiled:
	find src -name '*.nb[ic]' -delete
	rm -rf $(BOUNDS)

clean:
	rm -rf $(VENV) $(VENV)-lowest demo build dist .pytest_cache .mypy_cache .ruff_cache
