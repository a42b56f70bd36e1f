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
    },
}
"""Studies of one seed that are never run: every output is an empty file (`plans.pretend_finished`)."""

FILES = (
    *(f"text/{name}.{kind}" for name in ("train", "valid", "test") for kind in ("source", "target", "tsv")),
    *("text/own.conllu", "release/model.pt"),
    *(f"{place}/{name}" for place in ("encoder", "classifier") for name in ("config.json", "model.safetensors")),
)
"""The user's files that the studies name; Snakemake only requires that they exist."""

HOW = ("mirror", "shards", "epochs_per_job")
"""Keys that change no result, and are not in the report; any other key reruns the rule `configuration`."""

SWEEPS = "pruning pruning_epochs pruning_sites"
TRANSLATING = f"""ablation keep_one {SWEEPS} evaluation gates gates_controls from_scratch removal"""
RESAMPLING = f"""ablation ablation_replaced keep_one keep_one_replaced {SWEEPS} pruning_replaced evaluation gates
    gates_controls bakeoff_curves bakeoff_retraining"""
LABELLING = f"{RESAMPLING} removal_labelled"
OBSERVING = "attention_maps attention_stats diversity parameters particles relevance scores timing"
TRANSLATORS = f"{TRANSLATING} {OBSERVING} attention_stats_pruned phenomena"
"""The rules that load a translation model."""
CLASSIFIERS = f"{LABELLING} {OBSERVING} bakeoff_scores"
SMALL = f"ablation keep_one {SWEEPS} evaluation {OBSERVING}"
"""The rules that load a model without gates and trees."""
TRAINING = "training_translation training_from_scratch update_cost"
CRITERIA = f"scores {SWEEPS} pruning_replaced rank_correlation bakeoff_scores bakeoff_curves bakeoff claims report"
TABLES = "agreement arms attention_maps bakeoff claims overlap rank_correlation report roles roles_pruned settling"

VALUES: Mapping[str, list[tuple[Mapping[str, Any], str]]] = {
    "generated": [
        ({"mirror": "elsewhere"}, ""),
        (
            {"shards": 2},
            f"""ablation ablation_replaced keep_one keep_one_replaced {SWEEPS} pruning_replaced ablation_shard
            ablation_replaced_shard keep_one_shard keep_one_replaced_shard pruning_shard pruning_epochs_shard
            pruning_sites_shard pruning_replaced_shard""",
        ),
        (
            {"epochs_per_job": 1},
            "training_translation training_translation_until training_classification training_classification_until",
        ),
        (
            {"seeds": [1, 2]},
            """training_translation training_classification scores evaluation pruning_epochs settling diversity
            particles attention_stats roles relevance phenomena bakeoff_scores bakeoff_curves bakeoff_retraining
            bakeoff arms overlap claims report""",
        ),
        ({"sampling.resamples": 101}, f"{RESAMPLING} from_scratch attention_stats attention_stats_pruned phenomena"),
        ({"translation.corpus.seed": 2}, "parallel_text"),
        (
            {"translation.treebank.source": "none"},
            "attention_stats attention_stats_pruned attention_maps claims report",
        ),
        ({"translation.vocabulary.size": 2100}, "vocabulary"),
        ({"translation.model.dropout": 0.15}, TRAINING),
        ({"translation.training.learning_rate": 0.004}, TRAINING),
        ({"translation.training.early_checkpoints": [0.5]}, "training_translation scores pruning_epochs"),
        ({"translation.arms.dropping.rate": 0.4}, "training_translation update_cost"),
        ({"translation.decoding.length_offset": 11}, TRANSLATING),
        ({"translation.evaluation.beam": 6}, "evaluation"),
        ({"translation.scores.examples": 19}, "scores pruning"),
        ({"translation.ablation.examples": 9}, "ablation"),
        ({"translation.keep_one.examples": 9}, "keep_one"),
        (
            {"translation.intervention.replacement": ["zero", "mean"]},
            "ablation_replaced keep_one_replaced pruning_replaced claims report",
        ),
        ({"translation.relevance.examples": 3}, "relevance"),
        ({"translation.pruning.step": 0.25}, SWEEPS),
        ({"translation.pruning.random_draws": 9}, "pruning"),
        (
            {"translation.pruning.criteria": ["gradient-token"], "translation.pruning.main": "gradient-token"},
            f"{SWEEPS} gates_controls removal timing rank_correlation overlap arms",
        ),
        ({"translation.removal.share": 0.25}, "removal"),
        ({"translation.timing.repeats": 40}, "timing"),
        ({"translation.update_cost.repeats": 20}, "update_cost"),
        ({"translation.diversity.examples": 10}, "diversity"),
        ({"translation.attention_stats.examples": 19}, "attention_stats attention_stats_pruned"),
        ({"translation.phenomena.examples": 9}, "phenomena"),
        ({"translation.gates.updates": 4}, "gates gates_controls from_scratch"),
        (
            {"translation.gates.penalties": [0.03, 0.1]},
            "gates attention_stats_pruned roles_pruned claims report",
        ),
        ({"classification.pairs.corpus.train": 303}, "labelled_text"),
        ({"classification.pairs.treebank.sentences": 900}, "treebank"),
        ({"classification.pairs.encoder.dropout": 0.2}, "encoder"),
        ({"classification.pairs.training.batch_size": 16}, "training_classification"),
        ({"classification.pairs.training.early_checkpoints": [0.5]}, "training_classification scores pruning_epochs"),
        ({"classification.pairs.arms.dropping.rate": 0.4}, "training_classification"),
        ({"classification.pairs.labelling.examples_at_once": 8}, LABELLING),
        ({"classification.pairs.gates.learning_rate": 0.01}, "gates gates_controls"),
        ({"classification.pairs.bakeoff.examples": 19}, "bakeoff_scores bakeoff_curves"),
        ({"classification.pairs.bakeoff.step": 0.25}, "bakeoff_curves"),
        ({"classification.pairs.bakeoff.retraining.updates": 4}, "bakeoff_retraining"),
    ],
    "files": [
        ({"translation.corpus.train.source": "text/test.source"}, "parallel_text"),
        ({"translation.treebank.path": "text/valid.tsv"}, "treebank"),
        ({"classification.reviews.encoder.path": "classifier"}, "encoder_pretrained"),
        ({"classification.hops.encoder.hops": 4}, "encoder"),
        ({"classification.hub.corpus.revision": "v1"}, "labelled_text"),
    ],
    "released": [
        ({"translation.corpus.pair": "en-de"}, "parallel_text"),
        ({"translation.released.path": "encoder"}, "released_translation"),
        ({"classification.reviews.released.path": "encoder"}, "released_classification"),
    ],
}
"""By study, changed values by dotted key."""

