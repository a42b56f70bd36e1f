"""The speed of this machine: seconds of every unit of work (`headroom.cost.work`), by the project's own functions.

On the CPU it is the time of the process on its processor: other processes on the machine do not disturb it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from headroom.cost.sample import Sample, classification_sample, translation_sample
from headroom.cost.sizes import Sizes
from headroom.job_settings import JobSettings
from headroom.plan import Plan
from headroom.settings.checks import TRANSLATION

Seconds = dict[str, float]
"""By unit, seconds; `start` is the start of a process."""

PLAIN = "import pandas, scipy.stats, headroom.claims.evaluation"
"""What a process that only reads tables imports."""


class Measured:
    """The measurements of a task.

    Attributes:
        seconds: Seconds by unit.
        heads: The number of heads of every site by its name.
        checkpoint_bytes: The size of a checkpoint.
    """

    def __init__(self, plan: Plan, run: str, sizes: Sizes, place: Path) -> None:
        import torch

        from headroom.engines.sites import pick_device

        torch.set_num_threads(1)
        self.plan, self.run, self.place = plan, run, place
        self.clock = time.process_time if pick_device(plan.study.device).type == "cpu" else _synchronised
        self.seconds: Seconds = {}
        if plan.kind(run) == TRANSLATION:
            self.sample = translation_sample(plan, run, place, sizes.pieces, self.clock)
            self._arms(sizes)
        else:
            self.sample = classification_sample(plan, run, place, self.clock)
            arms = plan.study.tasks[plan.runs[run].task].arms
            self.seconds |= dict.fromkeys((f"train:{arm}" for arm in arms), self.sample.update_seconds)
        self.checkpoint_bytes = _bytes_of(Path(self.sample.checkpoint))
        self._model(self.sample)

    def timed(self, action: Callable[[], Any]) -> float:
        """Return the seconds of an action."""
        start = self.clock()
        action()
        return self.clock() - start

    def _arms(self, sizes: Sizes) -> None:
        """Measure an update in every arm, on a batch of the study's own size."""
        from headroom.stages import update_cost

        data = ["--data", str(self.place / "binarised"), "--output", "-", "--device", self.plan.study.device]
        given = update_cost.build_parser().parse_args([*data, "--settings", JobSettings(self.plan).update_cost()])
        updates, about = update_cost.prepare_updates(given, update_cost.arms_from(given))
        rounds = [{arm: self.timed(update) for arm, update in updates.items()} for _ in range(4)][1:]
        found = {arm: statistics.median(each[arm] for each in rounds) for arm in updates}
        examples = about["pieces"] / (sizes.pieces + 1)
        self.seconds |= {f"train:{arm}": seconds / examples for arm, seconds in found.items()}
        self.seconds["updates"] = sum(found.values())

    def _model(self, sample: Sample) -> None:
        """Measure everything that needs the trained model."""
        engine = sample.engine
        self.seconds["start"] = started([*_stage("evaluation"), *sample.flags, "--sets", "start", "--output",
                                         str(self.place / "start.csv")])  # fmt: skip
        self.seconds["load"] = self.timed(lambda: engine.load(sample.checkpoint))
        self.seconds["start"] = max(0.0, self.seconds["start"] - self.seconds["load"])
        self.seconds["save"] = 2 * self.seconds["load"]
        model = engine.load(sample.checkpoint)
        self.heads = {str(site): site.heads for site in model.sites}
        self._judging(engine, model)
        if self.run in self.plan.tested:
            self.seconds["form"] = self._form(engine, model)
        self._passes(engine, engine.load(sample.checkpoint))  # a model keeps tensors of inference mode
        self._timing(engine, model)

    def _judging(self, engine: Any, model: Any) -> None:
        """Measure the plain model, and interventions by the share of answers that they change."""
        from headroom.core.heads import all_heads
        from headroom.core.interventions import Intervention
        from headroom.methods.judging import Judge, comparisons

        judged = engine.judged_set("test")
        judge = Judge(model, judged)
        size = len(judge.full.answers)
        comparisons(judge, [({}, Intervention.without(all_heads(model.sites)[0]))])  # fills what is computed once
        self.seconds["full"] = self.timed(lambda: judged.judge(model)) / size
        self.seconds["final"] = self.timed(lambda: engine.final(judged, model)) / size
        heads = all_heads(model.sites)
        tried = [Intervention.without(head) for head in heads[1 :: max(1, len(heads) // 6)]]
        tried += [Intervention(frozenset(heads[start::2])) for start in (0, 1)]
        points = []
        for one in tried:
            seconds = self.timed(partial(comparisons, judge, [({}, one)])) / size
            answers = judge.outcome(one).answers
            points.append((sum(a != b for a, b in zip(answers, judge.full.answers)) / size, seconds))
        self.seconds["same"], self.seconds["changed"] = by_change(points)

    def _form(self, engine: Any, model: Any) -> float:
        """Return the seconds of a form of a case; every word of the sample is a case, with one form."""
        from headroom.data.grammar.phenomena import Case
        from headroom.methods.phenomena import ForcedChoices

        text = engine.examples("check")
        cases = [
            (number, Case("word", place, word, (), 0))
            for number, sentence in enumerate(text.target)
            for place, word in enumerate(sentence.split(" "))
        ]
        choices = ForcedChoices(model, text, cases)
        choices.correct()  # fills what is computed once
        return self.timed(choices.correct) / len(cases)

    def _passes(self, engine: Any, model: Any) -> None:
        """Measure passes over examples: scores, relevance, attention statistics, further training."""
        from headroom.core.heads import all_heads
        from headroom.methods.continued_training import continue_training, continued
        from headroom.methods.criteria import scored
        from headroom.methods.pointing import piece_pointing
        from headroom.methods.propagation import rule_of
        from headroom.methods.relevance import relevances

        task: Any = self.plan.task(self.run)
        examples = engine.examples("check")
        batches = engine.batches(model, examples, 32)
        self.seconds["score"] = self.timed(lambda: scored(model, batches)) / len(examples)
        if self.run in self.plan.transformers:
            few = engine.examples("check", 16)
            explained = engine.batches(model, few, 16)
            rule = rule_of(task.relevance)
            self.seconds["relevance"] = self.timed(lambda: relevances(model, explained, rule=rule)) / len(few)
        mapped = engine.load(self.sample.checkpoint, maps=True)
        heads = {live.site: live.kept_heads() for live in mapped.live_sites}
        resamples = self.plan.study.sampling.resamples

        def stats() -> None:
            shown = engine.example_batches(mapped, examples, 32)
            piece_pointing(shown, heads, frequencies=None, frequent=1, resamples=resamples)

        if self.run in self.plan.transformers:
            self.seconds["maps"] = self.timed(stats) / len(examples)
        else:
            self.seconds["maps"] = self.seconds["full"]
        size = min(task.gates.batch_examples, len(examples))
        further = engine.batches(model, examples, size)
        names = all_heads(model.sites)
        source = continued(names).source

        def train(updates: int) -> None:
            settings = task.gates.model_copy(update={"updates": updates})
            way = {"heads": names, "scope": "all", "settings": settings, "seed": 1}
            continue_training(model, batches=further, source=source, **way)

        first, longer = self.timed(partial(train, 2)), self.timed(partial(train, 8))
        self.seconds["gate"] = max(longer - first, 0.1 * longer) / (6 * size)

    def _timing(self, engine: Any, model: Any) -> None:
        """Measure one round of the stage timing, of one model."""
        import torch

        examples = engine.examples("test")
        total = 0.0
        with torch.inference_mode():
            for size in self.plan.task(self.run).timing.batch_sizes:
                work = engine.workload(model, examples, min(size, len(examples)))
                for part in work.parts:
                    action = work.action(model, part)
                    action()
                    total += self.timed(action)
        self.seconds["round"] = total


def by_change(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the seconds of an intervention that changes no answer and of one that changes all, by a straight line.

    Args:
        points: Share of changed answers and seconds of several interventions.
    """
    shares, seconds = [share for share, _ in points], [value for _, value in points]
    if max(shares) - min(shares) < 0.2:
        return statistics.mean(seconds), statistics.mean(seconds)
    slope, intercept = statistics.linear_regression(shares, seconds)
    smallest = min(seconds)
    return max(intercept, 0.5 * smallest), max(slope + intercept, smallest)


def measure(plan: Plan, sizes: Mapping[str, Sizes], place: Path) -> tuple[dict[str, Seconds], dict[str, Measured]]:
    """Measure every task of a study; seconds by task and unit, `""` for stages that only read tables."""
    found = {}
    for task in plan.study.tasks:
        run = next(name for name, one in plan.runs.items() if one.task == task)
        (place / task).mkdir(parents=True)
        found[task] = Measured(plan, run, sizes[task], place / task)
    plain = started([sys.executable, "-c", PLAIN])
    return {"": {"start": plain}, **{task: one.seconds for task, one in found.items()}}, found


def started(command: list[str]) -> float:
    """Return the processor time in seconds of a command, which must succeed."""
    package = str(Path(__file__).parents[2])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": package}
    before = _of_children()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return _of_children() - before


def _stage(name: str) -> list[str]:
    return [sys.executable, "-m", "headroom", name]


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _synchronised() -> float:
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()


def _bytes_of(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    return sum(file.stat().st_size for file in files)
