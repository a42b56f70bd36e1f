"""The experiment: its jobs and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headroom.experiments.experiment import Experiment
from headroom.experiments.gates.declared import GATES, PRUNED_MODELS, USUAL_RATE, ScopedGateSettings
from headroom.experiments.training.declared import TRAINING
from headroom.experiments.training.experiment import TRAIN, scratch_settings, state_of
from headroom.settings.base import fresh_seed
from headroom.settings.tasks import ClassificationSettings, TaskSettings, TranslationSettings
from headroom.study.plan import Plan, leave_out
from headroom.study.stages import Files, Rule, Stage, Values

UNUSED = {
    "hard-concrete": ("kept_shares", "random_draws"),
    "from_scratch": ("penalties", "kept_shares", "random_draws", "gate_learning_rate"),
    "controls": ("penalties",),
}
"""Keys of `gates` that are irrelevant to a method of learned gates, or to its controls."""

OF_THE_STUDY = ("ways", "from_scratch", "from_scratch_random_draws")
"""Keys of `gates` that determine which jobs exist, not their results."""

OUTCOMES = 50
"""Outcomes of pruned models that are kept, at most about so many."""

LEARNED = "hard-concrete.all"
"""The method whose layouts are trained from the start."""


def gated(plan: Plan) -> list[str]:
    """Return the runs with learned gates."""
    return [run for run in plan.detailed if plan.task(run).gates.ways and _can_be_trained(plan.task(run))]


def saved_controls(plan: Plan, run: str) -> list[str]:
    """Return the names of the controls whose models are saved: no head removed, the smallest random layouts."""
    gates = plan.task(run).gates
    shares = [share for share in gates.kept_shares if share]
    fewest = [f"{min(shares):g}"] if shares else []
    return ["all", *(f"random{draw}-{name}" for name in fewest for draw in range(1, gates.random_draws + 1))]


def models_of(plan: Plan, run: str, way: str) -> str:
    """Return the directory of the models of a method of learned gates, or of `controls.<scope>`."""
    return f"{plan.results}/pruned_models/{run}/{way}"


def pruned_checkpoint(plan: Plan, models: str, run: str, name: str) -> str:
    """Return the checkpoint of a pruned model within the directory of its method's models."""
    ending = ".pt" if plan.engine(run) == "fairseq" else ""
    return f"{models}/{name}/epoch{plan.task(run).epochs}{ending}"


def table_of_models(plan: Plan, run: str, way: str) -> str:
    """Return the table of the models of a method of learned gates, or of `controls.<scope>`."""
    name = "pruned_models" if way.startswith("controls") else "gates"
    return f"{plan.results}/{name}/{run}.{way}.csv"


def survival_tables(plan: Plan, run: str) -> list[str]:
    """Return a run's tables of gates on all heads; empty without learned gates."""
    ways = plan.task(run).gates.ways if run in gated(plan) else ()
    return plan.tables("gates", [f"{run}.{way}" for way in ways if way.endswith(".all")])


def stats_of_pruned(plan: Plan, run: str) -> list[tuple[str, str]]:
    """Return the methods and names of the pruned models and controls whose roles are computed."""
    ways = plan.task(run).gates.ways if run in gated(plan) and run in plan.transformers else ()
    way = next((way for way in ("hard-concrete.E", LEARNED) if way in ways), None)
    if way is None:
        return []
    controls = f"controls.{way.partition('.')[2]}"
    pruned = [(way, f"{value:g}") for value in plan.task(run).gates.penalties]
    return [*pruned, *((controls, name) for name in saved_controls(plan, run))]


def further_rate(plan: Plan, run: str, given: float | None) -> float:
    """Return the learning rate of a run's weights in further training: the given one, or the usual one."""
    task = plan.task(run)
    if given or not isinstance(task, ClassificationSettings):
        return given or USUAL_RATE
    tuned = task.released or plan.is_pretrained(plan.runs[run].task)
    return task.training.learning_rate if tuned else USUAL_RATE