CODE: Mapping[str, Mapping[str, str]] = {
    "generated": {
        "__main__.py": "",
        "plan.py": "",
        "settings/arms.py": "",
        "experiments/ablation/table.py": "",
        "core/table.py": f"{TRANSLATORS} {CLASSIFIERS} {TABLES} {TRAINING} training_classification",
        "core/ranks.py": "agreement bakeoff claims overlap rank_correlation report settling",
        "data/grammar/pairs.py": "labelled_text treebank",
        "data/catalogue.yaml": "",
        "data/providers/__init__.py": "labelled_text parallel_text treebank",
        "data/providers/catalogue.py": "",
        "data/providers/generated.py": "parallel_text",
        "data/providers/generated_pairs.py": "labelled_text treebank",
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
        "engines/repulsion/particles.py": f"{TRAINING} training_classification diversity particles",
        "methods/repair.py": f"""ablation ablation_replaced keep_one keep_one_replaced {SWEEPS} pruning_replaced removal
            removal_labelled bakeoff_curves""",
        "methods/learned_gates.py": "gates gates_controls from_scratch bakeoff_retraining",
        "methods/syntax.py": "attention_stats attention_stats_pruned attention_maps",
        "methods/propagation.py": "relevance",
        "methods/criteria/__init__.py": CRITERIA,
        "methods/criteria/shapley.py": CRITERIA,
        "methods/masked_losses.py": CRITERIA,
        "experiments/scores/stage.py": "scores",
        "experiments/pruning/stage.py": f"{SWEEPS} pruning_replaced",
        "experiments/pruning/claims.py": "claims report",
        "claims/papers/michel.yaml": "claims report",
        "figures/panels.py": "report",
        "experiments/timing/prose.md.j2": "report",
        "report/comparison.py": "",
        "../../docs/report.md": "",
    },
    "files": {
        "../../text/train.source": "parallel_text",
        "../../text/train.tsv": "labelled_text",
        "../../text/own.conllu": "treebank",
        "../../encoder/config.json": "encoder_pretrained",
        "data/providers/files.py": "labelled_text parallel_text treebank",
        "data/providers/hub.py": "labelled_text",
        "data/treebank_catalogue.yaml": "treebank",
        "data/labelled_catalogue.yaml": "labelled_text",
    },
    "released": {
        "../../release/model.pt": "released_translation",
        "../../classifier/config.json": "released_classification",
        "data/providers/sacrebleu.py": "parallel_text",
        "engines/fairseq/released.py": f"{SMALL} removal released_translation",
        "engines/hub/classifier/released.py": f"{SMALL} removal_labelled released_classification",
    },
}
"""By study, edited files by their path from the package."""
