"""The jobs that an edited file reruns: every stage's own module, modules that stages share, and the user's files."""

from collections.abc import Mapping

from reruns.jobs import (
    BOTH_LABELLED,
    COMPARED_CRITERIA,
    COMPARED_CURVES,
    CORPUS,
    CURVES_REPLACED,
    ENCODER,
    EVERY_PAIR,
    EVERY_SET,
    FINE_TUNING,
    GATES_AND_CONTROLS,
    JUDGED,
    JUDGED_LABELLED,
    MODEL,
    PHENOMENA,
    POINTING,
    REPLACED,
    RETRAINED,
    SCORES,
    SCORES_LABELLED,
    SURVIVORS,
    TRAINING,
    Jobs,
    total,
)
from reruns.sources import ADOPTED_CLASSIFIER, LOOKED_AT, OF_TREES, PREPARED, TRANSLATED, fine_tuned, labelled

PAGE = {"report": 1}
REPORT = {"claims": 1, **PAGE}
COMPARED = {"arms": 1, **REPORT}
ROLES = {"roles": 8, "roles_pruned": 1, "phenomena": 2, "attention_maps": 2, **REPORT}
OBSERVED = {"attention_stats": 8, "rank_correlation": 2, **SURVIVORS, **ROLES}
GATED = {**total(GATES_AND_CONTROLS, BOTH_LABELLED), **REPORT}
RELEVANCE = {"relevance": 8, "rank_correlation": 2, **REPORT}
CURVES = {"pruning": 3, **CURVES_REPLACED, "pruning_sites": 2, "pruning_epochs": 8, **COMPARED}
CHOSEN = {"agreement": 2, "rank_correlation": 2, "pruning": 3, **CURVES_REPLACED, **REPORT}
ABLATED = {"ablation": 2, "ablation_replaced": 1, **CHOSEN}

OF_STAGES: Mapping[str, Jobs] = {
    "ablation": {
        "ablation": 2,
        "ablation_replaced": 1,
        "agreement": 2,
        "pruning": 3,
        **CURVES_REPLACED,
        "rank_correlation": 2,
        **REPORT,
    },
    "agreement": {"agreement": 2, **REPORT},
    "bakeoff": {"bakeoff": 1, **REPORT},
    "bakeoff_curves": {**COMPARED_CURVES, **REPORT},
    "bakeoff_retraining": {**RETRAINED, **REPORT},
    "bakeoff_scores": {**COMPARED_CRITERIA, "bakeoff_curves": 6, **REPORT},  # of the orders that read scores
    "relevance": RELEVANCE,
    "acquire": total(EVERY_SET, EVERY_PAIR),
    "arms": COMPARED,
    "from_scratch": {"from_scratch": 2, **REPORT},
    "rank_correlation": {"rank_correlation": 2, **REPORT},
    "update_cost": {"update_cost": 1, **REPORT},
    "parameters": {"parameters": 2, **REPORT},
    "diversity": {"diversity": 8, **COMPARED},
    "particles": {"particles": 8, **REPORT},
    "docs": {},
    "compare": {},
    "reference": {},
    "evaluation": {"evaluation": 8, **COMPARED},
    "gates": GATED,
    "keep_one": {"keep_one": 2, "keep_one_replaced": 1, **REPORT},
    "roles": ROLES,
    "phenomena": {**PHENOMENA, **REPORT},
    "attention_stats": OBSERVED,
    "overlap": {"overlap": 1, **REPORT},
    "vocabulary": CORPUS,
    "encoder": ENCODER,
    "pruning": CURVES,
    "removal": {"removal": 1, "removal_labelled": 1, **REPORT},
    "claims": REPORT,
    "report": PAGE,
    "scores": total(SCORES, SCORES_LABELLED),
    "score": {},
    "settling": {"settling": 8, **REPORT},
    "timing": {"timing": 2, **REPORT},
    "attention_maps": {"attention_maps": 2, **PAGE},
    "training": total(TRAINING, FINE_TUNING),
}
"""On the tiny study, by stage: its own module."""

OF_SOURCE_STAGES: Mapping[str, tuple[str, Jobs]] = {
    "released": ("adopted", total({"released_translation": 1, **TRANSLATED}, ADOPTED_CLASSIFIER)),
}
"""On the studies of `reruns.studies`, by stage: the study, and what an edited module reruns there."""

CRITERIA = "workflow/headroom/methods/criteria"
BY_OUTPUT_NORM = {"bakeoff_scores": 2, "bakeoff_curves": 2, "bakeoff": 1, **RETRAINED}

PROVIDERS = "workflow/headroom/data/providers"

