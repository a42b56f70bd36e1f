"""The jobs that a changed key of translation reruns."""

from reruns.jobs import (
    CONTROLS,
    CORPUS,
    EVERY_SET,
    GATES,
    GATES_AND_CONTROLS,
    JUDGED,
    LAST,
    MODEL,
    NEW_DETAILED,
    PHENOMENA,
    POINTING,
    REPORT,
    SCORES,
    SURVIVORS,
    TRAINING,
    Row,
    of_task,
    rows,
)

COMPARED = {"bakeoff_scores": 4, "bakeoff_curves": 12, "bakeoff": 1, **REPORT}

TRANSLATION = [
    *rows(COMPARED, {"translation.bakeoff.criteria": ["wanda"]}),
    Row(
        "translation.bakeoff.rescored",
        {"translation.bakeoff": {"criteria": ["wanda"], "rescored": ["wanda"]}},
        COMPARED,
    ),
    Row(
        "translation.bakeoff.retraining.updates",
        {"translation.bakeoff": {"criteria": ["wanda"], "retraining": {"updates": 3, "criterion": "wanda"}}},
        {**COMPARED, "bakeoff_retraining": 2},
    ),
    *rows(  # nothing is compared
        REPORT,
        {
            "translation.bakeoff.repairs": ["obs"],
            "translation.bakeoff.examples": 19,
            "translation.bakeoff.batch_examples": 8,
            "translation.bakeoff.step": 0.25,
            "translation.bakeoff.test_examples": 10,
            "translation.bakeoff.random_draws": 3,
            "translation.bakeoff.retraining.share": 0.25,
            "translation.bakeoff.retraining.criterion": "wanda",
            "translation.bakeoff.retraining.random_draws": 1,
            "translation.bakeoff.retraining.batch_examples": 4,
            "translation.bakeoff.retraining.learning_rate": 0.01,
        },
    ),
    *of_task("translation", 2, SCORES, {**SURVIVORS, **PHENOMENA}, CONTROLS, "removal", {}),
    *rows({**PHENOMENA, **REPORT}, {"translation.phenomena.examples": 9, "translation.phenomena.random_draws": 2}),
    *rows(
        EVERY_SET,
        {
            "translation.corpus.seed (generated)": 2,
            "translation.corpus.train (generated)": 601,
            "translation.corpus.valid (generated)": 42,
            "translation.corpus.test (generated)": 21,
            "translation.corpus.far (generated)": 21,
        },
    ),
    Row(
        "translation.corpus.source (generated)",
        {"translation.corpus": {"source": "catalogue", "far": []}, "translation.treebank": {"source": "none"}},
        {"parallel_text": 1, **{name: one for name, one in CORPUS.items() if name not in PHENOMENA}},
    ),
    *rows(CORPUS, {"translation.vocabulary.size": 210, "translation.vocabulary.model_type": "unigram"}),
    *rows(
        MODEL,
        {
            "translation.model.encoder_layers": 3,
            "translation.model.decoder_layers": 3,
            "translation.model.heads": 4,
            "translation.model.width": 32,
            "translation.model.feed_forward": 33,
            "translation.model.dropout": 0.1,
            "translation.model.attention_dropout": 0.1,
            "translation.model.pre_norm": True,
            "translation.model.share_embeddings": False,
            "translation.training.learning_rate": 0.004,
            "translation.training.warmup_updates": 11,
            "translation.training.max_tokens": 1025,
            "translation.training.update_frequency": 2,
            "translation.training.label_smoothing": 0.1,
            "translation.training.weight_decay": 0.1,
            "translation.training.clip_norm": 1.0,
            "translation.training.precision": "bfloat16",
        },
    ),
    *rows(TRAINING, {"translation.training.epochs": 3}),
    *rows(
        JUDGED,
        {
            "translation.decoding.length_factor": 2.0,
            "translation.decoding.length_offset": 11,
            "translation.decoding.sentences_at_once": 32,
        },
    ),
    *rows({"evaluation": 4, **LAST}, {"translation.evaluation.beam": 4, "translation.evaluation.length_penalty": 0.6}),
    *rows({**NEW_DETAILED, **GATES_AND_CONTROLS, "pruning": 2, "removal": 1}, {"translation.detailed_seeds": 2}),
    *rows({"pruning": 1, **REPORT}, {"translation.pruning.scopes": ["all", "A", "D"]}),
    *rows(
        {**GATES_AND_CONTROLS, **REPORT},
        {
            "translation.gates.updates": 4,
            "translation.gates.learning_rate": 0.01,
            "translation.gates.gate_learning_rate": 0.2,
            "translation.gates.batch_examples": 4,
            "translation.gates.test_examples": 10,
        },
    ),
    *rows({**GATES, "attention_stats_pruned": 2, **REPORT}, {"translation.gates.penalties": [0.03, 0.1]}),
    *rows(
        {**CONTROLS, **REPORT},
        {
            "translation.gates.kept_shares": [0.25],
            "translation.gates.kept_heads": [3],
        },
    ),
    *rows({**CONTROLS, "attention_stats_pruned": 3, **REPORT}, {"translation.gates.random_draws": 2}),
    *rows(
        {"gates": 1, "rank_correlation": 1, **REPORT},
        {"translation.gates.ways": ["hard-concrete.E", "hard-concrete.all", "exact.all"]},
    ),
    *rows(REPORT, {"translation.gates.from_scratch": []}),
    *rows(
        {"training_from_scratch": 1, "from_scratch": 1, **REPORT},
        {
            "translation.gates.from_scratch_starts": ["scratch", "rewound-epoch1"],
            "translation.gates.from_scratch_random_draws": 2,
        },
    ),
    *rows(
        {"update_cost": 1, **REPORT},
        {
            "translation.update_cost.warmup": 2,
            "translation.update_cost.repeats": 20,
            "translation.update_cost.threads": 2,
        },
    ),
    Row(
        "translation.treebank.source (generated)",
        {"translation.treebank": {"source": "none"}},
        {**POINTING, **SURVIVORS},  # phenomena are measured with gold trees alone
    ),
    Row(
        "translation.treebank.sentences (generated)",  # of classifiers alone: translation has the trees of `check`
        {"translation.treebank": {"source": "generated", "sentences": 900}},
        REPORT,
    ),
]
