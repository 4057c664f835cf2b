# Every target sets up what it needs in .venv; a machine needs only Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help demo pictures test lint bench bench-family bench-ranking bench-search bench-incremental bench-adaptive bench-bayes bench-tm bench-clustering bench-data clean clean-compiled

help:
	@echo "make demo   install, then lindero demo: compare, follow, forget; a page in demo/"
	@echo "make pictures  install, fit machines of every kind, draw some of them to demo/"
	@echo "make test   install, run the tests"
	@echo "make lint   ruff, mypy, import-linter"
	@echo "make bench  measure SVC against scikit-learn, LIBSVM and scikit-learn-intelex"
	@echo "            (bench-family, -ranking, -search, -incremental, -adaptive, -bayes, -tm,"
	@echo "             -clustering, -data: the others)"

# One stamp per set of extras: a change of pyproject.toml installs again.
$(VENV)/made-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("lindero needs Python 3.11 or later, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --use-pep517 -e ".[$(subst +,$(comma),$*)]"
	@touch $@

comma := ,

demo: $(VENV)/made-plot
	$(BIN)/lindero demo

pictures: $(VENV)/made-plot
	$(BIN)/python examples/pictures.py

test: $(VENV)/made-plot+test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: $(VENV)/made-plot+test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/made-plot+bench
	$(BIN)/python benchmarks/svc.py $(ARGS)

bench-family bench-ranking bench-search bench-incremental bench-adaptive bench-bayes bench-tm bench-clustering bench-data: bench-%: $(VENV)/made-plot+bench
	$(BIN)/python benchmarks/$*.py $(ARGS)

clean-compiled:
	find src -name '*.nb[ic]' -delete

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache
