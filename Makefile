# make run     install what is missing into .venv and serve on http://localhost:8501 (PORT=8502 for another port)
# make test    every test, the slow and the browser ones too; ruff and mypy run as tests
# make lint    ruff and mypy only
# make bench   the benchmarks, as one table
# make operators   compile csrc/; the three above do it, and go on with PyTorch's own operations where it cannot be done
SHELL := /bin/bash
PORT ?= 8501
VENV ?= .venv
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := $(VENV)/bin
PYTEST_ARGS ?=

.DEFAULT_GOAL := run
.PHONY: run test lint bench operators browser clean
.DELETE_ON_ERROR:

run: operators
	@echo "Starting Torch Atlas; it prints its address when it answers. Stop it with Ctrl+C."
	@$(BIN)/streamlit run app.py --server.port $(PORT) || { [ $$? -ge 128 ] || echo "If the port is taken: make run PORT=8502"; exit 1; }

test: $(VENV)/.installed-dev operators browser
	$(BIN)/python -m pytest -m "slow or not slow" $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev operators browser
	$(BIN)/python -m benchmarks

operators: $(VENV)/.installed
	@$(BIN)/python -m engine.operators.build || true

# Chromium for the browser tests, from the system's packages where this user may install them.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else echo "No Chromium found: the browser tests will be skipped. Install the package 'chromium' to run them."; fi

$(VENV)/.created:
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Python 3.11 or newer with venv is needed. Install it (Debian: python3 python3-venv) or name one: make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: requirements.txt | $(VENV)/.created
	@echo "Installing what the app needs into $(VENV); PyTorch is large, this can take minutes."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis
