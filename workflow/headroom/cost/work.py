"""The jobs of a study, each with its amount of work in units whose time is measured (`headroom.cost.machine`).

Units of a task are one example each, unless another is named:
    train:<arm>   an example in an epoch of training, validation excluded
    full          the plain model's answers and losses, as a sweep computes them, with metrics and resamples
    same          an intervention that changes no answer, compared with the plain model
    changed       an intervention that changes every answer, compared with the plain model
    final         the answers of the final scores (beam search)
    score         gradient scores
    relevance     relevance of heads
    maps          attention statistics
    form          a form of a case of a phenomenon, by forced decoding
    gate          an example in further training
    save, load    a checkpoint
    round         one round of the stage timing over all models, parts and batch sizes
    updates       one round of the stage update_cost: an update in every arm
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from headroom.cost.sizes import Sizes
from headroom.plan import Plan
from headroom.settings.checks import TRANSLATION

TYPICAL: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("typical.yaml").read_text("utf-8"))
"""What is not measured on this machine, from a finished study (`benchmarks/typical.py`).

    job_seconds       seconds of a job by stage
    table_seconds     seconds of stages that only read tables, in addition to the start of a process
    sentence_seconds  seconds per sentence of the stages that prepare text
    forward_share     time of an example in the validation after an epoch, relative to training
    changed_answers   share of the answers that change without one head, with one head per site, and at the points of
                      pruning curves; classifiers have no shortcut for unchanged answers
"""

CHANGED, FORWARD = TYPICAL["changed_answers"], TYPICAL["forward_share"]
PLAIN_SECONDS, TEXT_SECONDS = TYPICAL["table_seconds"], TYPICAL["sentence_seconds"]

MASK, MASK_LABELLED = 0.25, 0.45
"""Time of an example under a mask, of that of its gradient scores, in translation and classification: many masks in one
batch, without gradients. From the tables bakeoff_costs of studies/bakeoff.yaml and studies/bakeoff-sst2.yaml."""

SHARED = 0.4
"""Share of a mask that backward elimination computes; what lies below the candidates of a layer is reused."""

PARSED = 1000
"""Sentences of a treebank of the catalogue."""

FORMS = 9.2
"""Forms, correct and wrong, of the cases of a sentence of the generated language: the starter's mean."""


@dataclass(frozen=True)
class Job:
    """One job.

    Attributes:
        stage: Its stage.
        name: The name of its benchmark file, `<stage>/<run>`.
        task: The task whose units count; "" for a stage that only reads tables.
        units: The amount of work by unit.
        seconds: Further time, independent of the machine's measured speed.
        alone: Whether it has the machine to itself.
    """

    stage: str
    name: str
    task: str = ""
    units: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    alone: bool = False


def jobs_of(plan: Plan, sizes: Mapping[str, Sizes], heads: Mapping[str, Mapping[str, int]]) -> list[Job]:
    """Return the jobs of a study.

    Args:
        plan: The plan of the study.
        sizes: The sizes of the text of every task.
        heads: By task, the heads of the model by site.
    """
    found: list[Job] = []
    for task in plan.study.tasks:
        found += _of_text(plan, task, sizes[task])
    for run in plan.runs:
        work = RunWork(plan, run, sizes[plan.runs[run].task], heads[plan.runs[run].task])
        found += work.jobs()
    if TRANSLATION in plan.armed:
        task_settings: Any = plan.study.translation
        rounds = task_settings.update_cost.warmup + task_settings.update_cost.repeats
        found.append(Job("update_cost", "update_cost", TRANSLATION, {"updates": rounds}, alone=True))
    found += [Job("bakeoff", f"bakeoff/{task}") for task in filter(plan.compared, plan.study.tasks)]
    plain = [*(["arms", "overlap"] if plan.armed else []), "claims", "report"]
    return found + [Job(stage, stage, seconds=PLAIN_SECONDS.get(stage, 0.0)) for stage in plain]


