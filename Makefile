# The course's verbs. `make lab` and `make test` each do everything that they need on a fresh clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# An interpreter that has the course's packages already (a conda environment, a class image) takes the place of .venv
# in the verbs for learners and teachers: make lab LABS_PYTHON=python
RUN    := $(or $(LABS_PYTHON),$(BIN)/python)
READY  := $(if $(LABS_PYTHON),,$(VENV)/core)
# Checks leave no trace in the learner's own progress file, and never use more threads than the machine shares out.
CLEAN_STATE := LABS_STATE=$(CURDIR)/build/state OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help setup lab test lint check notebooks solutions book colab grade bench gpu-test soak fresh-machine lock system clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- set-up --------------------------------------------------------------------------------------------------
$(VENV)/core: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The course needs Python 3.11 or newer; this is %s. Name another one: make lab PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	@echo "Installing the course (PyTorch is most of the download; see the README for the CPU-only build) ..."
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.txt -e .
	touch $@

$(VENV)/dev: $(VENV)/core
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.txt -e '.[book,dev,inspect,readers]'
	touch $@

system: ## system packages that the tests need (Debian and Ubuntu; elsewhere it says what is missing)
	@PYTHON=$(PYTHON) bash tests/setup/system_packages.sh

# ---- for learners --------------------------------------------------------------------------------------------
setup: $(READY) ## what `make lab` sets up, without opening it

lab: $(READY) ## open the course in JupyterLab
	$(RUN) -m labs lab

grade: $(READY) ## grade your notebooks: make grade [NOTEBOOKS=path] [OUT=dir]
	$(RUN) -m labs grade "$(or $(NOTEBOOKS),notebooks)" --out "$(or $(OUT),build/grades)"

# ---- for authors ---------------------------------------------------------------------------------------------
notebooks: $(VENV)/core ## derive notebooks/ from solutions/
	$(BIN)/python -m labs publish

solutions: $(VENV)/dev ## execute the changed lessons and keep their outputs
	$(BIN)/python -m labs solutions

book: $(VENV)/dev ## build the book into book/_build/html
	$(BIN)/python book/build.py

colab: $(READY) ## the lessons for Google Colab into build/colab: make colab REPOSITORY=address [REF=main]
	$(RUN) -m labs publish --colab build/colab --repository "$(REPOSITORY)" --ref "$(or $(REF),main)"

# ---- checks --------------------------------------------------------------------------------------------------
test: system $(VENV)/dev ## everything that CI checks
	$(MAKE) lint
	$(MAKE) check
	$(CLEAN_STATE) $(BIN)/python -m pytest tests -n 2 --dist loadfile
	$(CLEAN_STATE) $(BIN)/python -m pytest solutions --nbval-lax --nbval-cell-timeout=120 --nbval-sanitize-with tests/nbval.cfg -n 2 --dist loadfile

lint: $(VENV)/dev ## style, spelling and links of code and lessons
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python -m labs lint

check: $(VENV)/dev ## notebooks/ is published, solutions/ are executed, the book builds without a warning
	$(BIN)/python -m labs publish --check
	$(BIN)/python -m labs solutions --check
	$(BIN)/python book/build.py

soak: $(VENV)/dev ## the full cross products and fuzzing, seeded, for as long as they take
	$(CLEAN_STATE) LABS_SOAK=1 $(BIN)/python -m pytest tests -n 2 --dist loadfile

fresh-machine: ## both commands of the README in a bare Debian: make fresh-machine [PART=lab] (needs root, debootstrap)
	@bash tests/setup/fresh_machine.sh $(PART)

gpu-test: ## the tests that need a GPU (any environment with torch and a CUDA device)
	$(CLEAN_STATE) $(or $(wildcard $(BIN)/python),$(PYTHON)) -m pytest tests/gpu

bench: $(VENV)/dev ## ratios to named peers, measured in one run
	$(BIN)/python -m bench

# soupsieve 3 and newer want Python 3.11.5; Debian 12 and Python's first 3.11 releases have less.
lock: $(VENV)/dev ## renew requirements.txt (all extras; the CPU build's name is made plain)
	$(BIN)/pip install --quiet pip-tools
	rm -f build/lock.txt && mkdir -p build
	$(BIN)/pip-compile --quiet --all-extras --strip-extras --allow-unsafe --no-header --annotation-style=line \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -P torch==2.13.0 -P 'soupsieve<3' -o build/lock.txt pyproject.toml
	(echo "# Every package of the course with all extras, as tested. Renewed by: make lock"; sed -e 's/^\(torch==[0-9.]*\)+cpu/\1/' -e '/^$$/d' -e '/considered to be unsafe/d' build/lock.txt) > requirements.txt

clean: ## remove what was built (not your notebooks, not the environment)
	rm -rf build book/_build book/lessons book/generated
