"""What an edited file reruns: every stage's own module, modules that stages share, and files of one's own."""

from collections.abc import Mapping

from reruns.jobs import (
    CORPUS,
    ENCODER,
    EVERY_PAIR,
    EVERY_SET,
    FINE_TUNING,
    GATES,
    GATES_LABELLED,
    JUDGED,
    JUDGED_LABELLED,
    MODEL,
    POINTING,
    SCORES,
    SCORES_LABELLED,
    SURVIVORS,
    TRAINING,
    Jobs,
    total,
)
from reruns.sources import ADOPTED_CLASSIFIER, LOOKED_AT, OF_TREES, PREPARED, TRANSLATED, fine_tuned, labelled

REPORT = {"report": 1}
COMPARED = {"compare": 1, **REPORT}
ROLES = {"label": 8, "label_pruned": 1, "trace": 2, **REPORT}
OBSERVED = {"observe": 8, "correlate": 2, **SURVIVORS, **ROLES}
GATED = total(GATES, GATES_LABELLED, {"gate_controls": 2}, REPORT)
RELEVANCE = {"attribute": 8, "correlate": 2, **REPORT}
CURVES = {"curves": 3, "site_curves": 2, "dynamics": 8, **COMPARED}


OF_STAGES: Mapping[str, Jobs] = {
    "ablation": {"ablate": 2, "agree": 2, "curves": 3, "correlate": 2, **REPORT},
    "agreement": {"agree": 2, **REPORT},
    "relevance": RELEVANCE,
    "collect_treebank": {"treebank_translation": 1, **POINTING, **SURVIVORS},
    "arms": COMPARED,
    "from_scratch": {"from_scratch": 1, **REPORT},
    "rank_correlation": {"correlate": 2, **REPORT},
    "update_cost": {"update_cost": 1, **REPORT},
    "parameters": {"count": 2, **REPORT},
    "diversity": {"diversify": 8, **COMPARED},
    "docs": {},
    "evaluation": {"evaluate": 8, **COMPARED},
    "gates": GATED,
    "generate": EVERY_SET,
    "generate_pairs": {"label_entailment": 1, **ENCODER},
    "generate_trees": {"treebank_entailment": 1, **POINTING},
    "keep_one": {"keep": 2, **REPORT},
    "roles": ROLES,
    "attention_stats": OBSERVED,
    "overlap": {"overlap": 1, **REPORT},
    "vocabulary": CORPUS,
    "encoder": ENCODER,
    "pruning": CURVES,
    "removal": {"remove": 1, "remove_labelled": 1, **REPORT},
    "report": REPORT,
    "scores": total(SCORES, SCORES_LABELLED),
    "settling": {"settle": 8, **REPORT},
    "timing": {"speed": 2, **REPORT},
    "attention_maps": {"trace": 2, **REPORT},
    "training": total(TRAINING, FINE_TUNING),
}
"""On the tiny study, by stage: its own module."""

OF_SOURCE_STAGES: Mapping[str, tuple[str, Jobs]] = {
    "released": ("adopted", total({"released_translation": 1, **TRANSLATED}, ADOPTED_CLASSIFIER)),
    "collect": ("own", {"collect": 1, **PREPARED}),
    "collect_labelled": ("own", labelled("reviews")),
    "download": ("fetched", {"download": 1, **PREPARED}),
    "download_hub": ("fetched", labelled("hub")),
    "download_labelled": ("fetched", labelled("packaged")),
    "download_parallel_hub": ("online", {"download": 1, **PREPARED}),
    "download_sacrebleu": ("released", {"download": 1, **LOOKED_AT}),
    "download_treebank": (
        "fetched",
        {"treebank_translation": 1, "treebank_hub": 1, **dict.fromkeys(OF_TREES, 2), **REPORT},
    ),
}
"""On the studies of `reruns.studies`, by stage: the study, and what an edited module reruns there."""

SHARED: Mapping[str, Jobs] = {
    "workflow/headroom/data/grammar/source.py": total(EVERY_SET, EVERY_PAIR),
    "workflow/headroom/engines/classification/metrics.py": JUDGED_LABELLED,
    "workflow/headroom/core/ranks.py": {"agree": 2, "settle": 8, "correlate": 2, "overlap": 1, **REPORT},
    "workflow/headroom/engines/translation/metrics.py": JUDGED,
    "workflow/headroom/methods/arm_quantities.py": COMPARED,
    "workflow/headroom/methods/diversity.py": {"diversify": 8, **COMPARED},
    "workflow/headroom/methods/hard_concrete.py": GATED,
    "workflow/headroom/methods/importance.py": total(SCORES, SCORES_LABELLED),
    "workflow/headroom/methods/relevance.py": RELEVANCE,
    "workflow/headroom/methods/repulsion.py": total(MODEL, FINE_TUNING),
    "workflow/headroom/methods/translation_arms.py": MODEL,
    "workflow/headroom/methods/roles.py": OBSERVED,
    "workflow/headroom/methods/syntax.py": OBSERVED,
    "workflow/headroom/engines/translation/timing.py": {"speed": 1, **REPORT},
    "workflow/headroom/engines/classification/fine_tuning.py": FINE_TUNING,
    "workflow/headroom/engines/classification/training.py": FINE_TUNING,
    "workflow/headroom/engines/training.py": total(MODEL, FINE_TUNING),
    "workflow/headroom/engines/translation/training.py": MODEL,
    "workflow/headroom/report/claims/pruning.py": REPORT,
    "workflow/headroom/report/figures/curves.py": REPORT,
    "workflow/headroom/settings/arms.py": {},
    "workflow/headroom/settings/config_errors.py": {},
    "workflow/headroom/settings/experiments.py": {},
    "workflow/headroom/settings/study.py": {},
    "workflow/report/page.css": REPORT,
    "workflow/report/page.js": REPORT,
    "workflow/report/page.html.j2": REPORT,
    "workflow/report/curves.rst": {},
    "workflow/headroom/data/catalogue.yaml": {},
    "workflow/headroom/data/labelled_catalogue.yaml": {},
    "workflow/headroom/data/treebank_catalogue.yaml": {},
    "docs/report.md": {},
}
"""On the tiny study, by path."""

OWN: Mapping[tuple[str, str], Jobs] = {
    ("fetched", "workflow/headroom/data/catalogue.yaml"): {"download": 1, **PREPARED},
    ("fetched", "workflow/headroom/data/labelled_catalogue.yaml"): labelled("packaged"),
    ("fetched", "workflow/headroom/data/treebank_catalogue.yaml"): OF_SOURCE_STAGES["download_treebank"][1],
    ("own", "text/train.source"): {"collect": 1, **PREPARED},
    ("own", "text/news.target"): {"collect": 1, **PREPARED},
    ("own", "text/books.tsv"): labelled("reviews"),
    ("own", "text/own.conllu"): {
        **{"treebank_translation": 1, "treebank_reviews": 1, **REPORT},
        **dict.fromkeys(OF_TREES, 2),
    },
    ("own", "encoder/config.json"): fine_tuned(),
    ("own", "text/other.source"): {},
    ("adopted", "release/model.pt"): {"released_translation": 1, **TRANSLATED},
    ("adopted", "classifier/model.safetensors"): ADOPTED_CLASSIFIER,
}
"""By study and path: catalogues, text, trees and models."""
