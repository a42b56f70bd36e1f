"""The moments of injected faults, each defined by a call or file of the job instead of a clock."""

from dataclasses import dataclass

RESULTS = "results/tiny"
TRAINED, TUNED = "translation.svgd.seed2", "entailment.baseline.seed2"
TRANSLATOR, CLASSIFIER = "translation.baseline.seed1", "entailment.baseline.seed1"

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
        target: The target of Snakemake.
        outputs: Patterns of what the job makes, below the project.
        log: The job's log.
        work: The directory of resumable state, for trainings.
        epoch: For trainings: the epoch after which a rerun must resume.
    """

    name: str
    stage: str
    stop: str
    target: str
    outputs: tuple[str, ...]
    log: str
    work: str = ""
    epoch: int = 0

    def __str__(self) -> str:
        return self.name


def _moment(name: str, stage: str, stop: str, log: str, outputs: tuple[str, ...]) -> Moment:
    """Return a moment of a stage without resumable state; the first output is the target."""
    made = tuple(output if output.startswith("reports/") else f"{RESULTS}/{output}" for output in outputs)
    return Moment(name, stage, stop, made[0], made, f"logs/tiny/{log}.log")


def _training(name: str, stage: str, stop: str, run: str, epoch: int) -> Moment:
    """Return a moment of a training."""
    target = f"{RESULTS}/training/{run}.csv"
    made = (target, f"{RESULTS}/runs/{run}/**/*")
    return Moment(name, stage, stop, target, made, f"logs/tiny/{stage}/{run}.log", f"work/tiny/{run}", epoch)


TEXT = _moment(
    "text: a text half written",
    "acquire",
    "write */.check.target.*",
    "text/translation",
    ("translation/corpus/corpus.json", "translation/corpus/*"),
)
VOCABULARY = _moment(
    "vocabulary: some of eleven files in place",
    "vocabulary",
    "place */binarised/dict.target.txt",
    "vocabulary/translation",
    ("translation/binarised/prepared.json", "translation/binarised/*"),
)
ENCODER = _moment(
    "encoder: the tokenizer half written",
    "encoder",
    "write */.encoder.*/tokenizer_config.json",
    "encoder/entailment",
    ("entailment/encoder/config.json", "entailment/encoder/*"),
)
# The tiny translation has 21 updates in an epoch, the tiny classification 10.
TRAIN_EPOCH, TRAIN_STATE, TRAIN_HANDOVER = (
    _training(f"training: {name}", "training", stop, TRAINED, epoch)
    for name, stop, epoch in (
        ("in the middle of epoch 2", "call fairseq.trainer:Trainer.train_step@30", 1),
        ("a checkpoint half written", "write */.state2.pt.*", 1),
        ("one of two models exported", "place */runs/*/epoch2.pt", 2),
    )
)
TUNE_EPOCH, TUNE_STATE, TUNE_HANDOVER = (
    _training(f"training of a classifier: {name}", "training", stop, TUNED, epoch)
    for name, stop, epoch in (
        ("in the middle of epoch 2", "call transformers.trainer:Trainer.training_step@15", 1),
        ("a checkpoint half written", "write */states/*/trainer_state.json@2", 1),
        ("one of two models exported", "place */runs/*/epoch2/model.safetensors", 2),
    )
)
ABLATION = _moment(
    "ablation: in the middle of the sweep",
    "ablation",
    "call headroom.methods.judging:Judge._outcome@6",
    f"ablation/{CLASSIFIER}.zero",
    (f"ablation/{CLASSIFIER}.zero.csv", f"ablation_halves/{CLASSIFIER}.zero.csv"),
)
PRUNING = _moment(
    "pruning: in the middle of the sweep",
    "pruning",
    "call headroom.methods.judging:Judge._outcome@5",
    f"pruning/{TRANSLATOR}.zero",
    (f"pruning/{TRANSLATOR}.all.zero.csv",),
)
GATES, GATES_MODEL = (
    _moment(
        f"gates: {name}",
        "gates",
        stop,
        f"gates/{run}.{way}",
        (f"pruned_models/{run}.{way}.csv", f"gates/{run}.{way}.csv", f"pruned_models/{run}/{way}/**/*"),
    )
    for name, stop, run, way in (
        ("while gates learn", "call headroom.methods.continued_training:_step@3", TRANSLATOR, "hard-concrete.E"),
        ("a pruned model half written", "write */new/.README.md.*", CLASSIFIER, "exact.all"),
    )
)
TABLE = _moment(
    "settling: a table half written",
    "settling",
    f"write */settling/.{TUNED}.csv.*",
    "rankings",
    (f"settling/{TUNED}.csv",),
)
REPORT = _moment(
    "report: the page half written",
    "report",
    "write */reports/.tiny.html.*",
    "report",
    ("reports/tiny.html", "benchmarks/report.tsv"),
)

MOMENTS = (
    *(TEXT, VOCABULARY, ENCODER, TRAIN_EPOCH, TRAIN_STATE, TRAIN_HANDOVER),
    *(TUNE_EPOCH, TUNE_STATE, TUNE_HANDOVER, ABLATION, PRUNING, GATES, GATES_MODEL, TABLE, REPORT),
)
