# make demo   the main job in under 90 s: no GPU, and no network after the install
# make test   the whole suite; installs what it needs
# make check  style, types, layers, sizes
# make bench  speed, accuracy, overhead: tables, appended to benchmarks/results/
#
# A fresh machine needs Python 3.11 or newer (with venv) and make.

# The first one that runs: a name on the PATH may be a shim of a version that is not there.
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
  "$$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$name"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# Tests that need what no fresh machine has, or that take long; CONTRIBUTING.md says how to run each.
LEFT_OUT := vllm or slow
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check bench debian-packages clean

help:
	@sed -n 's/^# make /make /p' Makefile

$(VENV)/bin/python:
	@test -n "$(PYTHON)" \
	  || { echo "whystall needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) \
	  || { echo "Python's venv is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing whystall into $(VENV)"
	@$(PIP) install --no-compile --editable .
	@touch $@

$(VENV)/.developed: $(VENV)/.installed
	@echo "Installing what the tests need into $(VENV)"
	@$(PIP) install --upgrade pip  # the one that comes with Python 3.11 knows no --group
	@$(PIP) install --group dev
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/whystall demo

# Where we are root, Debian's own packages; elsewhere the tests that need one say so and are skipped.
DEBIAN := chromium prometheus prometheus-alertmanager victoria-metrics
debian-packages:
	@missing=$$(for name in $(DEBIAN); do command -v $$name >/dev/null || echo $$name; done); \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing" $$missing; \
	  apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	    apt-get install -qq -y --no-install-recommends $$missing >/dev/null && \
	  for name in $$missing; do service $$name stop >/dev/null 2>&1 || true; done; \
	else echo "Not here, and not root on Debian:" $$missing "(the tests that need them will be skipped)"; fi

test: $(VENV)/.developed debian-packages
	@echo "Left out: tests marked $(LEFT_OUT) (CONTRIBUTING.md says how to run them)"
	@$(BIN)/python -m pytest -n 2 -q -m "not ($(LEFT_OUT))" $(PYTEST_ARGS)

check: $(VENV)/.developed
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy --strict -p whystall
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/unit/test_house.py

# Those that need nothing but this machine; the others say in their first lines what they need.
BENCHES := speed/startup speed/parser speed/diagnose speed/engine overhead/scrape_cost \
  fidelity/recordings fidelity/interventions accuracy/answers accuracy/faults accuracy/sequential

bench: $(VENV)/.developed
	@for name in $(BENCHES); do echo "== benchmarks/$$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
