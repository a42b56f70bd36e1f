"""Tables of several studies side by side: verdicts, numbers that differ, and curves."""

from headroom.core.table import Column, Table
from headroom.core.tables.claims import CLAIMS, NUMBERS
from headroom.core.tables.columns import STUDY

_KNOWN = {column.name: column for column in (*CLAIMS.columns, *NUMBERS.columns)}
_STUDY = STUDY.means("name of the study; empty in rows about all studies together")
_OTHER = Column("other", "text", "name of the other study, where two are compared; else empty")
_TASK = Column("task", "text", "name of the task; empty if the row is about several, or the study has none")
_ESTIMATE = (_KNOWN["value"], _KNOWN["low"], _KNOWN["high"], _KNOWN["unit"])
_WORDS = _KNOWN["words"].means("words that the number is written in, `{}` where it goes")

COMPARISON = Table(
    path="comparison.csv",
    writers=("compare",),
    runs="",
    key=("claim", "across", "study", "other", "task", "part", "name"),
    columns=(
        _KNOWN["claim"],
        Column(
            "across",
            "text",
            "what studies differ in that decide a claim together: `languages`, `domains` or `tasks`; empty for the"
            " verdict of one study in one task",
        ),
        _STUDY,
        _OTHER,
        _TASK,
        Column("part", "text", "what of the task is judged apart, e.g. a far set; else empty"),
        Column("name", "text", "short name of the number, within the claim; empty without a number"),
        *_ESTIMATE,
        _KNOWN["signed"],
        _WORDS,
        _KNOWN["verdict"],
        Column("needed", "text", "what would decide an undecided claim; empty where that is not known"),
        Column("rule", "text", "function of `headroom.claims` that decided, `<module>.<function>`"),
        _KNOWN["signature"],
    ),
    about="The verdicts on every claim, study by study, each with its main number; and the verdicts on claims about"
    " several languages, domains or tasks, which studies decide together: a row per number behind the verdict (`study`"
    " is empty), and a row for every case that it was decided from.",
)

COMPARISON_DIFFERENCES = Table(
    path="comparison_differences.csv",
    writers=("compare",),
    runs="",
    key=("claim", "study", "task", "other", "other_task"),
    columns=(
        _KNOWN["claim"],
        Column("name", "text", "short name of the number, within the claim"),
        _STUDY.means("name of the study"),
        _TASK.means("name of its task"),
        _OTHER.means("name of the study that is taken off"),
        Column("other_task", "text", "name of the task of that study"),
        *_ESTIMATE[:1],
        Column("low", "number", "lower end of the interval of the difference, 95 % for all rows at once (Bonferroni)"),
        Column("high", "number", "upper end of the same interval"),
        _KNOWN["unit"],
        _WORDS,
        Column("differs", "integer", "1 if the interval excludes 0, else 0"),
        Column("comparisons", "integer", "how many differences the intervals are corrected for"),
    ),
    about="How far the main numbers of claims are apart between studies: every pair of numbers in the same words that"
    " both have an interval. Studies count as independent.",
)

COMPARISON_CURVES = Table(
    path="comparison_curves.csv",
    writers=("compare",),
    runs="",
    key=("study", "task", "removed"),
    columns=(
        _STUDY.means("name of the study"),
        _TASK.means("name of the task"),
        Column("order", "text", "the order of removal, which claims are judged by"),
        Column("normalised", "text", "how its scores were normalised, as in the table `pruning`"),
        Column("removed", "number", "share of all heads that is removed"),
        _KNOWN["value"].means("share of the score above chance that is kept, mean over runs"),
        Column("low", "number", "lower end of its 95 % interval, for other runs on other examples"),
        Column("high", "number", "upper end of the same interval"),
        Column("runs", "integer", "how many runs of the baseline"),
    ),
    about="Pruning curves of every task of every study, in shares, so that they can stand on one axis.",
)
