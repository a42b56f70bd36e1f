"""The moments at which jobs are struck, each fixed by what the job calls or writes and not by a clock."""

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
        target: The output that Snakemake is asked for.
        outputs: Patterns of what the job makes, below the project.
        log: The job's log.
        work: The directory of resumable state, for trainings.
        epoch: For trainings: the epoch after which a rerun must go on.
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
    """Return a moment of a stage that has nothing to resume; the first output is asked for."""
    made = tuple(output if output.startswith("reports/") else f"{RESULTS}/{output}" for output in outputs)
    return Moment(name, stage, stop, made[0], made, f"logs/tiny/{log}.log")


def _training(name: str, stage: str, stop: str, run: str, epoch: int) -> Moment:
    """Return a moment of a training."""
    target = f"{RESULTS}/training/{run}.csv"
    made = (target, f"{RESULTS}/runs/{run}/**/*")
    return Moment(name, stage, stop, target, made, f"logs/tiny/{stage}/{run}.log", f"work/tiny/{run}", epoch)


TEXT = _moment(
    "parallel_text: a text half written",
    "acquire",
    "write */.check.target.*",
    "translation/parallel_text",
    ("translation/corpus/corpus.json", "translation/corpus/*"),
)
VOCABULARY = _moment(
    "vocabulary: some of eleven files in place",
    "vocabulary",
    "place */binarised/dict.target.txt",
    "translation/vocabulary",
    ("translation/binarised/prepared.json", "translation/binarised/*"),
)
ENCODER = _moment(
    "encoder: the tokenizer half written",
    "encoder",
    "write */.encoder.*/tokenizer_config.json",
    "entailment/encoder",
    ("entailment/encoder/config.json", "entailment/encoder/*"),
)
# The tiny translation has 21 updates in an epoch, the tiny classification 10.
TRAIN_EPOCH = _training(
    "training: in the middle of epoch 2", "training", "call fairseq.trainer:Trainer.train_step@30", TRAINED, 1
)
TRAIN_STATE = _training("training: a checkpoint half written", "training", "write */.state2.pt.*", TRAINED, 1)
TRAIN_HANDOVER = _training(
    "training: one of two models handed over", "training", "place */runs/*/epoch2.pt", TRAINED, 2
)
TUNE_EPOCH = _training(
    "training of a classifier: in the middle of epoch 2",
    "training",
    "call transformers.trainer:Trainer.training_step@15",
    TUNED,
    1,
)
TUNE_STATE = _training(
    "training of a classifier: a checkpoint half written", "training", "write */states/*/trainer_state.json@2", TUNED, 1
)
TUNE_HANDOVER = _training(
    "training of a classifier: one of two models handed over",
    "training",
    "place */runs/*/epoch2/model.safetensors",
    TUNED,
    2,
)
ABLATION = _moment(
    "ablation: in the middle of the sweep",
    "ablation",
    "call headroom.methods.judging:Judge._outcome@6",
    f"ablation/{CLASSIFIER}",
    (f"ablation/{CLASSIFIER}.csv", f"ablation_halves/{CLASSIFIER}.csv"),
)
PRUNING = _moment(
    "pruning: in the middle of the sweep",
    "pruning",
    "call headroom.methods.judging:Judge._outcome@5",
    f"pruning/{TRANSLATOR}.all",
    (f"pruning/{TRANSLATOR}.all.csv",),
)
GATES = _moment(
    "gates: while gates learn",
    "gates",
    "call headroom.methods.continued_training:_step@3",
    f"gates/{TRANSLATOR}.hard-concrete.E",
    (
        f"pruned_models/{TRANSLATOR}.hard-concrete.E.csv",
        f"gates/{TRANSLATOR}.hard-concrete.E.csv",
        f"pruned_models/{TRANSLATOR}/hard-concrete.E/**/*",
    ),
)
GATES_MODEL = _moment(
    "gates: a pruned model half written",
    "gates",
    "write */new/.headroom.json.*",
    f"gates/{CLASSIFIER}.exact.all",
    (
        f"pruned_models/{CLASSIFIER}.exact.all.csv",
        f"gates/{CLASSIFIER}.exact.all.csv",
        f"pruned_models/{CLASSIFIER}/exact.all/**/*",
    ),
)
TABLE = _moment(
    "settling: a table half written",
    "settling",
    f"write */settling/.{TUNED}.csv.*",
    f"settling/{TUNED}",
    (f"settling/{TUNED}.csv",),
)
REPORT = _moment(
    "report: the page in place, a figure half written",
    "report",
    "write */figures/.curves.svg.*",
    "report",
    ("reports/tiny.html", "figures/*", "benchmarks/report.tsv"),
)

MOMENTS = (
    *(TEXT, VOCABULARY, ENCODER, TRAIN_EPOCH, TRAIN_STATE, TRAIN_HANDOVER),
    *(TUNE_EPOCH, TUNE_STATE, TUNE_HANDOVER, ABLATION, PRUNING, GATES, GATES_MODEL, TABLE, REPORT),
)