SHARED: Mapping[str, Jobs] = {
    "workflow/headroom/data/grammar/pairs.py": EVERY_PAIR,
    "workflow/headroom/data/grammar/source.py": total(EVERY_SET, EVERY_PAIR),
    f"{PROVIDERS}/__init__.py": total(EVERY_SET, EVERY_PAIR),
    f"{PROVIDERS}/catalogue.py": {},
    f"{PROVIDERS}/files.py": {"treebank": 1, **POINTING, **SURVIVORS, **PHENOMENA},
    f"{PROVIDERS}/generated.py": EVERY_SET,
    f"{PROVIDERS}/generated_pairs.py": EVERY_PAIR,
    "workflow/headroom/engines/classification/judging.py": JUDGED_LABELLED,
    "workflow/headroom/core/ranks.py": {
        **{"agreement": 2, "settling": 8, "rank_correlation": 2, "bakeoff": 1, "overlap": 1},
        **REPORT,
    },
    "workflow/headroom/engines/translation/judging.py": JUDGED,
    "workflow/headroom/methods/arm_quantities.py": COMPARED,
    "workflow/headroom/methods/diversity.py": {"diversity": 8, "particles": 8, **COMPARED},
    "workflow/headroom/methods/particle_geometry.py": {"particles": 8, **REPORT},
    "workflow/headroom/methods/learned_gates.py": {**GATED, **RETRAINED},
    "workflow/headroom/methods/continued_training.py": {**GATED, **RETRAINED},
    f"{CRITERIA}/__init__.py": {**total(SCORES, SCORES_LABELLED, COMPARED_CRITERIA), **CURVES, "rank_correlation": 2},
    f"{CRITERIA}/gradient.py": total(SCORES, SCORES_LABELLED, BY_OUTPUT_NORM),  # whose module imports it
    f"{CRITERIA}/activation.py": {**BY_OUTPUT_NORM, **REPORT},
    f"{CRITERIA}/loss_ablation.py": {"bakeoff_scores": 2, "bakeoff_curves": 4, "bakeoff": 1, **REPORT},  # and `reverse`
    f"{CRITERIA}/integrated_gradients.py": PAGE,  # is not compared
    f"{CRITERIA}/experiments.py": {**CURVES, "rank_correlation": 2},
    "workflow/headroom/methods/relevance.py": RELEVANCE,
    "workflow/headroom/methods/propagation.py": RELEVANCE,
    "workflow/headroom/methods/repair.py": {
        **ABLATED,
        **{"keep_one": 2, "removal": 1, "removal_labelled": 1},
        **REPLACED,
        **COMPARED_CURVES,
        **CURVES,
    },
    "workflow/headroom/methods/particles.py": total(MODEL, FINE_TUNING),
    "workflow/headroom/methods/translation_arms.py": MODEL,
    "workflow/headroom/methods/syntax.py": OBSERVED,
    "workflow/headroom/engines/translation/timing.py": {"timing": 1, **REPORT},
    "workflow/headroom/engines/classification/trainer.py": FINE_TUNING,
    "workflow/headroom/engines/classification/training.py": FINE_TUNING,
    "workflow/headroom/engines/training.py": total(MODEL, FINE_TUNING),
    "workflow/headroom/engines/translation/training.py": MODEL,
    "workflow/headroom/claims/pruning.py": REPORT,
    "workflow/headroom/report/compare.py": {},
    "workflow/headroom/report/templates/compare.html.j2": {},
    "workflow/headroom/claims/papers/michel.yaml": REPORT,
    "workflow/headroom/report/first_screen.py": PAGE,
    "workflow/headroom/report/panels.py": PAGE,
    "workflow/headroom/report/templates/prose/timing.md.j2": PAGE,
    "workflow/headroom/settings/arms.py": {},
    "workflow/headroom/settings/config_errors.py": {},
    "workflow/headroom/settings/pruning.py": {},
    "workflow/headroom/settings/study.py": {},
    "workflow/headroom/report/templates/page.css": PAGE,
    "workflow/headroom/report/templates/page.js": PAGE,
    "workflow/headroom/report/templates/page.html.j2": PAGE,
    "workflow/report/pruning.rst": {},
    "workflow/headroom/data/catalogue.yaml": {},
    "workflow/headroom/data/labelled_catalogue.yaml": {},
    "workflow/headroom/data/treebank_catalogue.yaml": {},
    "docs/report.md": {},
}
"""On the tiny study, by path."""

PARALLEL = {"parallel_text": 1, **PREPARED}
BOTH_TREES = {"treebank": 2, **dict.fromkeys(OF_TREES, 2), **REPORT}

OWN: Mapping[tuple[str, str], Jobs] = {
    ("fetched", "workflow/headroom/data/catalogue.yaml"): PARALLEL,
    ("fetched", "workflow/headroom/data/labelled_catalogue.yaml"): labelled("packaged"),
    ("fetched", "workflow/headroom/data/treebank_catalogue.yaml"): BOTH_TREES,
    ("fetched", f"{PROVIDERS}/catalogue.py"): total(PARALLEL, labelled("packaged"), {"treebank": 2, **OF_TREES}),
    ("fetched", f"{PROVIDERS}/hub.py"): labelled("hub"),
    ("online", f"{PROVIDERS}/hub.py"): PARALLEL,
    ("own", f"{PROVIDERS}/files.py"): total(PARALLEL, labelled("reviews"), {"treebank": 2}),
    ("released", f"{PROVIDERS}/sacrebleu.py"): {"parallel_text": 1, **LOOKED_AT},
    ("own", "text/train.source"): PARALLEL,
    ("own", "text/news.target"): PARALLEL,
    ("own", "text/books.tsv"): labelled("reviews"),
    ("own", "text/own.conllu"): BOTH_TREES,
    ("own", "encoder/config.json"): fine_tuned(),
    ("own", "text/other.source"): {},
    ("adopted", "release/model.pt"): {"released_translation": 1, **TRANSLATED},
    ("adopted", "classifier/model.safetensors"): ADOPTED_CLASSIFIER,
}
"""By study and path: catalogues, text, trees and models."""
