PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench clean

$(BIN)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(BIN)/.dev  ## Ingest a small corpus, talk to it through an MCP client, print the table.
	$(BIN)/python demo/run.py

test: lint $(BIN)/.dev  ## Lint, the tests with coverage, then the built wheel from outside the checkout.
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered --cov-fail-under=90
	$(BIN)/python tests/wheel.py

lint: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BIN)/.dev  ## The figures in benchmarks/; needs the corpora: make bench DATA=/path/to/data
	$(BIN)/python benchmarks/core/run.py --data $(DATA)

clean:
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .ruff_cache dist build
