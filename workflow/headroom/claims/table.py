"""The tables of claims and of the numbers of a study."""

from headroom.core.columns import SIGNATURE, STUDY, VALUE
from headroom.core.table import Column, Table

POOLED = "pooled"
"""Placeholder of the run in rows about all runs of a task."""

ANSWER = "answer"
"""Placeholder of the claim in rows with the numbers of the answer."""

_TASK = Column("task", "text", "name of the task; empty if the study has no task that the claim is about")

_RUN = Column(
    "run",
    "text",
    "name of the run, if runs are judged separately, or `pooled`: the mean of all runs of the task, with an interval"
    " for other trainings on other sentences",
)

_PART = Column(
    "part",
    "text",
    "distinguishes several rows of a run or task: a far set, a kind of attention, a timed part of the model, an effect;"
    " else empty",
)

_VALUE = (
    VALUE,
    Column("low", "number", "lower end of its 95 % interval; empty without one"),
    Column("high", "number", "upper end of the same interval"),
    Column("these_low", "number", "lower end of the interval for the same trainings on other sentences, of a mean"),
    Column("these_high", "number", "upper end of the same interval"),
    Column("unit", "text", "`share`: of 1, written in per cent; `count`: a whole number; `number`: any other"),
)

_CONDITION = (
    Column("side", "text", "where its interval has to lie: `above` or `below` the threshold; empty: nothing is asked"),
    Column("threshold", "number", "what it is held against"),
    Column(
        "refuted",
        "number",
        "an interval wholly on the other side of this number refutes the claim: usually the threshold; infinite if"
        " the model cannot refute it",
    ),
)

CLAIMS = Table(
    path="claims.csv",
    key=("claim", "task", "run", "part"),
    columns=(
        STUDY,
        Column("claim", "text", "number of the claim, as in `workflow/headroom/claims/papers/`"),
        _TASK,
        _RUN,
        _PART,
        *_VALUE,
        Column("number", "text", "short name of the number that gives the verdict, as in `numbers`"),
        *_CONDITION,
        Column(
            "verdict",
            "text",
            "`holds`, `does not hold`, `undecided at this scale`, `not comparable here` or `not run`: what the interval"
            " says; `holds in this model`, `does not hold in this model`: of one training, or of a released model",
        ),
        Column("barrier", "text", "the precondition that is not met, and what was found, if it is not comparable"),
        Column(
            "spread",
            "number",
            "of a verdict in this model: the standard deviation of its number between trainings of one model in the"
            " reference studies but this one; empty if they have none",
        ),
        Column("spread_trainings", "integer", "how many trainings that comes from; 0 for none"),
        Column("votes", "text", "of several runs the verdicts one by one, and outliers among them (Grubbs' test)"),
        Column("ground", "text", "`real text`, `pretrained encoder`, `released model` or `generated text`"),
        Column("trainings", "text", "hashes of the losses of the trainings that it rests on, separated by spaces"),
        Column("seeds", "integer", "number of seeds of the models that the verdict is about; 1 in rows of one run"),
        Column("needed", "text", "what would decide an undecided claim, e.g. how many more seeds; empty if unknown"),
        Column("rule", "text", "function of `headroom.claims` that decided, `<module>.<function>`"),
        SIGNATURE.means("thresholds of the rule as `name:value`, joined by bars; some by `task=value`"),
    ),
    about="The verdict on every claim of the papers, per task: a row for every run that is judged separately, "
    "and the row"
    " `pooled` with the verdict of the task. The value is that of the number that gives the verdict.",
)

NUMBERS = Table(
    path="numbers.csv",
    key=("what", "task", "run", "part", "name", "words"),
    columns=(
        STUDY,
        Column("what", "text", "number of the claim, or `answer`: the sentences at the top of the report"),
        _TASK,
        _RUN,
        _PART,
        Column("name", "text", "short name of the number, within the claim or the answer"),
        *_VALUE,
        Column(
            "ends",
            "text",
            "what its ends are: an `interval`, `bounds` (it lies between, however little the data say) or `counted`"
            " (without error; of several models the smallest and the largest)",
        ),
        Column("least", "number", "the least possible value; empty for none"),
        Column("most", "number", "the largest possible value; empty for none"),
        *_CONDITION,
        Column("signed", "integer", "1 if it is written with a plus sign, as differences are; else 0"),
        Column("words", "text", "template of the text, with `{}` in place of the number; empty for the answer"),
    ),
    about="Every number in a sentence of the report: those behind the verdicts, the main one of a claim first,"
    " and those of the answer.",
)
