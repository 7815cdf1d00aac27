# One verb per product. `make` alone lists them.

PYTHON ?= python3
SHELL := /bin/bash
export PYTHONDONTWRITEBYTECODE := 1
# The course's matrices are small: more threads only wait for one another.
export OMP_NUM_THREADS ?= 1

# Paths are relative, so that a folder whose name has spaces works.
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
PORT ?= 8000

.DEFAULT_GOAL := help
.PHONY: help book pdf offline serve test test-browser peers nbval notebooks exercises check repository clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1	/p' Makefile | expand -t 16

# Runs again only when what is to be installed has changed.
$(READY): requirements.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) here. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: %s is %s. Name another one: make PYTHON=python3.11" % (sys.executable, sys.version.split()[0]))'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "This Python has no venv module. Install it (on Debian and Ubuntu: apt-get install python3-venv), then run make again."; exit 1; }
	[ -x $(RUN) ] || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

book: $(READY)  ## build the site in _build/html
	@$(VENV)/bin/jupyter-book build . -W --keep-going
	@echo "Open _build/html/index.html, or run: make serve"

pdf: book  ## print the book into _build/multi-head-attention.pdf (needs: make peers, Chromium)
	@$(RUN) tools/pdf.py

offline: book  ## pack the site into _build/mha-lessons-offline.zip, which works from disk
	@$(RUN) tools/offline.py

serve:  ## show the built site on this machine, at port PORT=8000
	@[ -f _build/html/index.html ] || { echo "There is no built site. Run first: make book"; exit 1; }
	@echo "http://127.0.0.1:$(PORT)/  (stop with Ctrl+C)"
	@$(RUN) -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

test: $(READY)  ## run the tests that need no browser and no GPU
	$(RUN) -m pytest -m "not browser and not gpu"

test-browser: $(READY)  ## run the tests that drive Chromium, on the built book
	@$(RUN) -c 'import playwright' 2>/dev/null || { echo "Playwright is missing. Get it with: $(RUN) -m pip install playwright"; exit 1; }
	@[ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { echo "No Chromium here. Install it (on Debian: apt-get install chromium) or name one: make test-browser CHROMIUM=/path/to/chromium"; exit 1; }
	@MHA_REQUIRE_BROWSER=1 $(RUN) -m pytest -m browser

peers: $(READY)  ## install what some tests need: onnx, transformers, Triton, playwright, axe-core
	$(RUN) -m pip install --quiet --disable-pip-version-check --requirement requirements-peers.txt

nbval: $(READY)  ## run the stored notebooks again and compare their outputs
	$(RUN) -m pytest --nbval -W default book solutions

notebooks: $(READY)  ## write the notebooks of chapters and exercises again
	$(RUN) tools/notebooks.py
	$(RUN) tools/exercises.py

exercises: $(READY)  ## write the notebooks of the exercises again
	$(RUN) tools/exercises.py

check: $(READY)  ## lint, and compare what is generated with its sources
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) tools/notebooks.py --check
	$(RUN) tools/exercises.py --check

repository: $(READY)  ## print the repository's address, or set it: URL=https://github.com/<owner>/<name>
	@$(RUN) tools/repository.py $(if $(URL),--set "$(URL)")

clean:  ## remove what was built; the environment in .venv stays
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
