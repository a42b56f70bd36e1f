"""The jobs that a changed key of the whole study reruns."""

from reruns.jobs import (
    EVERY_PAIR,
    EVERY_SET,
    FINE_TUNING,
    MODEL,
    NEW_ARM,
    NEW_ARM_LABELLED,
    PHENOMENA,
    REPLACED,
    SAMPLED,
    SAMPLED_LABELLED,
    SCORED,
    TRAINING,
    Row,
    rows,
    total,
    without_configuration,
)

SWEEPS = {"ablation": 2, "keep_one": 2, "pruning": 3, "pruning_sites": 2, "pruning_epochs": 8, **REPLACED}
"""Rules that `shards` splits: the tables are the same, but have other inputs."""

WHOLE_STUDY = [
    Row("study", {"study": "other"}, total(EVERY_SET, EVERY_PAIR)),
    *rows(total(MODEL, FINE_TUNING), {"device": "cpu"}),
    *rows({}, {"mirror": "elsewhere"}),
    *rows(
        without_configuration(  # the models are the same, but wait for other jobs
            total(TRAINING, FINE_TUNING, {"training_translation_until": 4, "training_classification_until": 4})
        ),
        {"epochs_per_job": 1},
    ),
    *rows(
        {name: count for rule, count in SWEEPS.items() for name, count in ((rule, count), (f"{rule}_shard", 2 * count))}
        | {"agreement": 2, "rank_correlation": 2, "arms": 1, "claims": 1, "report": 1},
        {"shards": 2},
    ),
    *rows(
        total(
            NEW_ARM,
            NEW_ARM_LABELLED,
            {"phenomena": 1, "bakeoff_scores": 2, "bakeoff_curves": 6, "bakeoff": 1, "bakeoff_retraining": 1},
        ),
        {"seeds": [1, 2, 3]},
    ),
    *rows({"bakeoff": 1, **SCORED}, {"seeds": [1]}),
    *rows(
        total(SAMPLED, SAMPLED_LABELLED, PHENOMENA, {"attention_stats": 8, "roles": 8, "attention_maps": 2}),
        {"sampling.resamples": 101},
    ),
]
