"""The jobs that a changed key reruns in the studies of `reruns.studies`: external text, models and trees."""

from collections.abc import Mapping

from reruns.jobs import REPORT, Jobs, Row, rows
from reruns.studies import OWN_TABLES, PAIRS

OF_TREES = {"attention_stats": 1, "roles": 1, "attention_maps": 1, "rank_correlation": 1}
OF_A_CLASSIFIER = """
    scores evaluation pruning_epochs settling diversity particles ablation keep_one agreement parameters pruning
    pruning_sites timing rank_correlation removal_labelled configuration claims report
"""
SELF_ATTENTIVE = dict.fromkeys(OF_A_CLASSIFIER.split(), 1)
LABELLED = {**SELF_ATTENTIVE, **OF_TREES, "relevance": 1}
TRANSLATED = {name: 1 for name in LABELLED if name != "removal_labelled"} | {"pruning": 4, "removal": 1}
LOOKED_AT = {name: count for name, count in TRANSLATED.items() if name not in ("parameters", "particles")}
"""Jobs downstream of new text for a model that is not trained on it: its weights do not change."""

OTHER_FAR = ("packaged", "hops")
"""Tasks whose far domains are not those of the first task of their study."""

PREPARED = {"vocabulary": 1, "training_translation": 1, **TRANSLATED}


def fine_tuned(following: Jobs = LABELLED, *, encoder: str = "encoder_pretrained") -> Jobs:
    """Return the jobs of a new encoder of a task, which the rule `encoder` makes if it is not pretrained."""
    return {encoder: 1, "training_classification": 1, **following}


def labelled(task: str, following: Jobs = LABELLED, *, encoder: str = "encoder_pretrained") -> Jobs:
    """Return the jobs of new text of a task."""
    rule = "labelled_text_2" if task in OTHER_FAR else "labelled_text"
    return {rule: 1, **fine_tuned(following, encoder=encoder)}


ADOPTED_CLASSIFIER = {"released_classification": 1, **LABELLED}
"""The jobs of another classifier that is trained already."""


OWN = [
    Row(
        "translation.corpus.source (files)",
        {"translation.corpus": {"source": "generated"}, "translation.timing": {"batch_sizes": [1]}},
        {"parallel_text": 1, "phenomena": 1, **PREPARED},
    ),
    *rows(
        {"parallel_text": 1, **PREPARED},
        {
            f"translation.corpus.{name}.{side} (files)": f"text/other.{side}"
            for name in ("train", "valid", "test", "far.news")
            for side in ("source", "target")
        }
        | {"translation.corpus.source_language (files)": "de", "translation.corpus.target_language (files)": "en"},
    ),
    Row("translation.treebank.source (files)", {"translation.treebank": {"source": "none"}}, {**OF_TREES, **REPORT}),
    *rows(
        {"treebank": 1, **OF_TREES, **REPORT},
        {"translation.treebank.path (files)": "text/other.conllu"},
    ),
    Row(
        "classification.reviews.corpus.source (files)",
        {"classification.reviews.corpus": {"source": "catalogue"}},
        labelled("reviews"),
    ),
    *rows(
        labelled("reviews"),
        {
            "classification.reviews.corpus.train (files)": "text/other.tsv",
            "classification.reviews.corpus.valid (files)": "text/other.tsv",
            "classification.reviews.corpus.test (files)": "text/other.tsv",
            "classification.reviews.corpus.far.books (files)": "text/other.tsv",
            "classification.reviews.corpus.labels (files)": ["good", "bad"],
            "classification.reviews.corpus.metrics (files)": ["matthews"],
        },
    ),
    Row(
        "classification.reviews.encoder.source (directory)",
        {"classification.reviews.encoder": {"source": "package"}},
        fine_tuned(),
    ),
    *rows(fine_tuned(), {"classification.reviews.encoder.path (directory)": "encoder2"}),
    Row(
        "classification.reviews.treebank.source (files)",
        {"classification.reviews.treebank": {"source": "none"}},
        {**OF_TREES, **REPORT},
    ),
    *rows(
        {"treebank": 1, **OF_TREES, **REPORT},
        {"classification.reviews.treebank.path (files)": "text/other.conllu"},
    ),
    Row(
        "classification.hops.corpus.source (catalogue)",
        {"classification.hops.corpus": {**OWN_TABLES, "train": "text/train.tsv"}},
        labelled("hops", SELF_ATTENTIVE, encoder="encoder"),
    ),
    *rows(
        labelled("hops", SELF_ATTENTIVE, encoder="encoder"),
        {
            "classification.hops.corpus.dataset (catalogue)": "rte",
            "classification.hops.corpus.far (catalogue)": ["out_of_domain"],
        },
    ),
    Row(
        "classification.hops.encoder.source (self-attentive)",
        {"classification.hops.encoder": {"source": "new"}},
        fine_tuned(encoder="encoder"),
    ),
    *rows(
        fine_tuned(SELF_ATTENTIVE, encoder="encoder"),
        {
            "classification.hops.encoder.embedding (self-attentive)": 32,
            "classification.hops.encoder.hidden (self-attentive)": 32,
            "classification.hops.encoder.attention (self-attentive)": 32,
            "classification.hops.encoder.hops (self-attentive)": 4,
            "classification.hops.encoder.fully_connected (self-attentive)": 64,
            "classification.hops.encoder.dropout (self-attentive)": 0.2,
            "classification.hops.encoder.penalty (self-attentive)": 0.1,
            "classification.hops.encoder.vocabulary (self-attentive)": 1000,
        },
    ),
]

