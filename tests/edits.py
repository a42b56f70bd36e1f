"""Edits, and the rules whose jobs they rerun for their own sake; Snakemake adds the jobs downstream."""

from collections.abc import Mapping
from typing import Any

ARMS = {"baseline": {"method": "baseline"}, "dropping": {"method": "drophead", "rate": 0.5}}
PAIRS = {name: {side: f"text/{name}.{side}" for side in ("source", "target")} for name in ("train", "valid", "test")}
TABLES = {"source": "files", "valid": "text/valid.tsv", "test": "text/test.tsv", "labels": ["bad", "good"]}
PLAIN = {"arms": {"baseline": {"method": "baseline"}}, "gates": {"ways": []}}

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "generated": {
        "translation": {
            "corpus": {"source": "generated"},
            "treebank": {"source": "generated"},
            "training": {"epochs": 2},
            "arms": ARMS,
            "gates": {"ways": ["hard-concrete.all"], "penalties": [0.03], "kept_shares": [0.5], "from_scratch": [0.03]},
        },
        "classification": {
            "pairs": {
                "corpus": {"source": "generated"},
                "treebank": {"source": "generated"},
                "encoder": {"source": "new"},
                "training": {"epochs": 2},
                "arms": ARMS,
                "intervention": {"replacement": ["zero", "mean"]},
                "gates": {"ways": ["exact.all"]},
                "bakeoff": {"criteria": ["output-norm"], "retraining": {"updates": 5, "criterion": "output-norm"}},
            },
        },
    },
    "files": {
        "translation": {
            "corpus": {"source": "files", **PAIRS},
            "treebank": {"source": "files", "path": "text/own.conllu"},
            **PLAIN,
        },
        "classification": {
            "reviews": {
                "corpus": {**TABLES, "train": "text/train.tsv"},
                "encoder": {"source": "directory", "path": "encoder"},
                "treebank": {"source": "catalogue"},
                **PLAIN,
            },
            "hub": {
                "corpus": {"source": "hub", "dataset": "nyu-mll/glue", "name": "mnli"},
                "encoder": {"source": "hub"},
                **PLAIN,
            },
            "hops": {
                "corpus": {"source": "catalogue", "dataset": "cola"},
                "encoder": {"source": "self-attentive"},
                **PLAIN,
            },
        },
    },
    "released": {
        "translation": {"corpus": {"source": "sacrebleu"}, "released": {"path": "release"}, **PLAIN},
        "classification": {"reviews": {"corpus": TABLES, "released": {"path": "classifier"}, **PLAIN}},
        "tasks": {
            "novels": {
                "task": "language",
                "corpus": {"source": "files", "path": "text/train.source"},
                "released": {"path": "decoder"},
                "pairs": {"path": "text/train.tsv"},
            },
            "hub": {
                "task": "translation",
                "corpus": {"source": "sacrebleu"},
                "released": {"library": "transformers", "path": "marian", "removable": False},
                "arms": PLAIN["arms"],
            },
        },
    },
}
"""Studies of one seed that are never run: every output is an empty file (`plans.pretend_finished`)."""

FILES = (
    *(f"text/{name}.{kind}" for name in ("train", "valid", "test") for kind in ("source", "target", "tsv")),
    *("text/own.conllu", "text/other.conllu"),
    *(
        f"{place}/{name}"
        for place in ("release", "another")
        for name in ("model.pt", "dict.en.txt", "dict.fr.txt", "bpecodes")
    ),
    *(
        f"{place}/{name}"
        for place in ("encoder", "classifier", "decoder", "marian")
        for name in ("config.json", "model.safetensors", "tokenizer.json")
    ),
)
"""The user's files that the studies name."""

CONTENTS = {
    ".tsv": "sentence\tlabel\tgroup\tgood\tbad\na dog\tgood\tnumber\ta dog sees\ta dog see\n",
    ".conllu": "1\tdogs\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
    ".safetensors": "\x02" + 7 * "\0" + "{}",
    ".json": "{}",
}
"""By their endings, what can be read of them before any job; others have any text."""

HOW = ("mirror", "shards", "epochs_per_job")
"""Keys that change no result, and are not in the report; any other key reruns the rule `configuration`."""

