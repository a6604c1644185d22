# make demo: set up, then train and interpret a small graph.   make test: set up, then run every check and test.
# make docs: set up, then build the documentation site into docs/_build/html.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start many interpreters: each would compile the whole package again.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-trust docs lint kernels clean

demo: $(VENV)/.installed-fast,plots
	$(BIN)/itransf demo

test: $(VENV)/.installed-dev
	$(MAKE) --jobs=2 kernels lint docs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --cov --cov-report=term

# Fault injection, under an hour on two cores: make test-trust SEED=1
SEED ?= 0
test-trust: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.trust --seed $(SEED)
	$(BIN)/python -m benchmarks.render

docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[$*]'
	@touch $@

# One test that trains and ranks: numba compiles once, beside other checks, and not in both processes of the tests.
kernels: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/run/test_report.py -k held_out_triples_repeat_no_relation

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .ruff_cache .pytest_cache .coverage
	find src -name '*.nb[ci]' -delete