FETCHED = [
    *rows({}, {"mirror": "mirror"}),  # where the bytes come from does not matter, their checksums do
    Row(
        "translation.corpus.source (catalogue)",
        {"translation.corpus": {"source": "files", **PAIRS}},
        {"parallel_text": 1, **PREPARED},
    ),
    *rows({"parallel_text": 1, **PREPARED}, {"translation.corpus.far (catalogue)": ["mscoco"]}),
    Row(
        "translation.treebank.source (catalogue)",
        {"translation.treebank": {"source": "none"}},
        {**OF_TREES, **REPORT},
    ),
    *rows(
        {"treebank": 1, **OF_TREES, **REPORT},
        {"translation.treebank.treebank (catalogue)": "ud-english-ewt"},
    ),
    Row(
        "classification.hub.corpus.source (hub)",
        {"classification.hub.corpus": {"source": "catalogue"}},
        labelled("hub"),
    ),
    *rows(
        labelled("hub"),
        {
            "classification.hub.corpus.dataset (hub)": "someone/other",
            "classification.hub.corpus.name (hub)": "qnli",
            "classification.hub.corpus.revision (hub)": "v1",
            "classification.hub.corpus.sentences (hub)": ["premise", "hypothesis"],
            "classification.hub.corpus.label (hub)": "class",
            "classification.hub.corpus.train (hub)": "train[:98%]",
            "classification.hub.corpus.valid (hub)": "train[98%:]",
            "classification.hub.corpus.test (hub)": "validation",
            "classification.hub.corpus.far.other (hub)": "train[:3%]",
            "classification.hub.corpus.labels (hub)": ["bad", "good"],
            "classification.hub.corpus.metrics (hub)": ["matthews"],
        },
    ),
    Row(
        "classification.hub.encoder.source (hub)",
        {"classification.hub.encoder": {"source": "new"}},
        fine_tuned(encoder="encoder"),
    ),
    *rows(
        fine_tuned(),
        {
            "classification.hub.encoder.name (hub)": "google-bert/bert-base-cased",
            "classification.hub.encoder.revision (hub)": "v1",
        },
    ),
    Row(
        "classification.hub.treebank.source (catalogue)",
        {"classification.hub.treebank": {"source": "none"}},
        {**OF_TREES, **REPORT},
    ),
    *rows(
        {"treebank": 1, **OF_TREES, **REPORT},
        {"classification.hub.treebank.treebank (catalogue)": "ud-english-ewt"},
    ),
    Row(
        "classification.packaged.treebank.source (none)",
        {"classification.packaged.treebank": {"source": "catalogue"}},
        {"treebank": 1, **OF_TREES, **REPORT},
    ),
    Row(
        "classification.packaged.encoder.source (package)",
        {"classification.packaged.encoder": {"source": "directory", "path": "encoder"}},
        fine_tuned(),
    ),
    *rows(
        fine_tuned(),
        {
            "classification.packaged.encoder.package (package)": "another_package",
            "classification.packaged.encoder.directory (package)": "other",
        },
    ),
]

ONLINE = [
    Row(
        "translation.corpus.source (hub)",
        {"translation.corpus": {"source": "catalogue"}},
        {"parallel_text": 1, **PREPARED},
    ),
    *rows(
        {"parallel_text": 1, **PREPARED},
        {
            "translation.corpus.dataset (hub)": "someone/other",
            "translation.corpus.name (hub)": "fr-en",
            "translation.corpus.revision (hub)": "v1",
            "translation.corpus.source_language (hub)": "fr",
            "translation.corpus.target_language (hub)": "fr",
            "translation.corpus.column (hub)": "texts",
            "translation.corpus.train (hub)": "train[:98%]",
            "translation.corpus.valid (hub)": "train[98%:]",
            "translation.corpus.test (hub)": "validation",
            "translation.corpus.far.other (hub)": "train[:3%]",
        },
    ),
    Row(
        "translation.treebank.source (none)",
        {"translation.treebank": {"source": "catalogue"}},
        {"treebank": 1, **OF_TREES, **REPORT},
    ),
]

RELEASED = [
    *rows({}, {"mirror": "mirror"}),
    Row(
        "translation.corpus.source (sacrebleu)",
        {"translation.corpus": {"source": "files", **PAIRS}},
        {"parallel_text": 1, **LOOKED_AT},
    ),
    *rows(
        {"parallel_text": 1, **LOOKED_AT},
        {
            "translation.corpus.pair (sacrebleu)": "en-de",
            "translation.corpus.choose (sacrebleu)": "wmt11",
            "translation.corpus.check (sacrebleu)": "wmt11",
            "translation.corpus.test (sacrebleu)": "wmt11",
            "translation.corpus.far.mtnt (sacrebleu)": "mtnt2019",
        },
    ),
    *rows(
        {"released_translation": 1, **TRANSLATED},
        {
            "translation.released.url": "https://example.org/other.tar",
            "translation.released.sha256": "1" * 64,
            "translation.released.checkpoint_file": "other.pt",
            "translation.released.codes_file": "codes",
            "translation.released.source_language": "de",
            "translation.released.target_language": "de",
            "translation.released.normalise": False,
            "translation.released.split_hyphens": False,
        },
    ),
    *rows(
        ADOPTED_CLASSIFIER,
        {
            "classification.hub.released.name": "someone/other",
            "classification.hub.released.revision": "v1",
        },
    ),
]

ADOPTED = [
    *rows({"released_translation": 1, **TRANSLATED}, {"translation.released.path": "archive.tar"}),
    *rows(ADOPTED_CLASSIFIER, {"classification.reviews.released.path": "classifier2"}),
]

SOURCES: Mapping[str, list[Row]] = {
    "own": OWN,
    "fetched": FETCHED,
    "online": ONLINE,
    "released": RELEASED,
    "adopted": ADOPTED,
}
"""The rows of every study."""
