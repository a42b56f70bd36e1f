"""The moments of injected faults, each defined by a file that the job writes instead of a clock."""

from dataclasses import dataclass

RESULTS = "results/tiny"
TRAINED, TUNED = "translation.svgd.seed2", "entailment.baseline.seed2"
CLASSIFIER = "entailment.baseline.seed1"

FAULTS = (
    *("SIGTERM to Snakemake", "SIGKILL to Snakemake", "SIGKILL to all", "Ctrl-C"),
    *("SIGTERM to the job", "SIGKILL to the job", "MemoryError", "killed for memory", "disk full"),
)
"""The columns of the table that `make test-faults` prints."""


@dataclass(frozen=True)
class Moment:
    """A stage and where in it the job is stopped.

    Attributes:
        name: The row of the table that `make test-faults` prints.
        stage: The stage that is stopped.
        stop: Where, in the words of `injected/sitecustomize.py`.
        outputs: Patterns of what the job makes, below the project; the first is the target of Snakemake.
        log: The job's log.
        work: The directory of resumable state, for trainings.
        epoch: For trainings: the epoch after which a rerun must resume.
    """

    name: str
    stage: str
    stop: str
    outputs: tuple[str, ...]
    log: str
    work: str = ""
    epoch: int = 0

    def __str__(self) -> str:
        return self.name


def _moment(name: str, stage: str, stop: str, log: str, outputs: tuple[str, ...]) -> Moment:
    """Return a moment of a stage without resumable state."""
    return Moment(name, stage, stop, tuple(f"{RESULTS}/{output}" for output in outputs), f"logs/tiny/{log}.log")


def _training(name: str, stop: str, run: str, epoch: int, stage: str = "training") -> Moment:
    """Return a moment of a training."""
    made = (f"{RESULTS}/training/{run}.csv", f"{RESULTS}/runs/{run}/**/*")
    return Moment(name, stage, stop, made, f"logs/tiny/training/{run}.log", f"work/tiny/{run}", epoch)


VOCABULARY = _moment(
    "vocabulary: some of eleven files in place",
    "vocabulary",
    "place */binarised/dict.target.txt",
    "vocabulary/translation",
    ("translation/binarised/prepared.json", "translation/binarised/*"),
)
TRAIN_STATE = _training("training: a checkpoint half written", "write */.state2.pt.*", TRAINED, 1)
TRAIN_HANDOVER = _training("training: one of two models exported", "place */runs/*/epoch2", TRAINED, 2)
TUNE_STATE = _training(
    "fine-tuning: a checkpoint half written", "write */states/*/trainer_state.json@2", TUNED, 1, "fine_tuning"
)
GATES_MODEL = _moment(
    "gates: a pruned model half written",
    "gates",
    "write */new/.README.md.*",
    f"gates/{CLASSIFIER}.hard-concrete.all",
    (
        f"pruned_models/{CLASSIFIER}.hard-concrete.all.csv",
        f"gates/{CLASSIFIER}.hard-concrete.all.csv",
        f"pruned_models/{CLASSIFIER}/hard-concrete.all/**/*",
    ),
)
TABLE = _moment(
    "agreement: a table half written",
    "agreement",
    f"write */agreement/.{TUNED}.csv.*",
    "agreement",
    (f"agreement/{TUNED}.csv",),
)
MOMENTS = (VOCABULARY, TRAIN_STATE, TRAIN_HANDOVER, TUNE_STATE, GATES_MODEL, TABLE)