def settings(method: str, plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the settings of a method of learned gates, of `controls` or of `from_scratch`, and of evaluation."""
    run = values["run"]
    found = plan.sections(run, "gates", "answers", "sampling")
    gates = leave_out(found["gates"], *OF_THE_STUDY, *UNUSED[method])
    gates["learning_rate"] = further_rate(plan, run, plan.task(run).gates.learning_rate)
    return {**found, "gates": gates, **(plan.with_main(run) if method == "controls" else {})}


def read(plan: Plan, values: Values) -> Files:
    """Return what further training needs: a model, its text, and the table of its training."""
    run = values["run"]
    return {**plan.trained_model(run, "train", "check", "test"), "training": plan.training_table(run)}


def list_ways(plan: Plan) -> Iterator[Values]:
    """Yield the methods of learned gates of every run."""
    yield from ({"run": run, "way": way} for run in gated(plan) for way in plan.task(run).gates.ways)


def list_controls(plan: Plan) -> Iterator[Values]:
    """Yield the scopes of the controls of every run: all heads, and those of other methods."""
    for run in gated(plan):
        gates = plan.task(run).gates
        scopes = gates.scopes if isinstance(gates, ScopedGateSettings) else ["all"]
        yield from ({"run": run, "scope": scope} for scope in scopes)


def list_layouts(plan: Plan) -> Iterator[Values]:
    """Yield the layouts that are trained from the start, by initial weights or random draw, and lambda."""
    for run in gated(plan):
        task = plan.task(run)
        if not isinstance(task, TranslationSettings) or task.released:
            continue
        random = [f"random{draw}" for draw in range(1, task.gates.from_scratch_random_draws + 1)]
        starts = ["scratch", *random]
        for value in task.gates.from_scratch:
            yield from ({"run": run, "start": start, "strength": f"{value:g}"} for start in starts)


def new_seed(plan: Plan, values: Values) -> int:
    """Return the seed of a layout trained from the start: not that of its run."""
    return fresh_seed(plan.runs[values["run"]].seed)


def read_layout(plan: Plan, values: Values) -> Files:
    """Return what the training of a layout needs: what that of its run does, and its layout."""
    run = values["run"]
    learned = [table_of_models(plan, run, LEARNED)]
    return {
        **TRAIN.reads(plan, {"run": run}),
        "models": [models_of(plan, run, LEARNED)],
        "dates": learned,
    }


def name_layout(plan: Plan, values: Values, files: Files) -> Mapping[str, Any]:
    """Return the removed heads, their random draw, and the directory of the state."""
    profile = f"{files['models'][0]}/{values['strength']}/profile.txt"
    state = state_of("{run}.{start}-{strength}".format(**values), plan, files)
    return {"profile": profile, **state, **random_draw(values)}


def random_draw(values: Values) -> dict[str, str]:
    """Return the flag for the number of a random layout; none for a learned one."""
    draw = values["start"].removeprefix("random")
    return {} if draw == values["start"] else {"random_draw": draw}


def layout_checkpoint(plan: Plan, task: str) -> Mapping[str, Any]:
    """Return the outputs of the training of a layout."""
    table = replace(TRAINING, path="training_from_scratch/{run}.{start}-{strength}.csv")
    last = f"from_scratch/{{run}}.{{start}}-{{strength}}/epoch{plan.study.tasks[task].epochs}"
    return {"output": table, "checkpoints": plan.model(task, last)}


def read_trained_layout(plan: Plan, values: Values) -> Files:
    """Return what the evaluation of a layout needs: its run's model, its own, and the table of its training."""
    run, name = values["run"], "{run}.{start}-{strength}".format(**values)
    place = f"{plan.results}/from_scratch/{name}/epoch{plan.task(run).epochs}"
    other = plan.model(plan.task_of(values), place)
    training = plan.tables("training_from_scratch", [name])
    return {**plan.trained_model(run, "train", "check", "test"), "other": other, "training": training}


def layout_flags(plan: Plan, values: Values) -> Mapping[str, Any]:
    """Return the random draw of a layout, its lambda and seed."""
    return {**random_draw(values), "setting": values["strength"], "seed": new_seed(plan, values)}


def _can_be_trained(task: TaskSettings) -> bool:
    """Return whether models of a task can be trained further: its text for that is optional with a released model."""
    if task.released and "gates" in task.unused:
        return False
    return task.corpus.source != "sacrebleu" and getattr(task.corpus, "train", "unknown") is not None


LEARN = Stage(
    name="gates",
    about="learn which heads to keep, with controls",
    group="Without heads",
    calls=list_ways,
    outputs={"models": "pruned_models/{run}/{way}/", "learned": GATES, "output": PRUNED_MODELS},
    reads=read,
    settings=lambda plan, values: settings(values["way"].partition(".")[0], plan, values),
    flags=lambda plan, values: {
        **dict(zip(("method", "scope"), values["way"].split("."))),
        "seed": plan.runs[values["run"]].seed,
    },
    loads_model=True,
)
CONTROL = replace(
    LEARN,
    calls=list_controls,
    outputs={
        "models": "pruned_models/{run}/controls.{scope}/",
        "output": replace(PRUNED_MODELS, path="pruned_models/{run}.controls.{scope}.csv"),
    },
    reads=lambda plan, values: {**read(plan, values), "scores": plan.tables("scores", [values["run"]])},
    settings=lambda plan, values: settings("controls", plan, values),
    flags=lambda plan, values: {
        "method": "controls",
        "scope": values["scope"],
        "save": saved_controls(plan, values["run"]),
        "seed": plan.runs[values["run"]].seed,
    },
)
TRAIN_LAYOUT = replace(
    TRAIN,
    calls=list_layouts,
    outputs=layout_checkpoint,
    reads=read_layout,
    settings=scratch_settings,
    flags=lambda plan, values: {**TRAIN.flags(plan, values), "seed": new_seed(plan, values), "last_only": True},
    derived=name_layout,
)
EVALUATE_LAYOUT = Stage(
    name="from_scratch",
    about="evaluate learned layouts trained from scratch",
    group="Without heads",
    module="headroom.experiments.gates.from_scratch",
    calls=list_layouts,
    outputs={"output": replace(PRUNED_MODELS, path="pruned_models/{run}.{start}-{strength}.csv")},
    reads=read_trained_layout,
    settings=lambda plan, values: settings("from_scratch", plan, values),
    flags=layout_flags,
    loads_model=True,
)


FURTHER: dict[str, Any] = {"priority": 20, "minutes": 600}
EXPERIMENT = Experiment(
    noun="gates",
    rules=(
        Rule(stages=(LEARN,), **FURTHER),
        Rule(stages=(CONTROL,), name="gates_controls", **FURTHER),
        Rule(
            stages=(TRAIN_LAYOUT,),
            name="training_from_scratch",
            priority=20,
            minutes=24 * 60,
            gpus=lambda plan: plan.study.gpus,
        ),
        Rule(stages=(EVALUATE_LAYOUT,), **FURTHER),
    ),
    sections=("page",),
)
