"""Checks across the sections of a configuration; each error names the key and the remedy."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from headroom.core.heads import Site
from headroom.experiments.ablation.declared import AblationSettings
from headroom.experiments.scores.declared import ScoreSettings
from headroom.experiments.timing.declared import TimingSettings
from headroom.settings.arms import Arm, ParticleArm, check_arm
from headroom.settings.base import Settings, fresh_seed
from headroom.settings.labelled import check_treebank
from headroom.settings.models import HubModelSettings, NewEncoder
from headroom.settings.parallel import GeneratedCorpus, SacrebleuCorpus
from headroom.settings.study import Study
from headroom.settings.tasks import (
    ClassificationSettings,
    DocumentsSettings,
    LanguageSettings,
    TaskSettings,
    TranslationSettings,
)

LONGEST_NAME = 60
"""Pattern of the names of arms and tasks, which become part of file names."""


def mistakes(study: Study) -> Iterator[str]:
    """Yield `<key>: <message>` for every inconsistency between sections that are valid individually."""
    if not study.tasks:
        yield "no task; give some in tasks"
    for check in _checks(study):
        try:
            check()
        except ValueError as error:
            yield str(error)


def _checks(study: Study) -> Iterator[Callable[[], None]]:
    yield lambda: check_names(study)
    yield lambda: check_seeds_differ(study)
    yield lambda: check_gpus(study)
    for name, task in study.tasks.items():
        yield from _checks_of_task(f"tasks.{name}", study, task)


def _checks_of_task(place: str, study: Study, task: TaskSettings) -> Iterator[Callable[[], None]]:
    yield lambda: check_seeds(place, study, task)
    yield lambda: check_gpus_of_task(place, study, task)
    yield lambda: check_far_sets(place, task.ablation, task.corpus.far_names)
    yield lambda: check_treebank(place, task.treebank, task.corpus)
    yield lambda: check_replacements(place, task)
    if task.released:
        yield lambda: check_one_arm(place, task.arms)
        yield lambda: check_unused(task, place, task.unused)
        yield lambda: check_retraining(place, task)
        yield lambda: check_texts_of_model(place, task)
    else:
        yield lambda: check_training_text(place, task.corpus)
    if isinstance(task.corpus, GeneratedCorpus):
        corpus = task.corpus
        yield lambda: check_sizes(place, task.timing, task.scores, test=corpus.test, valid=corpus.valid)
    for name in task.arms:
        yield lambda name=name: check_arm_name(place, name)  # type: ignore[misc]
    if isinstance(task, TranslationSettings):
        for name, arm in task.arms.items():
            yield lambda name=name, arm=arm: check_arm_of_translation(f"{place}.arms.{name}", arm, task)  # type: ignore[misc]
    elif isinstance(task, ClassificationSettings):
        for name, arm in task.arms.items():
            yield lambda name=name, arm=arm: check_arm_of_classifier(f"{place}.arms.{name}", arm, task)  # type: ignore[misc]


def check_names(study: Study) -> None:
    """Raise ValueError if a text cannot name a task."""
    for name in study.tasks:
        if not is_name(name):
            raise ValueError(f"tasks.{name}: '{name}' cannot name a task; use letters, digits and hyphens")


def check_seeds_differ(study: Study) -> None:
    """Raise ValueError if a seed is given twice, or equals the seed of another run's models from scratch."""
    if len(set(study.seeds)) < len(study.seeds):
        raise ValueError("seeds: a seed is given twice; give each once")
    if both := [seed for seed in study.seeds if fresh_seed(seed) in study.seeds]:
        raise ValueError(f"seeds: {both[0]} and {fresh_seed(both[0])} are 2^31 apart; choose another for one of them")


def check_seeds(place: str, study: Study, task: TaskSettings) -> None:
    """Raise ValueError if a task has too many or too few seeds."""
    if task.released and len(study.seeds) > 1:
        raise ValueError(f"seeds: {place}.released is a single run; give one seed")
    if task.detailed_seeds > len(study.seeds):
        raise ValueError(
            f"{place}.detailed_seeds: {task.detailed_seeds} exceeds the number of seeds; give at most "
            f"{len(study.seeds)}"
        )


def check_gpus(study: Study) -> None:
    """Raise ValueError if several GPUs are requested without CUDA."""
    if study.gpus > 1 and study.device != "cuda":
        raise ValueError(
            f"gpus: {study.gpus} require device: cuda, which is {study.device}; leave gpus out or change device"
        )


def check_gpus_of_task(place: str, study: Study, task: TaskSettings) -> None:
    """Raise ValueError if the GPUs cannot share the updates of a task's trainings."""
    if isinstance(task, DocumentsSettings) or task.released or study.device != "cuda":
        return
    translates = isinstance(task, TranslationSettings)
    key = "update_frequency" if translates else "batch_size"
    if (size := getattr(task.training, key)) % study.gpus:
        advice = ", and max_tokens smaller by the same factor" if translates else ""
        raise ValueError(
            f"{place}.training.{key}: {study.gpus} gpus cannot share {size}; make it a multiple of {study.gpus}{advice}"
        )


def check_arm_of_translation(place: str, arm: Arm, task: TranslationSettings) -> None:
    """Raise ValueError, with the key, if an arm does not apply to the task's model."""
    heads = arm.heads or task.model.heads
    check_heads_of_arm(place, heads, task.model.width)
    check_arm(place, arm, task.model.model_copy(update={"heads": heads}).sites)