CLASSIFYING = "pruning_classification pruning_classification_2"
SWEEPS = f"pruning_translation {CLASSIFYING} pruning_epochs"
ALONE = "ablation keep_one pruning_epochs evaluation gates gates_controls"
"""The rules that decode or label, of both kinds of tasks."""
TRANSLATING = f"{ALONE} pruning_translation from_scratch removal_translation"
RESAMPLING = f"{ALONE} {SWEEPS} pruning_compared bakeoff_retraining"
LABELLING = f"{ALONE} {CLASSIFYING} pruning_compared bakeoff_retraining removal_classification"
OBSERVING = "attention_maps attention_stats diversity scores timing"
PRUNED = "attention_stats_pruned_translation"
TRANSLATORS = f"{TRANSLATING} {OBSERVING} {PRUNED} phenomena"
"""The rules that load a translation model."""
CLASSIFIERS = f"{LABELLING} {OBSERVING} scores_compared"
SMALL = f"ablation keep_one pruning_epochs evaluation {OBSERVING}"
"""The rules that load a model without gates and trees."""
TRAINING = "training_translation training_from_scratch update_cost"
CRITERIA = f"scores {SWEEPS} rankings scores_compared pruning_compared bakeoff claims report"
TABLES = "attention_maps bakeoff claims rankings report roles"

VALUES: Mapping[str, list[tuple[Mapping[str, Any], str]]] = {
    "generated": [
        ({"mirror": "elsewhere"}, ""),
        (
            {"shards": 2},
            f"""ablation keep_one {SWEEPS} pruning_compared ablation_shard keep_one_shard pruning_shard
            pruning_epochs_shard pruning_compared_shard""",
        ),
        (
            {"epochs_per_job": 1},
            "training_translation training_until_translation training_classification training_until_classification",
        ),
        (
            {"seeds": [1, 2]},
            """training_translation training_classification scores evaluation pruning_epochs rankings diversity
            attention_stats roles phenomena scores_compared pruning_compared bakeoff_retraining bakeoff claims
            report""",
        ),
        ({"sampling.resamples": 101}, f"{RESAMPLING} from_scratch attention_stats {PRUNED} phenomena"),
        ({"translation.corpus.seed": 2}, "text_translation"),
        (
            {"translation.treebank.source": "none"},
            f"attention_stats {PRUNED} attention_maps claims report",
        ),
        ({"translation.vocabulary.size": 2100}, "vocabulary"),
        ({"translation.model.dropout": 0.15}, TRAINING),
        ({"translation.training.learning_rate": 0.004}, TRAINING),
        ({"translation.training.early_checkpoints": [0.5]}, "training_translation scores pruning_epochs"),
        ({"translation.arms.dropping.rate": 0.4}, "training_translation update_cost"),
        ({"translation.decoding.length_offset": 11}, TRANSLATING),
        ({"translation.evaluation.beam": 6}, "evaluation"),
        ({"translation.scores.examples": 19}, "scores pruning_translation"),
        ({"translation.ablation.examples": 9}, "ablation"),
        ({"translation.keep_one.examples": 9}, "keep_one"),
        (
            {"translation.intervention.replacement": ["zero", "mean"]},
            "ablation keep_one pruning_translation_2 claims report",
        ),
        ({"translation.relevance.examples": 3}, "attention_stats"),
        ({"translation.pruning.step": 0.25}, "pruning_translation pruning_epochs"),
        ({"translation.pruning.random_draws": 9}, "pruning_translation"),
        (
            {"translation.pruning.criteria": ["gradient-token"], "translation.pruning.main": "gradient-token"},
            "pruning_translation pruning_epochs gates_controls removal_translation timing rankings",
        ),
        ({"translation.removal.share": 0.25}, "removal_translation"),
        ({"translation.timing.repeats": 40}, "timing"),
        ({"translation.update_cost.repeats": 20}, "update_cost"),
        ({"translation.diversity.examples": 10}, "diversity"),
        ({"translation.attention_stats.examples": 19}, f"attention_stats {PRUNED}"),
        ({"translation.phenomena.examples": 9}, "phenomena"),
        ({"translation.gates.updates": 4}, "gates gates_controls from_scratch"),
        (
            {"translation.gates.penalties": [0.03, 0.1]},
            f"gates {PRUNED} roles claims report",
        ),
        ({"classification.pairs.corpus.train": 303}, "text_classification"),
        ({"classification.pairs.treebank.sentences": 900}, "treebank"),
        ({"classification.pairs.encoder.dropout": 0.2}, "encoder"),
        ({"classification.pairs.training.batch_size": 16}, "training_classification"),
        ({"classification.pairs.training.early_checkpoints": [0.5]}, "training_classification scores pruning_epochs"),
        ({"classification.pairs.arms.dropping.rate": 0.4}, "training_classification"),
        ({"classification.pairs.labelling.examples_at_once": 8}, LABELLING),
        ({"classification.pairs.gates.learning_rate": 0.01}, "gates gates_controls"),
        ({"classification.pairs.bakeoff.examples": 19}, "scores_compared pruning_compared"),
        ({"classification.pairs.bakeoff.step": 0.25}, "pruning_compared"),
        ({"classification.pairs.bakeoff.retraining.updates": 4}, "bakeoff_retraining"),
    ],
    "files": [
        ({"translation.corpus.train.source": "text/test.source"}, "text_translation"),
        ({"translation.treebank.path": "text/other.conllu"}, "treebank"),
        ({"classification.reviews.encoder.path": "classifier"}, "encoder"),
        ({"classification.hops.encoder.hops": 4}, "encoder_2"),
        ({"classification.hub.corpus.revision": "v1"}, "text_classification"),
    ],
    "released": [
        ({"translation.corpus.pair": "en-de"}, "text_translation"),
        ({"translation.released.path": "another"}, "released_translation_2"),
        ({"classification.reviews.released.path": "encoder"}, "released_classification"),
        ({"tasks.novels.released.path": "encoder"}, "released_language"),
        ({"tasks.novels.corpus.seed": 2}, "text_language"),
        ({"tasks.novels.pairs.path": "text/test.tsv"}, "text_language"),
        (
            {"tasks.novels.windows.length": 64},
            f"{SMALL} pruning_language removal_language minimal_pairs",
        ),
        ({"tasks.hub.released.prefix": "say: "}, "released_translation"),
    ],
}
"""By study, changed values by dotted key."""

