# make demo | make test | make lint. Needs Python 3.11 or newer and make; everything else is installed into .venv.

VENV ?= .venv
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One more than a small machine's cores: some tests wait rather than work.
WORKERS ?= 3

.PHONY: demo test suite lint format environment lock clean

DEMO_MODEL ?= onnx:light_squeezenet
DEMO_TRIALS ?= 160
DEMO_DB := .demo/autosched.db

demo: environment
	@mkdir -p .demo
	$(BIN)/autosched tune $(DEMO_MODEL) --trials $(DEMO_TRIALS) --db $(DEMO_DB)
	$(BIN)/autosched bench $(DEMO_MODEL) --peers onnxruntime --db $(DEMO_DB)
	$(BIN)/autosched verify $(DEMO_MODEL) --db $(DEMO_DB)
	$(BIN)/autosched verify $(DEMO_MODEL) --random-weights 0 --db $(DEMO_DB)

test: lint suite

suite: environment
	$(BIN)/python -m pytest -n $(WORKERS) -m "not bench and not campaign and not cuda"

lint: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: environment
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

environment: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

lock: environment
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --extra dev --no-header --no-annotate --no-emit-options \
		--no-emit-index-url --no-emit-find-links --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .demo