def check_arm_of_classifier(key: str, arm: Arm, task: ClassificationSettings) -> None:
    """Raise ValueError, with the key, if an arm does not apply to the task's encoder."""
    if arm.heads and task.encoder.source not in ("new", "self-attentive"):
        raise ValueError(f"{key}.heads: fixed for a pretrained encoder; leave it out")
    if arm.attention_dropout is not None and task.encoder.source != "new":
        raise ValueError(f"{key}.attention_dropout: applies only to encoders of source new; leave it out")
    if isinstance(arm, ParticleArm) and (decoder := [word for word in arm.sites if word[0] in "AD"]):
        raise ValueError(f"{key}.sites: an encoder has no site {decoder[0]}; choose sites of kind E")
    if task.encoder.source == "self-attentive":
        check_arm(key, arm, [Site("E", 1, arm.heads or task.encoder.hops)])
    if isinstance(task.encoder, NewEncoder):
        heads = arm.heads or task.encoder.heads
        check_heads_of_arm(key, heads, task.encoder.width)
        check_arm(key, arm, [Site("E", layer, heads) for layer in range(1, task.encoder.layers + 1)])


def check_heads_of_arm(key: str, heads: int, width: int) -> None:
    """Raise ValueError, with the key, if the heads of an arm do not divide the model's width."""
    if width % heads:
        raise ValueError(f"{key}.heads: {heads} does not divide the width {width}; give a divisor")


def check_arm_name(place: str, name: str) -> None:
    """Raise ValueError, with the key, if this is not a valid name of an arm."""
    if not is_name(name):
        raise ValueError(f"{place}.arms: invalid name '{name}'; use letters, digits and hyphens")


def is_name(text: str) -> bool:
    """Return whether a text can name an arm or a task: it becomes part of file names and of command lines."""
    return text.replace("-", "").isalnum() and not text.startswith("-") and len(text) <= LONGEST_NAME


def check_one_arm(place: str, arms: Mapping[str, Arm]) -> None:
    """Raise ValueError, with the key, if a model that is not trained has other arms than the baseline."""
    if [arm.method for arm in arms.values()] != ["baseline"]:
        raise ValueError(f"{place}.arms: a released model is not trained; give one arm, baseline: {{method: baseline}}")


def check_unused(task: Settings, name: str, sections: Sequence[str]) -> None:
    """Raise ValueError, with the key, if a task with a released model has sections on training."""
    if unused := [section for section in sections if section in task.model_fields_set]:
        raise ValueError(
            f"{name}.{unused[0]}: does not apply to the released model at {name}.released; leave this section out"
        )


def check_training_text(name: str, corpus: Settings) -> None:
    """Raise ValueError, with the key, if there is no text to train a model on."""
    if isinstance(corpus, SacrebleuCorpus):
        raise ValueError(
            f"{name}.corpus.source: test sets of sacrebleu have no training text; name a model at {name}.released, or "
            "choose another source"
        )
    if getattr(corpus, "train", "unknown") is None:
        raise ValueError(f"{name}.corpus.train: missing; give training text, or a model at {name}.released")


def check_retraining(name: str, task: TaskSettings) -> None:
    """Raise ValueError, with the key, if a released model cannot be trained further, or there is no text for it."""
    key = f"{name}.bakeoff.retraining.updates"
    if task.bakeoff.retraining.updates and isinstance(task, DocumentsSettings):
        raise ValueError(f"{key}: language models are not trained further; set it to 0")
    without = isinstance(task.corpus, SacrebleuCorpus) or getattr(task.corpus, "train", "unknown") is None
    if task.bakeoff.retraining.updates and without:
        raise ValueError(f"{key}: there is no training text; give some at {name}.corpus, or set it to 0")


def check_texts_of_model(name: str, task: TaskSettings) -> None:
    """Raise ValueError, with the key, if languages or a prefix are given for a model that does not translate."""
    if not isinstance(task.released, HubModelSettings) or isinstance(task, TranslationSettings):
        return
    if given := [key for key in ("source_code", "target_code", "prefix") if getattr(task.released, key) is not None]:
        raise ValueError(f"{name}.released.{given[0]}: applies only to translation; leave it out")


def check_replacements(name: str, task: TaskSettings) -> None:
    """Raise ValueError, with the key, if heads say what the first token says, in a model that is no decoder."""
    if "first" in task.intervention.replacement and not isinstance(task, LanguageSettings):
        raise ValueError(
            f"{name}.intervention.replacement: first applies only to language models, whose first position sees itself "
            "alone; leave it out"
        )


def check_far_sets(task: str, ablation: AblationSettings, known: tuple[str, ...]) -> None:
    """Raise ValueError, with the key, if ablation uses far domains that the corpus does not have."""
    if unknown := [name for name in ablation.far_sets or () if name not in known]:
        raise ValueError(
            f"{task}.ablation.far_sets: '{unknown[0]}' is not a far domain of the corpus; choose from "
            f"{', '.join(known) or 'none'}"
        )


def check_sizes(task: str, timing: TimingSettings, scores: ScoreSettings, *, test: int, valid: int) -> None:
    """Raise ValueError, with the key, if experiments need more examples than the corpus will have."""
    largest = max(timing.batch_sizes, default=0)
    if largest > test:
        raise ValueError(
            f"{task}.timing.batch_sizes: a batch of {largest} is larger than the test set; make {task}.corpus.test at "
            f"least {largest}, or leave it out"
        )
    choose = (valid + 1) // 2
    if (scores.examples or 0) > choose:
        raise ValueError(
            f"{task}.scores.examples: {scores.examples} exceeds the examples of `choose`; give at most "
            f"{choose}, half of {task}.corpus.valid"
        )
