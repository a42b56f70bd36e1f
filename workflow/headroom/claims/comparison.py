"""Claims about several languages, domains or tasks, decided across finished studies.

V6 asks about languages and domains, M6 about domains, M15 and R2 about tasks: one study has few of them. A rule takes
the studies and its thresholds (`across` of the claim's entry) and returns a finding. With fewer languages, domains or
tasks than it requires, it is undecided and names what is missing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy

from headroom.claims.entries import Across, Claim, Unlike, all_claims, decide, rule_across
from headroom.claims.evaluation import Decision, needed
from headroom.claims.evidence import by_run
from headroom.claims.finished import Corpus, FinishedStudy
from headroom.claims.paired import common_seeds, difference_of, main_pair
from headroom.claims.pointing import functions_of_runs, likeness
from headroom.claims.repulsion import gain_of
from headroom.claims.roles import TRAINED
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import TRANSLATION, StudyTables
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED, Number, Reading, above, pooled
from headroom.core.statistics import Estimate


@dataclass(frozen=True)
class Case:
    """The verdict of one study, or of a comparison of two, on a claim."""

    study: str
    task: str
    verdict: str
    number: Number  # the main number behind it
    other: str = ""  # the other one of two studies; "" for one alone
    part: str = ""  # what of the task is judged apart, e.g. a far set
    key: tuple[str, ...] = ()  # what is to differ between cases: two of the same key are repetitions
    needed: str = ""  # what would decide it; "" where that is not known

    @property
    def name(self) -> str:
        """The case in words."""
        studies = " and ".join(filter(None, (self.study, self.other)))
        return ", ".join(filter(None, (studies, self.task, self.part)))


@dataclass(frozen=True)
class Finding:
    """The joint finding of studies on a claim."""

    verdict: str
    numbers: tuple[Number, ...] = ()  # the numbers behind it, the main one first
    cases: tuple[Case, ...] = ()  # what it was decided from
    needed: str = ""  # what would decide it; "" of a decided one, and where that is not known


@dataclass(frozen=True)
class Compared:
    """A claim with what studies that differ in something say about it."""

    claim: Claim
    unlike: Unlike
    finding: Finding

    @property
    def entry(self) -> Across:
        """How it is decided."""
        return self.claim.across[self.unlike]


def compare(studies: Sequence[FinishedStudy]) -> list[Compared]:
    """Return the joint verdict of the studies on every claim that requires several."""
    asked = [(claim, unlike) for claim in all_claims().values() for unlike in claim.across]
    return [
        Compared(claim, unlike, rule_across(claim, unlike)(studies, **claim.across[unlike].thresholds))
        for claim, unlike in asked
    ]


# V6: functions of heads


@dataclass(frozen=True)
class _Model:
    """A translation model of ordinary training: the functions of its heads, among those that it was examined for."""

    study: str
    run: str
    corpus: Corpus
    held: frozenset[str]
    examined: frozenset[str]


def functions_across_languages(studies: Sequence[FinishedStudy], *, alike: float) -> Finding:
    """Decide whether models of different languages agree in the functions of their heads."""
    return _functions(studies, alike, lambda one, other: one.languages != other.languages, "between {} languages")


def functions_across_domains(studies: Sequence[FinishedStudy], *, alike: float) -> Finding:
    """Decide whether models of the same languages, trained on different text, agree in the functions of their heads."""

    def unlike(one: Corpus, other: Corpus) -> bool:
        return one.languages == other.languages and "" != one.domain != other.domain != ""

    return _functions(studies, alike, unlike, "between the same languages, on {} text")


def _functions(
    studies: Sequence[FinishedStudy], alike: float, unlike: Callable[[Corpus, Corpus], bool], wanted: str
) -> Finding:
    models = [model for study in studies for model in _models(study)]
    known = [model for model in models if model.corpus.languages]
    pairs = [(one, other) for one, other in combinations(known, 2) if unlike(one.corpus, other.corpus)]
    shares, cases = _shares(pairs), tuple(_function_cases(pairs, alike))
    amount = Number("models", Estimate(float(len(known))), "count")
    if not shares:
        more = ("one more study", "other") if known else ("two studies", "different")
        study = f"{more[0]} of translation {wanted.format(more[1])}, with roles examined"
        lacking = "models whose heads have functions" if pairs else study
        return Finding(UNDECIDED if models else NOT_RUN, (amount,) if models else (), cases, lacking)
    common = Number("common", _spanning(shares), "share", about={"pairs": float(len(shares))})
    seeds = _shares(pair for pair in combinations(known, 2) if pair[0].study == pair[1].study)
    control = [Number("seeds", _spanning(seeds), "share")] if seeds else []
    return Finding(above(common.found, alike), (common, *control, amount), cases)


def _models(study: FinishedStudy) -> Iterator[_Model]:
    if TRANSLATION not in study.tables.tasks:
        return
    view = study.tables.of_task(TRANSLATION)
    held = functions_of_runs(view)
    for rows in by_run(rows_where(view.attention_stats, model=TRAINED), view):
        run = str(rows["run"].iloc[0])
        targets = rows[rows["measure"].isin(["offset", "relation"])]["target"]
        examined = {*targets, *(["rare"] if (rows["measure"] == "rare").any() else [])}
        yield _Model(study.name, run, study.corpus(TRANSLATION), frozenset(held[run]), frozenset(examined))


def _shares(pairs: Iterable[tuple[_Model, _Model]]) -> list[float]:
    """Return the share of common functions of each pair, of those that both models were examined for."""
    found = []
    for one, other in pairs:
        both = one.examined & other.examined
        found += likeness({"one": set(one.held & both), "other": set(other.held & both)})
    return found


def _spanning(shares: Sequence[float]) -> Estimate:
    return Estimate(float(numpy.mean(shares)), min(shares), max(shares))


def _function_cases(pairs: Sequence[tuple[_Model, _Model]], alike: float) -> Iterator[Case]:
    """Yield a case for each pair of studies that differ."""
    for names in dict.fromkeys((one.study, other.study) for one, other in pairs):
        shares = _shares(pair for pair in pairs if (pair[0].study, pair[1].study) == names)
        if shares:
            number = Number("common", _spanning(shares), "share", about={"pairs": float(len(shares))})
            yield Case(names[0], TRANSLATION, above(number.found, alike), number, other=names[1])


# M6: effects in several domains


def effects_across_domains(studies: Sequence[FinishedStudy], *, least: float) -> Finding:
    """Decide whether the effects of removing a head correlate for every pair of domains."""
    claim = all_claims()["M6"]
    cases = []
    for study, view in _asked(studies, claim):
        readings = decide(claim, view)
        for far in dict.fromkeys(reading.part for reading in readings):
            own = [reading for reading in readings if reading.part == far]
            case = _case(study, view, Decision(claim, view.task, tuple(own)))
            cases += [replace(case, part=far, key=(study.corpus(view.task).domain, far))]
    wanted = "a study with a far domain that ablation is repeated on (ablation.far_sets)"
    return _of_all(cases, least, wanted)


# M15 and R2: several tasks


def removable_across_tasks(studies: Sequence[FinishedStudy], *, least: float) -> Finding:
    """Decide whether heads of every task can be removed, each by the rule of one task."""
    claim = all_claims()["M15"]
    cases = []
    for study, view in _asked(studies, claim):
        readings = tuple(decide(claim, view))
        if readings:
            cases.append(_case(study, view, Decision(claim, view.task, readings)))
    return _of_all(cases, least, "a study of another task, with pruning")


def gains_across_tasks(studies: Sequence[FinishedStudy], *, least: float) -> Finding:
    """Decide whether repulsion between heads improves the models of every task.

    A task refutes it by an interval that is corrected for the number of tasks.
    """
    claim = all_claims()["R2"]
    cases = [case for study, view in _asked(studies, claim) for case in _gain(claim, study, view)]
    refuting = [case for case in cases if _surely_loses(studies, case, len(cases))]
    judged = [replace(one, verdict=UNDECIDED) if one.verdict == FAILS and one not in refuting else one for one in cases]
    return _of_all(judged, least, "a study of another task, with a repulsive arm and its baseline")


def _gain(claim: Claim, study: FinishedStudy, view: StudyTables) -> Iterator[Case]:
    pair = main_pair(view)
    gain = gain_of(view, pair) if pair else None
    if pair and gain:
        seeds = common_seeds(view, [pair.arm.name, pair.reference.name])
        reading = Reading(above(gain.found, 0.0), (gain,), seeds=seeds)
        yield _case(study, view, Decision(claim, view.task, (reading,)))


def _surely_loses(studies: Sequence[FinishedStudy], case: Case, comparisons: int) -> bool:
    """Return whether the interval of a gain, corrected for the number of cases, lies below 0."""
    view = next(one.tables.of_task(case.task) for one in studies if one.name == case.study)
    pair = main_pair(view)
    wide = difference_of(view, pair.arm.name, pair.reference.name, comparisons) if pair else None
    return wide is not None and wide.high < 0


def _asked(studies: Sequence[FinishedStudy], claim: Claim) -> Iterator[tuple[FinishedStudy, StudyTables]]:
    """Yield every task of every study that a claim is about."""
    for study in studies:
        yield from ((study, view) for view in study.views() if claim.asked_of(view.task))


def _case(study: FinishedStudy, view: StudyTables, decision: Decision) -> Case:
    key = (view.task, study.corpus(view.task).domain)
    number = pooled(decision.readings)[0]
    return Case(study.name, view.task, decision.verdict, number, key=key, needed=needed(decision))


def _of_all(cases: Sequence[Case], least: float, wanted: str) -> Finding:
    """Return the finding of a claim that must hold in every case, with at least so many different ones.

    It holds if all cases do, and does not hold if one does not.
    """
    if not cases:
        return Finding(NOT_RUN, needed=wanted)
    differing = len({case.key for case in cases})
    holding = sum(case.verdict == HOLDS for case in cases)
    about = {"cases": float(len(cases)), "different": float(differing)}
    number = Number("holding", Estimate(float(holding)), "count", about=about)
    if differing < least:
        return Finding(UNDECIDED, (number,), tuple(cases), wanted)
    if holding == len(cases) or any(case.verdict == FAILS for case in cases):
        return Finding(HOLDS if holding == len(cases) else FAILS, (number,), tuple(cases))
    still = [f"{case.name}: {case.needed or 'not known'}" for case in cases if case.verdict == UNDECIDED]
    return Finding(UNDECIDED, (number,), tuple(cases), "; ".join(still))
