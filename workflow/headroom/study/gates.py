"""The learned gates of a study: which runs have them, which models they leave, and what their jobs are told."""

from collections.abc import Iterator, Mapping
from typing import Any

from headroom.experiments.gates.declared import USUAL_RATE, ScopedGateSettings
from headroom.settings.base import fresh_seed
from headroom.settings.tasks import ClassificationSettings, TaskSettings, TranslationSettings
from headroom.study import trainings
from headroom.study.plan import Plan, leave_out

UNUSED = {
    "hard-concrete": ("kept_shares", "random_draws"),
    "from_scratch": ("penalties", "kept_shares", "random_draws", "gate_learning_rate"),
    "controls": ("penalties",),
}
"""Keys of `gates` that are irrelevant to learned gates, or to their controls."""

OF_THE_STUDY = ("ways", "from_scratch", "from_scratch_random_draws")
"""Keys of `gates` that determine which jobs exist, not their results."""

LEARNED = "hard-concrete.all"
"""The gates whose layouts are trained from the start."""


def gated(plan: Plan) -> list[str]:
    """Return the runs with learned gates."""
    return [run for run in plan.detailed if plan.task(run).gates.ways and _can_be_trained(plan.task(run))]


def list_ways(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the runs with the ways of their learned gates."""
    yield from ((run, way) for run in gated(plan) for way in plan.task(run).gates.ways)


def list_controls(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the runs with the scopes of their controls: all heads, and those of other ways."""
    for run in gated(plan):
        gates = plan.task(run).gates
        yield from ((run, scope) for scope in (gates.scopes if isinstance(gates, ScopedGateSettings) else ["all"]))


def list_layouts(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield the layouts that are trained from the start: run, initial weights or random draw, and lambda."""
    for run in gated(plan):
        task = plan.task(run)
        if not isinstance(task, TranslationSettings) or task.released:
            continue
        starts = ["scratch", *(f"random{draw}" for draw in range(1, task.gates.from_scratch_random_draws + 1))]
        yield from ((run, start, f"{value:g}") for value in task.gates.from_scratch for start in starts)


def saved_controls(plan: Plan, run: str) -> list[str]:
    """Return the names of the controls whose models are saved: no head removed, the smallest random layouts."""
    gates = plan.task(run).gates
    shares = [share for share in gates.kept_shares if share]
    fewest = [f"{min(shares):g}"] if shares else []
    return ["all", *(f"random{draw}-{name}" for name in fewest for draw in range(1, gates.random_draws + 1))]


def survival_tables(plan: Plan, run: str) -> list[str]:
    """Return a run's tables of gates on all heads; empty without learned gates."""
    ways = plan.task(run).gates.ways if run in gated(plan) else ()
    return plan.tables("gates", [f"{run}.{way}" for way in ways if way.endswith(".all")])


def observed_models(plan: Plan, run: str) -> list[tuple[str, str]]:
    """Return the ways and names of the pruned models and controls whose roles are computed."""
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


def settings(method: str, plan: Plan, run: str) -> Mapping[str, Any]:
    """Return the settings of learned gates, of `controls` or of `from_scratch`, and of evaluation."""
    found = plan.sections(run, "gates", "answers", "sampling")
    gates = leave_out(found["gates"], *OF_THE_STUDY, *UNUSED[method])
    gates["learning_rate"] = further_rate(plan, run, plan.task(run).gates.learning_rate)
    return {**found, "gates": gates, **(plan.with_main(run) if method == "controls" else {})}


def tell_gates(plan: Plan, run: str, way: str) -> Mapping[str, Any]:
    """Return what the learning of gates is told."""
    method, scope = way.split(".")
    return {"method": method, "scope": scope, "seed": plan.runs[run].seed, **settings(method, plan, run)}


def tell_observation(_plan: Plan, way: str = "", strength: str = "", **_: str) -> Mapping[str, Any]:
    """Return of which models it is measured where heads point: a run's and an untrained one, or one that gates left."""
    return {"set": "check", **({"name": f"{way}.{strength}"} if way else {"models": ["trained", "untrained"]})}


def tell_controls(plan: Plan, run: str, scope: str) -> Mapping[str, Any]:
    """Return what the controls of learned gates are told."""
    own = {"method": "controls", "scope": scope, "save": saved_controls(plan, run), "seed": plan.runs[run].seed}
    return {**own, **settings("controls", plan, run)}


def tell_layout(plan: Plan, run: str, start: str, **_: str) -> Mapping[str, Any]:
    """Return what the training of a layout from the start is told; it writes only its last checkpoint."""
    found = trainings.settings(plan, run)
    found["training"] = leave_out(found["training"], "early_checkpoints")
    told = {**trainings.tell(plan, run), "seed": new_seed(plan, run), "last_only": True, **found}
    return {**told, **random_draw(start)}


def find_layout(plan: Plan, wildcards: Any, input: Any, output: Any) -> dict[str, str]:
    """Return the flags for the removed heads of a layout, and for the state of its training."""
    profile = f"{input.pruned}/{wildcards.strength}/profile.txt"
    return {**trainings.find_state(plan, wildcards, input, output), "profile": profile}


def find_other(plan: Plan, wildcards: Any, input: Any, _output: Any) -> dict[str, str]:
    """Return the flag for the model of a layout that was trained from the start."""
    return {"other": plan.checkpoint(input.pruned, wildcards.run)}


def find_pruned(plan: Plan, wildcards: Any, input: Any, _output: Any) -> dict[str, str]:
    """Return the flag for a model that gates or controls left."""
    return {"checkpoint": plan.checkpoint(f"{input.pruned}/{wildcards.strength}", wildcards.run)}


def tell_trained_layout(plan: Plan, run: str, start: str, strength: str) -> Mapping[str, Any]:
    """Return what the evaluation of a layout is told: its random draw, lambda and seed."""
    own = {**random_draw(start), "setting": float(strength), "seed": new_seed(plan, run)}
    return {**own, **settings("from_scratch", plan, run)}


def new_seed(plan: Plan, run: str) -> int:
    """Return the seed of a layout trained from the start: not that of its run."""
    return fresh_seed(plan.runs[run].seed)


def random_draw(start: str) -> dict[str, int]:
    """Return the flag for the number of a random layout; none for a learned one."""
    draw = start.removeprefix("random")
    return {} if draw == start else {"random_draw": int(draw)}


def _can_be_trained(task: TaskSettings) -> bool:
    """Return whether models of a task can be trained further: its text for that is optional with a released model."""
    return task.corpus.source != "sacrebleu" and getattr(task.corpus, "train", "unknown") is not None
