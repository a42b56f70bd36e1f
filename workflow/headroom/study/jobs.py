"""The jobs of a study: the calls of stages that share a job, its files, and its flags as JSON."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headroom.core.table import Table
from headroom.study.plan import Plan
from headroom.study.stages import Files, Rule, Stage, Values, fill

Call = tuple[Stage, Values]
"""A call of a program, by its wildcards."""

Key = tuple[tuple[str, str], ...]
"""The wildcards of a job with their values."""


@dataclass(frozen=True)
class JobForm:
    """One rule of Snakemake: the jobs of a `Rule` with outputs of the same patterns.

    Attributes:
        name: The name of the rule.
        rule: What it is made of.
        calls: By the wildcards of a job, its calls.
        shard: Whether its jobs evaluate shards.
    """

    name: str
    rule: Rule
    calls: Mapping[Key, Sequence[Call]]
    shard: bool = False

    def wildcards(self, plan: Plan) -> dict[str, list[str]]:
        """Return the values of every wildcard: what all outputs of its jobs have in their names."""
        values = {name: [dict(key)[name] for key in self.calls] for name, _ in next(iter(self.calls))}
        patterns = [path for paths in self._patterns(plan).values() for path in paths]
        return {name: own for name, own in values.items() if all(f"{{{name}}}" in path for path in patterns)}

    def place(self, plan: Plan) -> str:
        """Return the name of its log and benchmark file, with wildcards."""
        name, own = self.rule.title, self.wildcards(plan)
        key = next(iter(self.calls))
        parts = [f"{{{name}}}" if name in own else value for name, value in key]
        whole = "/".join([name, ".".join(parts)]) if parts else name
        return f"{whole}.shard{{shard}}" if self.shard else whole

    def of(self, wildcards: Values) -> Sequence[Call]:
        """Return the calls of a job."""
        key = next(iter(self.calls))
        return self.calls[tuple((name, wildcards.get(name, value)) for name, value in key)]

    def inputs(self, plan: Plan, wildcards: Values) -> dict[str, list[str]]:
        """Return the input files of a job, by call and flag."""
        return {
            name_of(number, flag): list(files)
            for number, (stage, values) in enumerate(self.of(wildcards))
            for flag, files in self._read(plan, stage, values).items()
        }

    def _read(self, plan: Plan, stage: Stage, values: Values) -> Files:
        merged = stage.sharded and not self.shard
        return {
            **stage.reads(plan, values),
            **({"shards": plan.shards(shard_of(stage, plan, values))} if merged else {}),
        }

    def outputs(self, plan: Plan) -> dict[str, list[str]]:
        """Return the patterns of the output files of its jobs, by call and flag."""
        open_ = self.wildcards(plan)
        fixed = {name: value for name, value in next(iter(self.calls)) if name not in open_}
        return {name: [fill(path, fixed) for path in paths] for name, paths in self._patterns(plan).items()}

    def _patterns(self, plan: Plan) -> dict[str, list[str]]:
        """Return the output files with wildcards in the place of everything that differs between jobs."""
        key, calls = next(iter(self.calls.items()))
        found: dict[str, list[str]] = {}
        for number, (stage, values) in enumerate(calls):
            others = {name: value for name, value in values.items() if name not in dict(key)}
            if self.shard:
                found["output"] = [plan.shard(shard_of(stage, plan, others, plan.task_of(values)))]
                continue
            for flag, paths in stage.written(plan, others, plan.task_of(values)).items():
                found[name_of(number, flag)] = [f"{plan.results}/{open_task(path, values)}" for path in paths]
        return found

    def decided_by(self, plan: Plan, wildcards: Values) -> str:
        """Return what decides the results of a job but for files: the flags of its calls, the columns of its tables."""
        calls = self.of(wildcards)
        outputs = [made for stage, values in calls for made in stage.outputs_of(plan, plan.task_of(values)).values()]
        tables = {made.name: made.typed_names for made in outputs if isinstance(made, Table)}
        return as_json([*(stage.decided_by(plan, values) for stage, values in calls), tables])

    def job(self, plan: Plan, wildcards: Values, inputs: Files, outputs: Files) -> str:
        """Return a job as JSON: the flags of every call, by its stage.

        Args:
            plan: The plan.
            wildcards: The wildcards of the job.
            inputs: The input files as they are on the disk, by the names of `inputs`.
            outputs: The output files, by the names of `outputs`.
        """
        calls = []
        for number, (stage, values) in enumerate(self.of(wildcards)):
            read = {flag: inputs[name_of(number, flag)] for flag in self._read(plan, stage, values)}
            names = stage.written(plan, values)
            made = {flag: outputs[name_of(number, flag)] for flag in (["output"] if self.shard else names)}
            flags = {**stage.decided_by(plan, values), **stage.places(plan, values, read, made)}
            if self.shard:
                flags["shard"] = f"{wildcards['shard']}/{plan.study.shards}"
            elif read.get("shards"):
                flags["merge"] = list(read["shards"])
            calls.append([stage.name, flags])
        return as_json(calls)


def forms_of(plan: Plan, rules: Iterable[Rule]) -> list[JobForm]:
    """Return the rules of a study: those with jobs, apart by the patterns of their outputs, and those of shards."""
    return [form for rule in rules for form in _forms_of_rule(plan, rule)]


def _forms_of_rule(plan: Plan, rule: Rule) -> Iterator[JobForm]:
    alike: dict[tuple[str, str], dict[Key, list[Call]]] = {}
    for key, calls in _calls_by_job(plan, rule).items():
        kind = plan.kind_of(plan.task_of(calls[0][1])) if rule.by_kind else ""
        patterns = str(JobForm("", rule, {key: calls}).outputs(plan))
        alike.setdefault((kind, patterns), {})[key] = calls
    names = Counter[str]()
    for (kind, _), jobs in alike.items():
        name = f"{rule.title}_{kind}" if kind else rule.title
        names[name] += 1
        name = f"{name}_{names[name]}" if names[name] > 1 else name
        yield JobForm(name, rule, jobs)
    for stage in (stage for stage in rule.stages if stage.sharded and plan.study.shards > 1):
        shards: dict[Key, Sequence[Call]] = {tuple(one.items()): [(stage, one)] for one in stage.calls(plan)}
        if shards:
            yield JobForm(f"{rule.title}_shard", replace(rule, stages=(stage,), per=None), shards, shard=True)


def _calls_by_job(plan: Plan, rule: Rule) -> dict[Key, list[Call]]:
    found: dict[Key, list[Call]] = {}
    for stage in rule.stages:
        for values in stage.calls(plan):
            own = values.keys() if rule.per is None else rule.per
            found.setdefault(tuple((name, values[name]) for name in own), []).append((stage, values))
    return found


def shard_of(stage: Stage, plan: Plan, values: Values, task: str | None = None) -> str:
    """Return the name of the sweep of a call within the directory of shards."""
    return stage.written(plan, values, task)["output"][0].removesuffix(".csv")


def open_task(path: str, values: Values) -> str:
    """Return a path with a wildcard for the directory of a task, if the job is one of a task."""
    task = values.get("task")
    return path.replace(f"{task}/", "{task}/", 1) if task and path.startswith(f"{task}/") else path


def name_of(call: int, flag: str) -> str:
    """Return the name of files within a job: that of the flag in the first call."""
    return f"{flag}_{call + 1}" if call else flag


def as_json(value: object) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