def _of_text(plan: Plan, task: str, sizes: Sizes) -> Iterator[Job]:
    total = sum(count for name, count in sizes.examples.items() if name != "valid")
    stage = "parallel_text" if task == TRANSLATION else "labelled_text"
    yield Job("acquire", f"{task}/{stage}", seconds=TEXT_SECONDS["acquire"] * total)
    settings: Any = plan.study.tasks[task]
    if settings.treebank.source != "none":
        yield Job("acquire", f"{task}/treebank")
    if task == TRANSLATION and not settings.released:
        yield Job("vocabulary", f"{task}/vocabulary", task, {}, TEXT_SECONDS["vocabulary"] * total)
    if task != TRANSLATION and not settings.released:
        yield Job("encoder", f"{task}/encoder", task)


@dataclass(frozen=True)
class RunWork:
    """The work of one run.

    Attributes:
        plan: The plan of the study.
        run: The run.
        sizes: The text of its task.
        sites: The number of heads of every site by its name.
    """

    plan: Plan
    run: str
    sizes: Sizes
    sites: Mapping[str, int]

    @property
    def settings(self) -> Any:
        """The settings of the run's task."""
        return self.plan.task(self.run)

    @property
    def heads(self) -> int:
        """The number of heads."""
        return sum(self.sites.values())

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs of the run."""
        plan, run = self.plan, self.run
        if run in plan.trained:
            yield self._job("training", self.training(self.sizes.examples["train"]))
        yield Job("settling", f"settling/{run}")
        yield self._job("evaluation", self._summed(plan.evaluated_sets(run), "final"))
        yield self._job("scores", self.scores())
        yield self._job("diversity", {"load": self.epochs, "maps": self.epochs * self._check(self.settings.diversity)})
        yield self._job("particles", {"load": self.epochs})
        yield self._job("pruning_epochs", self.curves(self.epochs if run in plan.detailed else 1, self.sizes_of_steps))
        if run in plan.transformers:
            yield self._job("relevance", {"load": 1, "relevance": self._check(self.settings.relevance)})
            yield self._job("attention_stats", self.attention_stats(models=2))
            yield Job("roles", f"roles/{run}")
        if run in plan.tested:
            yield self._job("phenomena", self.phenomena())
        if run in plan.detailed:
            yield from self.detailed()
        if run in plan.gated:
            yield from self.gates()
        if run in plan.compared(plan.runs[run].task):
            yield from self.bakeoff()

    def bakeoff(self) -> Iterator[Job]:
        """Yield the jobs that score the heads of a run and measure its curves to compare criteria."""
        plan, run, settings = self.plan, self.run, self.settings.bakeoff
        task, points = plan.runs[run].task, round(1 / settings.step) - 1
        scored, judged = self.sizes.first("choose", settings.examples), self.sizes.first("test", settings.test_examples)
        mask = MASK if task == TRANSLATION else MASK_LABELLED
        passes = {  # of gradient scores
            "loss_ablation": self.heads * mask,
            "backward_elimination": self.heads * (self.heads + 1) / 2 * mask * SHARED,
            "shapley": 100 * self.heads * mask,
            "causal_gating": 300 * settings.batch_examples / max(scored, 1),
            "integrated_gradients": 65,
            "attention_attribution": 16 * len(self.sites),
        }
        for family in plan.bakeoff_families(task):
            units = {"load": 1, "score": scored * passes.get(family, 2)}  # others also score halves
            yield self._job(f"bakeoff_scores/{run}.{family}", units, stage="bakeoff_scores")
        for order in plan.bakeoff_orders(task):
            curves = settings.random_draws if order == "random" else 1 + (order in settings.rescored)
            changed = curves * (1 + len(settings.repairs)) * points * judged
            units = {"load": 1, "full": judged, **self._judged(changed, CHANGED["pruning"])}
            yield self._job(f"bakeoff_curves/{run}.{order}", units, stage="bakeoff_curves")
        if run in plan.retrained(task):
            yield self._job("bakeoff_retraining", self.retraining(judged))

    def retraining(self, judged: int) -> dict[str, float]:
        """Return the work of the further training of layouts and the full model, evaluated before and after it."""
        settings = self.settings.bakeoff.retraining
        models = 3 + settings.random_draws
        trained = models * settings.updates * settings.batch_examples
        return {"load": 1, "gate": trained, "full": (1 + 2 * models) * judged}

    def detailed(self) -> Iterator[Job]:
        """Yield the jobs of a detailed run, without those of learned gates."""
        plan, run, settings = self.plan, self.run, self.settings
        yield self._job("ablation", self.sweep(plan.ablated_sets(run), settings.ablation.examples, CHANGED["ablation"]))
        yield self._job("keep_one", self.sweep(["choose", "test"], settings.keep_one.examples, CHANGED["keep_one"]))
        scopes = [one for one in plan.scopes(run) if one != "sites"]
        for scope in scopes:
            yield self._job(f"pruning/{run}.{scope}", self.orders(scope), stage="pruning")
        for kind in plan.replacements(run):
            ablation = self.sweep(plan.ablated_sets(run), settings.ablation.examples, CHANGED["ablation"])
            yield self._job(f"ablation_replaced/{run}.{kind}", ablation, stage="ablation")
            keep_one = self.sweep(["choose", "test"], settings.keep_one.examples, CHANGED["keep_one"])
            yield self._job(f"keep_one_replaced/{run}.{kind}", keep_one, stage="keep_one")
            for scope in scopes:
                yield self._job(f"pruning_replaced/{run}.{scope}.{kind}", self.orders(scope), stage="pruning")
        sites = [range(1, heads + 1) for heads in self.sites.values()]
        points = sum(min(len(site), self.sizes_of_steps) for site in sites)
        yield self._job(f"pruning/{run}.sites", self.curves(1, points), stage="pruning")
        yield self._job("parameters", {"load": 1})
        for stage in ("agreement", "rank_correlation"):
            yield Job(stage, f"{stage}/{run}", seconds=PLAIN_SECONDS.get(stage, 0.0))
        repaired = self.sizes.examples["choose"] if settings.removal.repair != "none" else 0
        yield self._job("removal", {"load": 3, "full": 3 * self.sizes.examples["test"] + repaired})
        rounds = settings.timing.warmup + settings.timing.repeats
        models = 1 + 2 * len(settings.timing.shares)
        yield self._job("timing", {"load": models, "round": rounds * models}, alone=True)
        if run in plan.transformers:
            yield self._job("attention_maps", {"load": 1})

    @property
    def epochs(self) -> int:
        """The number of checkpoints."""
        return int(self.settings.epochs)

    @property
    def sizes_of_steps(self) -> int:
        """The number of points of a curve, without the plain model."""
        return min(round(1 / self.settings.pruning.step), self.heads)

    def training(self, examples: int) -> dict[str, float]:
        """Return the work of a training."""
        arm, valid = self.plan.runs[self.run].arm, self.sizes.examples["choose"] + self.sizes.examples["check"]
        return {f"train:{arm}": self.epochs * (examples + FORWARD * valid), "save": self.epochs}

    def scores(self) -> dict[str, float]:
        """Return the work of the scores of every epoch, and of those of two halves of the set for detailed runs."""
        examples = self.sizes.first("choose", self.settings.scores.examples)
        return {"load": self.epochs, "score": (self.epochs + 2) * examples}

    def attention_stats(self, models: int) -> dict[str, float]:
        """Return the work of attention statistics: of the sentences of `check`, and of those of the treebank."""
        examples, trees = self._check(self.settings.attention_stats), self.settings.treebank
        parsed = min(PARSED, self.settings.attention_stats.examples or PARSED)
        if trees.source == "generated" and self.run in self.plan.translated:
            parsed = examples
        return {"load": models, "maps": models * (examples + (0 if trees.source == "none" else parsed))}

    def phenomena(self) -> dict[str, float]:
        """Return the work of forced choices: of the model, without its encoder, and without groups of heads.

        Every relation is counted, with its random draws; one without heads that have a role for it takes no work.
        """
        settings, relations = self.settings.phenomena, len(self.settings.attention_stats.relations)
        passes = 2 + relations * (1 + settings.random_draws)
        return {"load": 1, "form": passes * FORMS * self.sizes.first("test", settings.examples)}

    def sweep(self, sets: list[str], limit: int | None, share: float) -> dict[str, float]:
        """Return the work of an intervention per head on sets; `share` of the answers change."""
        examples = sum(self.sizes.first(name, limit) for name in sets)
        return {"load": 1, "full": examples, **self._judged(self.heads * examples, share)}

    def curves(self, checkpoints: int, points: int) -> dict[str, float]:
        """Return the work of the main curve of some checkpoints with a number of points."""
        examples = checkpoints * self.sizes.first("test", self.settings.pruning.test_examples)
        return {"load": checkpoints, "full": examples, **self._judged(points * examples, CHANGED["pruning"])}

    def orders(self, scope: str) -> dict[str, float]:
        """Return the work of the curves of a scope by every order, and of scoring again after each step."""
        settings = self.settings.pruning
        heads = sum(count for site, count in self.sites.items() if scope in ("all", site[0]))
        steps = min(round(1 / settings.step), heads)
        gradient = [name for name in settings.criteria if name.startswith("gradient")]
        others = len(settings.criteria) - len(gradient)
        orders = len(gradient) * (len(settings.normalisations) + 1) + others + 1 + settings.random_draws + 1
        examples = self.sizes.first("choose", self.settings.scores.examples)
        scored = {"score": len(gradient) * (steps - 1) * examples}
        return self.curves(1, orders * (steps - 1) + 1) | scored

    def gates(self) -> Iterator[Job]:
        """Yield the jobs of learned gates, their controls, and layouts trained from the start."""
        plan, run, gates = self.plan, self.run, self.settings.gates
        shares = len(gates.kept_shares) + len(gates.kept_heads)
        for way in gates.ways:
            exact = way.startswith("exact")
            models = shares if exact else len(gates.penalties)
            yield self._job(f"gates/{run}.{way}", self.further(models, 1.4 if exact else 1.0, 2), stage="gates")
        for scope in plan.control_scopes(run):
            models = 1 + shares * (1 + gates.random_draws)
            yield self._job(f"gates/{run}.controls.{scope}", self.further(models, 1.0, 1), stage="gates")
        for name in plan.from_scratch(run):
            training = self.training(self.sizes.examples["train"])
            yield self._job(f"training_from_scratch/{run}.{name}", training, stage="training")
            yield self._job(f"from_scratch/{run}.{name}", self.further(1, 1.0, 2), stage="from_scratch")
        if plan.stats_of_pruned(run):
            yield Job("roles", f"roles/{run}.pruned")
        for way, strength in plan.stats_of_pruned(run):
            name = f"attention_stats/{run}.{way}.{strength}"
            yield self._job(name, self.attention_stats(models=1), stage="attention_stats")

    def further(self, models: int, passes: float, forms: int) -> dict[str, float]:
        """Return the work of further trainings, each evaluated on the test set under some forms of its gates."""
        gates = self.settings.gates
        judged = (1 + models * forms) * self.sizes.first("test", gates.test_examples)
        return {"load": 1 + models, "gate": models * passes * gates.updates * gates.batch_examples, "full": judged}

    def _job(self, name: str, units: Mapping[str, float], *, stage: str | None = None, alone: bool = False) -> Job:
        place = name if stage else f"{name}/{self.run}"
        return Job(stage or name, place, self.plan.runs[self.run].task, units, alone=alone)

    def _check(self, settings: Any) -> int:
        return self.sizes.first("check", settings.examples)

    def _summed(self, sets: list[str], unit: str) -> dict[str, float]:
        return {"load": 1, unit: sum(self.sizes.examples[name] for name in sets)}

    def _judged(self, examples: float, share: float) -> dict[str, float]:
        return {"same": (1 - share) * examples, "changed": share * examples}
