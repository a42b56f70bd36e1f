"""Every table of a study: for which runs, replacements, epochs or arms each experiment is asked."""

from collections.abc import Iterable

from headroom.experiments.tables import REGISTRY
from headroom.study import curves, gates
from headroom.study.plan import Plan

Key = str | tuple[str, ...]
"""The wildcards of a table, in the order of its path."""


def list_tables(plan: Plan) -> list[str]:
    """Return the tables of a study from which its claims are decided, those of a name together."""
    found = tables_by_name(plan)
    return [path for name in REGISTRY.by_name for path in found.get(name, ())]


def list_resamples(plan: Plan) -> list[str]:
    """Return the resamples that belong to tables of a study."""
    found = tables_by_name(plan)
    resampled = (name for name, table in REGISTRY.by_name.items() if table.resampled)
    return [f"{path.removesuffix('.csv')}.npz" for name in resampled for path in found.get(name, ())]


def tables_by_name(plan: Plan) -> dict[str, list[str]]:
    """Return the tables of a study by name; of an experiment that is not asked for, none."""
    runs, detailed = list(plan.runs), plan.detailed
    transformers, replaced = plan.transformers, plan.replaced
    compared = [task for task in plan.study.tasks if curves.compared(plan, task)]
    retrained = [task for task in compared if plan.study.tasks[task].bakeoff.retraining.updates]
    scopes = [(run, one, kind) for run, kind in replaced for one in curves.list_scopes(plan, run, kind)]
    observed = [(run, *model) for run in detailed for model in gates.observed_models(plan, run)]
    pruned = [(run, f"controls.{scope}") for run, scope in gates.list_controls(plan)]
    pruned += [(run, f"{start}-{strength}") for run, start, strength in gates.list_layouts(plan)]
    asked: dict[str, Iterable[Key]] = {
        "evaluation": runs,
        "ablation": replaced,
        "ablation_halves": replaced,
        "keep_one": replaced,
        "scores": runs,
        "scores_compared": curves.list_families(plan),
        "scores_costs": curves.list_families(plan),
        "agreement": list_ranked(plan),
        "pruning": scopes,
        "pruning_epochs": runs,
        "pruning_compared": curves.list_orders(plan),
        "bakeoff": compared,
        "bakeoff_retraining": [run for task in retrained for run in curves.compared(plan, task)],
        "attention_stats": [*transformers, *observed],
        "distances": transformers,
        "relevance": transformers,
        "roles": [*transformers, *((run, "pruned") for run in dict.fromkeys(run for run, *_ in observed))],
        "phenomena": plan.with_phenomena,
        "minimal_pairs": plan.with_pairs,
        "diversity": runs,
        "particles": runs,
        "gates": gates.list_ways(plan),
        "pruned_models": [*gates.list_ways(plan), *pruned],
        "removal": plan.removable_in_detail,
        "removable": plan.removable_in_detail,
        "parameters": detailed,
        "timing": plan.removable_in_detail,
        "timing_samples": plan.removable_in_detail,
        "training": plan.trained,
    }
    names = {name: [key if isinstance(key, str) else ".".join(key) for key in keys] for name, keys in asked.items()}
    found = {name: plan.tables(name, keys) for name, keys in names.items() if keys}
    return found | ({"update_cost": [f"{plan.results}/update_cost.csv"]} if plan.timed_task else {})


def list_maps(plan: Plan) -> list[str]:
    """Return the files with attention weights of heads with roles."""
    return [f"{plan.results}/attention_maps/{run}.json" for run in plan.detailed if run in plan.transformers]


def list_ranked(plan: Plan) -> list[str]:
    """Return the runs of first arms with several rankings of heads: of epochs, or of sets, criteria, replacements."""
    several = {run for run in plan.runs if plan.is_first_arm(run) and len(plan.every(run)) > 1}
    chosen = {run for task in plan.study.tasks for run in curves.compared(plan, task)}
    return [run for run in plan.runs if run in several | chosen | {*plan.detailed}]


def rankings(plan: Plan, run: str) -> dict[str, list[str]]:
    """Return the tables with rankings of a run's heads, by the flag that takes them."""
    task = plan.runs[run].task
    found = {"scores": plan.tables("scores", [run])}
    if run in curves.compared(plan, task):
        found["compared"] = plan.tables("scores_compared", (f"{run}.{one}" for one in curves.families(plan, task)))
    if run not in plan.detailed:
        return found
    zero, *others = (f"{run}.{one}" for one in plan.task(run).intervention.replacement)
    found |= {"ablation": plan.tables("ablation", [zero]), "replaced": plan.tables("ablation", others)}
    transformer = {run}.intersection(plan.transformers)
    found |= {name: plan.tables(name, transformer) for name in ("attention_stats", "relevance")}
    return {**found, "gates": gates.survival_tables(plan, run), "halves": plan.tables("ablation_halves", [zero])}


def comparison(plan: Plan, task: str) -> dict[str, list[str]]:
    """Return the tables by which the criteria of a task are compared, by the flag that takes them."""
    runs = curves.compared(plan, task)
    orders = [f"{run}.{order}" for run, order in curves.list_orders(plan) if run in runs]
    families = [f"{run}.{family}" for run, family in curves.list_families(plan) if run in runs]
    return {"curves": plan.tables("pruning_compared", orders), "costs": plan.tables("scores_costs", families)}
