# treemem: every target works from a bare clone; it needs Python 3.11 or later, and a C++
# compiler for llama.cpp. Without one, everything but model work runs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := .demo
DAMAGES := 200
CHANGES := 10000
KILLS := 2000
IMAGES := 5000
STALLS := 500
ERRORS := 500
SEED := 1
MODELS := $(abspath $(VENV))/models
LLAMA_VERSION := 0.3.36

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-kills test-kill-sample test-damages test-bytes torture test-wheel test-types test-integrations test-pythons docs screenshots fuzz lint bench-smoke bench bench-sample bench-faithfulness bench-recall bench-latency bench-growth bench-pages bench-importers clean

help:  ## Show what there is to make
	@echo "make TARGET, where TARGET is one of:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

setup: $(VENV)/.dev $(VENV)/.llama  ## Install everything into .venv: the package, llama.cpp, the tools

$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed, $$($(PYTHON) --version) was found. Name another: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || { echo "Making a virtual environment in $(VENV) …"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing treemem and what it needs …"
	@$(BIN)/python -m pip install --quiet --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "Installing the tools for tests and checks …"
	@$(BIN)/python -m pip install --quiet --quiet --group dev
	@touch $@

# llama-cpp-python comes as source. Only the library itself is built: neither the vision part
# nor the helpers of llama.cpp's own programs, which take longer than the rest together.
$(VENV)/.llama: $(VENV)/.base
	@echo 'set(LLAMA_BUILD_COMMON OFF)' > $(VENV)/llama-core.cmake
	@echo "Compiling llama.cpp (about three minutes on two quiet cores, longer beside other work) …"
	@CMAKE_ARGS="-DLLAVA_BUILD=OFF -DCMAKE_PROJECT_INCLUDE=$(abspath $(VENV))/llama-core.cmake" \
	  $(BIN)/python -m pip install --verbose --config-settings build.targets=llama \
	  'llama-cpp-python==$(LLAMA_VERSION)' > $(VENV)/llama.log 2>&1 & build=$$!; \
	began=$$(date +%s); shown=0; \
	while kill -0 $$build 2>/dev/null; do \
	  step=$$(grep -aoE '^ *\[[0-9]+/[0-9]+\]' $(VENV)/llama.log | tail -n 1 | tr -d ' '); \
	  spent=$$(( $$(date +%s) - began )); \
	  if [ -t 2 ]; then printf '\r  %4d s  step %-10s' $$spent "$${step:-[starting]}" >&2; \
	  elif [ $$(( spent - shown )) -ge 30 ]; then shown=$$spent; echo "  $$spent s  step $${step:-[starting]}" >&2; fi; \
	  sleep 1; \
	done; \
	if [ -t 2 ]; then printf '\r%40s\r' '' >&2; fi; \
	wait $$build || { tail -n 20 $(VENV)/llama.log; \
	  echo "llama.cpp could not be built (the whole log: $(VENV)/llama.log)."; \
	  echo "It needs a C++ compiler; on Debian: apt-get install g++"; \
	  echo "treemem itself runs without it: $(BIN)/treemem --help"; exit 1; }
	@$(BIN)/python -m pip install --quiet --quiet --editable '.[llama]'
	@touch $@

demo: $(VENV)/.base  ## See it work: first without a model, then with two small ones
	@rm -rf $(DEMO) && mkdir -p -m 700 $(DEMO)
	@echo; echo "== 1. A real session log becomes a tree, with no model =="; echo
	$(BIN)/treemem --db $(DEMO)/memory.sqlite3 ingest treemem/demo/session.jsonl
	$(BIN)/treemem --db $(DEMO)/memory.sqlite3 tree
	$(BIN)/treemem --db $(DEMO)/memory.sqlite3 search "why did farm 0417 lose pickups?" --budget 600
	@echo; echo "== 2. The same with local models: compiling llama.cpp, fetching two models =="; echo
	@$(MAKE) --no-print-directory $(VENV)/.llama
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem model pull smollm2-135m
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem model pull minilm
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem --db $(DEMO)/memory.sqlite3 model use summarizer smollm2-135m
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem --db $(DEMO)/memory.sqlite3 model use embedder minilm
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem --db $(DEMO)/memory.sqlite3 model check
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem --db $(DEMO)/memory.sqlite3 work
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem --db $(DEMO)/memory.sqlite3 status
	@echo; echo "== 3. What the models added: statements that passed the checks, search by meaning =="; echo
	$(BIN)/treemem --db $(DEMO)/memory.sqlite3 source show claude-code --by-model
	TREEMEM_MODELS=$(MODELS) $(BIN)/treemem --db $(DEMO)/memory.sqlite3 search "money paid twice because a device was restarted" --budget 300
	@echo; echo "== 4. The page: the tree, and behind each sentence the words it rests on =="; echo
	@$(BIN)/python -m pip install --quiet --quiet --editable '.[web]'
	@(TREEMEM_MODELS=$(MODELS) nohup $(BIN)/treemem --db $(DEMO)/memory.sqlite3 serve --no-open \
	  --idle 30 > $(DEMO)/page.log 2>&1 < /dev/null &)
	@for try in $$(seq 100); do grep -q '^http' $(DEMO)/page.log && break; sleep 0.1; done
	@echo "The memory is $(DEMO)/memory.sqlite3. Go on with: $(BIN)/treemem --db $(DEMO)/memory.sqlite3 --help"
	@echo "Its page stops after 30 minutes without a visit. Open it in your browser:"
	@grep '^http' $(DEMO)/page.log || { cat $(DEMO)/page.log; exit 1; }

test: setup  ## Run the tests (about ten minutes on two cores, after the set-up)
	TREEMEM_TEST_MODELS=$(MODELS) $(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal

test-slow: setup  ## Run the long suites too, 200 kills among them
	TREEMEM_TEST_MODELS=$(MODELS) $(BIN)/python -m pytest

test-kills: setup  ## Kill a process at 200 steps of ingest and work, and of a live session
	TREEMEM_TEST_MODELS=$(MODELS) $(BIN)/python -m pytest tests/faults -m slow

test-kill-sample: setup  ## Kill a process at some thirty steps, within about a minute
	$(BIN)/python -m pytest tests/faults -m kill_sample -n 2

test-damages: setup  ## Recover memories from many damages, and kill many upgrades (DAMAGES=200)
	TREEMEM_DAMAGES=$(DAMAGES) $(BIN)/python -m pytest tests/recovery/test_recovering.py -k every_message -n 2
	TREEMEM_UPGRADE_KILLS=$(DAMAGES) $(BIN)/python -m pytest tests/store/file/test_upgrading.py -k killed -n 2

test-bytes: setup  ## Change many bytes of a memory, one at a time: each is found (CHANGES=10000)
	TREEMEM_CHANGES=$(CHANGES) $(BIN)/python -m pytest tests/recovery/test_changed_bytes.py -n 2 -rP

torture: setup  ## Kill each operation, stall it, cut its power, fail its disk (KILLS=2000 IMAGES=5000 STALLS=500 ERRORS=500 SEED=1)
	$(BIN)/python -m tests.faults.torture --kills $(KILLS) --stalls $(STALLS) --images $(IMAGES) --errors $(ERRORS) --seed $(SEED)

# A virtual environment that has nothing but the wheel, used from a folder that is not the checkout.
test-wheel: $(VENV)/.base  ## Build the wheel, install it into a bare environment, and use it there
	@rm -rf build
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	@$(BIN)/python -m venv build/bare
	@build/bare/bin/python -m pip install --quiet --quiet build/wheel/*.whl
	@mkdir build/elsewhere
	@cd build/elsewhere && export TREEMEM_DB=memory.sqlite3 && set -e && \
	  log=$$(../bare/bin/python -c 'import treemem.demo as d; print(d.__path__[0])')/session.jsonl && \
	  ../bare/bin/treemem ingest "$$log" && \
	  ../bare/bin/treemem search "why did farm 0417 lose pickups?" --budget 300 | tee found && \
	  grep -q 0417 found && \
	  ../bare/bin/treemem doctor && echo "The wheel works in a bare environment."

test-types: setup  ## Check that mypy and pyright see the types, in an editable install and in a wheel
	@$(BIN)/python -m pip install --quiet --quiet --group types
	$(BIN)/python -m pytest tests/install -m slow -p no:cacheprovider

# An environment of their own, so that the versions which frameworks want change nothing in .venv.
INTEGRATIONS := .venv-integrations
$(INTEGRATIONS)/.done: pyproject.toml
	@test -x $(INTEGRATIONS)/bin/python || $(PYTHON) -m venv $(INTEGRATIONS)
	@echo "Installing the frameworks into $(INTEGRATIONS) …"
	@$(INTEGRATIONS)/bin/python -m pip install --quiet --quiet --upgrade 'pip>=25.1'
	@$(INTEGRATIONS)/bin/python -m pip install --quiet --quiet \
	  --editable '.[langgraph,llama-index,openai-agents,llm]' --group integrations
	@touch $@

# Frameworks leave event loops open, which Python tells of whenever it collects them.
test-integrations: $(INTEGRATIONS)/.done  ## Test the integrations of frameworks with the real ones
	$(INTEGRATIONS)/bin/python -m pytest -n auto -q tests/integrations tests/test_docs.py \
	  -k 'integrations and not link and not snippets' -W ignore::ResourceWarning \
	  -W ignore::pytest.PytestUnraisableExceptionWarning
	$(INTEGRATIONS)/bin/mypy treemem/integrations

# The quick, model-free heart of the suite; the whole of it runs under the interpreter of .venv.
SMOKE := tests/test_memory.py tests/test_times.py tests/cli tests/store tests/tree tests/queue \
  tests/importers/test_claude_code.py tests/importers/test_nasty.py
test-pythons: $(VENV)/.base  ## Run a smoke suite under each other Python of 3.11 to 3.13 on this machine
	@here=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); set -e; \
	for version in 3.11 3.12 3.13; do \
	  test $$version != $$here || continue; \
	  python=$$(.ci/find-python $$version) || { echo "Python $$version is not on this machine: skipped"; continue; }; \
	  echo "Python $$version: $$python"; \
	  test -x .venv-$$version/bin/python || $$python -m venv .venv-$$version; \
	  .venv-$$version/bin/python -m pip install --quiet --quiet --upgrade 'pip>=25.1'; \
	  .venv-$$version/bin/python -m pip install --quiet --quiet --editable . --group dev; \
	  .venv-$$version/bin/python -m pytest -m "not slow" -n auto -q $(SMOKE); \
	done

docs: $(VENV)/.dev  ## Make the generated pages, and the API reference into build/docs
	@$(BIN)/python -m pip install --quiet --quiet --group docs
	$(BIN)/python docs/build.py build/docs

screenshots: setup  ## Make the pictures of the page in the documentation; needs a Chromium
	TREEMEM_SCREENSHOTS=$(abspath docs/images) $(BIN)/python -m pytest -p no:cacheprovider tests/web/test_screenshots.py

fuzz: setup  ## Feed damaged logs to every importer, a minute each; FUZZ="--seconds 600"
	@$(BIN)/python -m pip install --quiet --quiet --group fuzz
	$(BIN)/python -m tests.fuzz.fuzz_importers $(FUZZ)

lint: setup  ## Check format, style, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench-smoke: setup  ## Run every benchmark in miniature, to show that it works
	@$(BIN)/python -m pip install --quiet --quiet --group bench
	$(BIN)/python -m benchmarks.scale.report --smoke
	$(BIN)/python -m benchmarks.scale.shapes --smoke
	$(BIN)/python benchmarks/recall.py --sample --budgets 500,2000
	$(BIN)/python benchmarks/known_item.py --smoke
	$(BIN)/python benchmarks/several.py --smoke
	$(BIN)/python -m benchmarks.retrieval.page_latency --smoke
	$(BIN)/python -m benchmarks.scale.growth --smoke
	$(BIN)/python benchmarks/digests.py --smoke
	$(BIN)/python benchmarks/compaction.py --smoke --windows 2000
	$(BIN)/python benchmarks/prefix.py --smoke
	$(BIN)/python benchmarks/session_latency.py --smoke
	$(BIN)/python benchmarks/importers.py --smoke

bench: setup  ## Measure ingest, search and queue, and write docs/benchmarks.md; BENCH="--full"
	@$(BIN)/python -m pip install --quiet --quiet --group bench
	$(BIN)/python -m benchmarks.scale.report $(BENCH)

bench-sample: setup  ## Check in three minutes that summaries of a sample are supported by their messages
	TREEMEM_MODELS=$(MODELS) $(BIN)/python benchmarks/faithfulness.py --sample

bench-faithfulness: setup  ## Measure how far summaries can be trusted; TREEMEM_EVAL is the data folder
	TREEMEM_MODELS=$(MODELS) $(BIN)/python benchmarks/faithfulness.py $(FAITHFULNESS)

bench-recall: setup  ## Measure how much of an answer comes back; RECALL="--data FILE …"
	TREEMEM_MODELS=$(MODELS) $(BIN)/python benchmarks/recall.py $(or $(RECALL),--sample)

bench-latency: setup  ## Measure how long a search takes; LATENCY="--messages 1000000"
	$(BIN)/python benchmarks/latency.py $(LATENCY)

bench-growth: setup  ## Measure what one more session costs in a large memory; GROWTH="--keep FOLDER"
	$(BIN)/python -m benchmarks.scale.growth $(GROWTH)

bench-pages: setup  ## Measure how long the pages take; PAGES="--file MEMORY"
	$(BIN)/python -m benchmarks.retrieval.page_latency $(PAGES)

bench-importers: setup  ## Measure how fast logs are read; IMPORTERS="--megabytes 50"
	$(BIN)/python benchmarks/importers.py $(IMPORTERS)

clean:  ## Remove the virtual environment, the demo and all caches
	rm -rf $(VENV) $(VENV)-3.* $(INTEGRATIONS) $(DEMO) .mypy_cache .pytest_cache .ruff_cache .hypothesis build *.egg-info