CODE: Mapping[str, Mapping[str, str]] = {
    "generated": {
        "__main__.py": "",
        "study/plan.py": "",
        "settings/arms.py": "",
        "experiments/ablation/table.py": "",
        "core/table.py": f"{TRANSLATORS} {CLASSIFIERS} {TABLES} {TRAINING} training_classification",
        "core/ranks.py": "bakeoff claims rankings report",
        "data/grammar/pairs.py": "text_classification treebank",
        "data/catalogue.yaml": "",
        "data/providers/__init__.py": "text_classification text_translation treebank",
        "data/providers/catalogue.py": "",
        "data/providers/generated.py": "text_translation",
        "data/providers/generated_pairs.py": "text_classification treebank",
        "engines/engine.py": f"{TRANSLATORS} {CLASSIFIERS} training_translation training_from_scratch"
        " training_classification",
        "engines/training.py": f"{TRANSLATORS} {CLASSIFIERS} {TRAINING} training_classification",
        "engines/fairseq/judging.py": TRANSLATORS,
        "engines/fairseq/timing.py": TRANSLATORS,
        "engines/fairseq/trainer.py": f"{TRANSLATORS} {TRAINING}",
        "engines/hub/classifier/model.py": CLASSIFIERS,
        "engines/hub/classifier/encoder.py": f"{CLASSIFIERS} encoder",
        "engines/fairseq/arms.py": TRAINING,
        "engines/hub/classifier/arms.py": "training_classification",
        "engines/repulsion/particles.py": f"{TRAINING} training_classification diversity",
        "methods/repair.py": f"""ablation keep_one {SWEEPS} removal_translation removal_classification
            pruning_compared""",
        "methods/learned_gates.py": "gates gates_controls from_scratch bakeoff_retraining",
        "methods/syntax.py": f"attention_stats {PRUNED} attention_maps",
        "methods/propagation.py": "attention_stats",
        "methods/criteria/__init__.py": CRITERIA,
        "methods/criteria/shapley.py": CRITERIA,
        "methods/masked_losses.py": CRITERIA,
        "experiments/scores/stage.py": "scores scores_compared",
        "experiments/pruning/stage.py": f"{SWEEPS} pruning_compared",
        "experiments/pruning/experiment.py": "",
        "experiments/pruning/claims.py": "claims report",
        "claims/papers/michel.yaml": "claims report",
        "figures/panels.py": "report",
        "experiments/timing/prose.md.j2": "report",
        "report/comparison.py": "",
        "../../docs/report.md": "",
    },
    "files": {
        "../../text/train.source": "text_translation",
        "../../text/train.tsv": "text_classification",
        "../../text/own.conllu": "treebank",
        "../../encoder/config.json": "encoder",
        "data/providers/files.py": "text_classification text_translation treebank",
        "data/providers/hub.py": "text_classification",
        "data/treebank_catalogue.yaml": "treebank",
        "data/labelled_catalogue.yaml": "text_classification",
    },
    "released": {
        "../../release/model.pt": "released_translation_2",
        "../../classifier/config.json": "released_classification",
        "data/providers/sacrebleu.py": "text_translation",
        "engines/fairseq/released.py": f"{SMALL} pruning_translation removal_translation released_translation_2",
        "engines/hub/classifier/released.py": f"""{SMALL} pruning_classification removal_classification
            released_classification""",
        "../../decoder/model.safetensors": "released_language",
        "../../text/train.source": "text_language",
        "engines/hub/causal/windows.py": f"{SMALL} pruning_language removal_language released_language minimal_pairs",
        "data/documents.py": f"""{SMALL} pruning_language removal_language released_language text_language
            text_classification minimal_pairs""",
    },
}
"""By study, edited files by their path from the package."""
