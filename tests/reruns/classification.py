"""What a changed key of a classification task reruns."""

from reruns.jobs import (
    BY_SCORES,
    CONTROLS,
    ENCODER,
    EVERY_PAIR,
    FINE_TUNING,
    GATES_LABELLED,
    JUDGED_LABELLED,
    LAST,
    NEW_DETAILED,
    POINTING,
    REPORT,
    RULES,
    SCORED,
    SCORES_LABELLED,
    Row,
    rows,
)

CLASSIFICATION = [
    *rows(
        EVERY_PAIR,
        {"classification.entailment.corpus.seed (generated)": 2},
    ),
    *rows(
        {"labelled_text": 1, **ENCODER},
        {
            "classification.entailment.corpus.train (generated)": 303,
            "classification.entailment.corpus.valid (generated)": 42,
            "classification.entailment.corpus.test (generated)": 21,
            "classification.entailment.corpus.far (generated)": 21,
        },
    ),
    Row(
        "classification.entailment.corpus.source (generated)",
        {
            "classification.entailment.corpus": {"source": "catalogue", "dataset": "rte"},
            "classification.entailment.treebank": {"source": "none"},
        },
        {"labelled_text": 1, **ENCODER},
    ),
    Row(
        "classification.entailment.encoder.source (new)",
        {"classification.entailment.encoder": {"source": "package"}},
        {"encoder_pretrained": 1, **FINE_TUNING},
    ),
    *rows(
        ENCODER,
        {
            "classification.entailment.encoder.layers (new)": 3,
            "classification.entailment.encoder.heads (new)": 4,
            "classification.entailment.encoder.width (new)": 32,
            "classification.entailment.encoder.feed_forward (new)": 17,
            "classification.entailment.encoder.dropout (new)": 0.2,
            "classification.entailment.encoder.vocabulary (new)": 1999,
        },
    ),
    *rows(
        FINE_TUNING,
        {
            "classification.entailment.training.epochs": 3,
            "classification.entailment.training.learning_rate": 0.002,
            "classification.entailment.training.batch_size": 16,
            "classification.entailment.training.max_length": 64,
            "classification.entailment.training.warmup_share": 0.2,
            "classification.entailment.training.weight_decay": 0.02,
            "classification.entailment.training.clip_norm": 2.0,
            "classification.entailment.training.precision": "bfloat16",
        },
    ),
    *rows(
        JUDGED_LABELLED,
        {
            "classification.entailment.labelling.examples_at_once": 8,
            "classification.entailment.labelling.metrics": ["accuracy", "matthews"],
        },
    ),
    *rows(
        {"ablation": 1, "pruning": 1, "agreement": 1, "rank_correlation": 1, **REPORT},
        {"classification.entailment.ablation.examples": 9},
    ),
    *rows(
        {"keep_one": 1, **REPORT},
        {"classification.entailment.keep_one.examples": 9},
    ),
    *rows(
        {**NEW_DETAILED, **GATES_LABELLED, "pruning": 1, "removal_labelled": 1},
        {"classification.entailment.detailed_seeds": 2},
    ),
    *rows(
        {"ablation": 1, "pruning": 1, "agreement": 1, "rank_correlation": 1, **REPORT},
        {"classification.entailment.ablation.far_sets": []},
    ),
    *rows(
        SCORES_LABELLED,
        {"classification.entailment.scores.examples": 19, "classification.entailment.scores.batch_examples": 8},
    ),
    *rows(
        {"relevance": 4, "rank_correlation": 1, **REPORT},
        {
            "classification.entailment.relevance.examples": 3,
            "classification.entailment.relevance.epsilon": 1e-5,
            "classification.entailment.relevance.batch_examples": 2,
        },
    ),
    *rows(
        {"pruning": 1, "pruning_sites": 1, "pruning_epochs": 4, **LAST},
        {"classification.entailment.pruning.step": 0.25, "classification.entailment.pruning.test_examples": 10},
    ),
    *rows(
        {"pruning": 1, **REPORT},
        {
            "classification.entailment.pruning.criteria": ["gradient-example", "gradient-token"],
            "classification.entailment.pruning.normalisations": ["layer"],
            "classification.entailment.pruning.random_draws": 3,
        },
    ),
    *rows({"removal_labelled": 1, **REPORT}, {"classification.entailment.removal.share": 0.25}),
    Row(
        "classification.entailment.pruning.main",
        {
            "classification.entailment.pruning.criteria": ["gradient-token"],
            "classification.entailment.pruning.main": "gradient-token",
        },
        {"pruning": 1, "removal_labelled": 1, "pruning_epochs": 4, **BY_SCORES, **SCORED},
    ),
    *rows(
        {**GATES_LABELLED, **CONTROLS},
        {
            "classification.entailment.gates.updates": 4,
            "classification.entailment.gates.learning_rate": 0.01,
            "classification.entailment.gates.gate_learning_rate": 0.2,
            "classification.entailment.gates.batch_examples": 4,
            "classification.entailment.gates.test_examples": 10,
            "classification.entailment.gates.kept_shares": [0.25],
            "classification.entailment.gates.kept_heads": [3],
        },
    ),
    *rows(REPORT, {"classification.entailment.gates.penalties": [0.03, 0.1]}),  # of hard-concrete: not in its ways
    *rows(CONTROLS, {"classification.entailment.gates.random_draws": 2}),
    *rows(
        {"gates": 1, "attention_stats_pruned": 3, "roles_pruned": 1, "rank_correlation": 1, **REPORT},
        {"classification.entailment.gates.ways": ["exact.all", "hard-concrete.all"]},
    ),
    *rows(
        {"timing": 1, **REPORT},
        {
            "classification.entailment.timing.shares": [0.25],
            "classification.entailment.timing.batch_sizes": [1, 2],
            "classification.entailment.timing.warmup": 2,
            "classification.entailment.timing.repeats": 4,
            "classification.entailment.timing.threads": 2,
        },
    ),
    *rows(
        {"diversity": 4, **LAST},
        {"classification.entailment.diversity.examples": 10, "classification.entailment.diversity.batch_examples": 5},
    ),
    Row(
        "classification.entailment.treebank.source (generated)",
        {"classification.entailment.treebank": {"source": "none"}},
        POINTING,
    ),
    Row(
        "classification.entailment.treebank.sentences (generated)",
        {"classification.entailment.treebank": {"source": "generated", "sentences": 900}},
        {"treebank": 1, **POINTING},
    ),
    *rows(
        {"treebank": 1, **POINTING},
        {"classification.entailment.attention_stats.relations": ["nsubj", "obj"]},
    ),
    *rows(
        POINTING,
        {
            "classification.entailment.attention_stats.frequent_tokens": 20,
            "classification.entailment.attention_stats.examples": 19,
            "classification.entailment.attention_stats.batch_examples": 5,
        },
    ),
    *rows(
        RULES,
        {
            "classification.entailment.roles.positional_share": 0.8,
            "classification.entailment.roles.margin": 0.2,
            "classification.entailment.roles.margin_unit": "relative",
            "classification.entailment.roles.rare_share": 0.6,
        },
    ),
    *rows({"attention_maps": 1, **REPORT}, {"classification.entailment.attention_maps.sentences": 2}),
]
