"""The jobs that a changed key of a classification task reruns."""

from reruns.jobs import (
    BOTH_LABELLED,
    COMPARED_CRITERIA,
    COMPARED_CURVES,
    CONTROLS_LABELLED,
    ENCODER,
    EVERY_PAIR,
    FINE_TUNING,
    JUDGED_LABELLED,
    NEW_DETAILED,
    POINTING,
    REPLACED,
    REPORT,
    RETRAINED,
    SCORES_LABELLED,
    Row,
    of_task,
    rows,
)

CLASSIFICATION = [
    *of_task("classification.entailment", 1, SCORES_LABELLED, {}, CONTROLS_LABELLED, "removal_labelled", REPLACED),
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
        {**NEW_DETAILED, **BOTH_LABELLED, **REPLACED, "pruning": 1, "removal_labelled": 1},
        {"classification.entailment.detailed_seeds": 2},
    ),
    *rows(
        {**BOTH_LABELLED, **REPORT},
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
    *rows({**CONTROLS_LABELLED, **REPORT}, {"classification.entailment.gates.random_draws": 2}),
    *rows(  # a criterion of a family that was computed: its curves alone
        {"bakeoff_curves": 2, "bakeoff": 1, **REPORT},
        {
            "classification.entailment.bakeoff.criteria": ["output-norm", "wanda"],
            "classification.entailment.bakeoff.rescored": ["output-norm"],
            "classification.entailment.bakeoff.random_draws": 3,
        },
    ),
    *rows(
        {**COMPARED_CURVES, **REPORT},
        {
            "classification.entailment.bakeoff.repairs": ["obs"],
            "classification.entailment.bakeoff.step": 0.25,
        },
    ),
    *rows({**COMPARED_CURVES, **RETRAINED, **REPORT}, {"classification.entailment.bakeoff.test_examples": 10}),
    *rows(
        {**RETRAINED, **REPORT},
        {
            "classification.entailment.bakeoff.retraining.updates": 4,
            "classification.entailment.bakeoff.retraining.share": 0.25,
            "classification.entailment.bakeoff.retraining.random_draws": 3,
            "classification.entailment.bakeoff.retraining.batch_examples": 4,
            "classification.entailment.bakeoff.retraining.learning_rate": 0.01,
        },
    ),
    Row(
        "classification.entailment.bakeoff.retraining.criterion",
        {
            "classification.entailment.bakeoff.criteria": ["output-norm", "loss-ablation"],
            "classification.entailment.bakeoff.retraining.criterion": "loss-ablation",
        },
        {**RETRAINED, **REPORT},
    ),
    *rows(
        {**COMPARED_CRITERIA, **REPORT},
        {"classification.entailment.bakeoff.examples": 19, "classification.entailment.bakeoff.batch_examples": 8},
    ),
    *rows(REPORT, {"classification.entailment.gates.penalties": [0.03, 0.1]}),  # of hard-concrete: not in its ways
    *rows(
        {"gates": 1, "attention_stats_pruned": 5, "roles_pruned": 1, "rank_correlation": 1, **REPORT},
        {"classification.entailment.gates.ways": ["exact.all", "hard-concrete.all"]},
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
]
