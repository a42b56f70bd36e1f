"""The job that decides the claims of the papers from the tables of a study."""

from headroom.claims.table import CLAIMS, NUMBERS
from headroom.core.table import Table
from headroom.experiments.listed import list_experiments
from headroom.experiments.tables import REGISTRY
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values


def list_tables(plan: Plan) -> list[str]:
    """Return the tables of a study, those of a name together."""
    found: dict[str, list[str]] = {name: [] for name in REGISTRY.by_name}
    for experiment in list_experiments():
        for stage in (stage for rule in experiment.rules for stage in rule.stages):
            for values in stage.calls(plan):
                outputs, written = stage.outputs_of(plan, plan.task_of(values)), stage.written(plan, values)
                tables = {flag: made.name for flag, made in outputs.items() if isinstance(made, Table)}
                for flag, name in tables.items():
                    found.setdefault(name, []).extend(written[flag])
    return [f"{plan.results}/{path}" for name in REGISTRY.by_name for path in found[name]]


def list_resamples(plan: Plan) -> list[str]:
    """Return the resamples that belong to tables of the study."""
    places = tuple(f"{plan.results}/{name}/" for name, table in REGISTRY.by_name.items() if table.resampled)
    return [f"{path.removesuffix('.csv')}.npz" for path in list_tables(plan) if path.startswith(places)]


def read(plan: Plan, _values: Values) -> Files:
    """Return the tables of a study with its configuration, and the papers."""
    configuration = [f"{plan.results}/configuration.json"]
    papers = ["<package>/headroom/claims/papers/*.yaml"]
    tables = {"tables": list_tables(plan), "dates": list_resamples(plan)}
    return {**tables, "configuration": configuration, "outside": papers}


DECIDE = Stage(
    name="claims",
    about="decide the claims of the papers from a study's tables, or print them",
    group="Answers",
    module="headroom.claims.stage",
    calls=lambda plan: [{}],
    outputs={"output": CLAIMS, "numbers": NUMBERS},
    reads=read,
    flags=lambda plan, values: {"study": plan.study.study},
)
RULES = (Rule(stages=(DECIDE,), environment="plain", minutes=15),)
