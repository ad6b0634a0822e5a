# Everything installs itself: each target needs only Python 3.11 or later, pip and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
CONSTRAINTS ?= constraints.txt# "none" takes the newest versions there are
PINS := $(if $(filter none,$(CONSTRAINTS)),,-c $(CONSTRAINTS))
EXTRAS ?= dev,cluster,docs,molecules,search,tensorboard
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/ready
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
export PGSO_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: help demo test lint fuzz bench bench-scale rivals docs readme clean
help:
	@echo "make demo   install, search a table, compare fixed and learned operators on a graph"
	@echo "make test   install and run all tests"
	@echo "make test-oldest  the core tests with the oldest supported versions, in .venv-oldest"
	@echo "make lint   format, lint, types and import directions"
	@echo "make fuzz   hostile files, random graphs, killed sweeps (an hour); writes to runs/fuzz"
	@echo "make bench  speed and memory as ratios measured in one run; writes to runs/benchmarks"
	@echo "make bench-scale  up to 10^8 edges, sampling, several processes (20 GiB, half an hour)"
	@echo "make rivals what a user would pick instead, measured side by side (hours); writes docs/rivals.md"
	@echo "make docs   build the documentation into site/"
	@echo "make readme write the tables of README.md and docs/ from results/"
	@echo "make package  build both packages into dist/, install them elsewhere and try them"

# What a user installs; the demo needs no more.
$(VENV)/base: pyproject.toml $(filter-out none,$(CONSTRAINTS))
	$(PYTHON) -m venv $(VENV)
	@echo "installing pgso into $(VENV), versions: $(CONSTRAINTS) (a minute)"
	@$(PIP) install $(PINS) -e .
	@touch $@

$(READY): $(VENV)/base studies/pyproject.toml
	@echo "installing pgso[$(EXTRAS)] and pgso-studies (a few minutes)"
	@$(PIP) install $(PINS) -e '.[$(EXTRAS)]' -e ./studies
	@touch $@

demo: $(VENV)/base
	$(BIN)/pgso find customers --out runs
	$(BIN)/pgso compare minesweeper --seeds 3 --epochs 100 --out runs
	@echo; echo "open $(CURDIR)/runs/find-customers/report.html"

test: $(READY)   # one thread each: workers share the cores, and more threads wait for each other
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

CORE := graph gso convs models spectrum bases objectives records data finding estimators contracts paper
test-oldest:
	$(MAKE) VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt EXTRAS=dev test-core

test-core: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(wildcard $(addprefix tests/,$(CORE)))

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fuzz: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-scale: $(READY)
	$(BIN)/python -m benchmarks.scale

rivals: $(READY)
	@$(PIP) install -c constraints.txt -e '.[rivals,molecules]'
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m benchmarks.rivals run
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m benchmarks.rivals rank
	$(BIN)/python -m benchmarks.rivals page

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

readme: $(READY)
	$(BIN)/python -m pgso_studies

package: $(READY)
	$(BIN)/python .ci/package.py

release-check: package
	@! grep -rn "example.org" pyproject.toml studies/pyproject.toml .github || (echo "replace these placeholders first"; exit 1)

clean:
	rm -rf .venv .venv-oldest dist
