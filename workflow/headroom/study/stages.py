"""Every program of the package, `python -m headroom <stage>`."""

from importlib.util import find_spec

STAGES = {
    "Data": {
        "new": ("new", "write the study of a model that you have"),
        "acquire": ("preparation.acquire", "acquire text or trees: generated, from a catalogue, the Hub, or your own"),
    },
    "Models": {
        "families": ("families", "try every type of model that transformers has"),
        "convert": ("preparation.convert", "write your model of fairseq for transformers"),
        "encoder": ("preparation.encoder", "prepare the initial encoder of classifiers"),
        "evaluation": ("experiments.evaluation.stage", "compute the final scores of a run on every set"),
        "released": ("preparation.released", "import a released model"),
        "fine_tuning": ("experiments.training.fine_tuning", "train a classifier, a checkpoint per epoch"),
        "training": ("experiments.training.stage", "train a translation model, a checkpoint per epoch"),
        "vocabulary": ("preparation.vocabulary", "learn subword tokens and binarise parallel text"),
    },
    "Which heads matter": {
        "ablation": ("experiments.ablation.stage", "remove each head on its own"),
        "agreement": ("experiments.agreement.stage", "compare rankings of the same heads"),
        "bakeoff": ("experiments.bakeoff.stage", "compare criteria at equal numbers of heads and known cost"),
        "bakeoff_retraining": ("experiments.bakeoff.retraining", "train layouts of one size further"),
        "keep_one": ("experiments.keep_one.stage", "keep one head per site"),
        "pruning": ("experiments.pruning.stage", "remove more and more heads, by every order and its controls"),
        "scores": ("experiments.scores.stage", "score every head by criteria, e.g. gradient importance"),
    },
    "What heads do": {
        "attention_maps": ("experiments.attention_maps.stage", "extract attention weights of heads with roles"),
        "attention_stats": ("experiments.attention_stats.stage", "measure where every head points"),
        "diversity": ("experiments.diversity.stage", "measure the similarity of the heads of a site"),
        "minimal_pairs": ("experiments.minimal_pairs.stage", "measure accuracy on minimal pairs without heads"),
        "phenomena": ("experiments.phenomena.stage", "measure accuracy per phenomenon, also without heads"),
        "relevance": ("experiments.attention_stats.relevance", "propagate relevance to heads, layer by layer"),
        "roles": ("experiments.roles.stage", "assign roles to heads by where they point"),
    },
    "Without heads": {
        "from_scratch": ("experiments.gates.from_scratch", "evaluate learned layouts trained from scratch"),
        "gates": ("experiments.gates.stage", "learn which heads to keep, with controls"),
        "parameters": ("experiments.removal.parameters", "count the parameters of heads, sites and model"),
        "removal": ("experiments.removal.stage", "slice heads out and check against masking"),
        "timing": ("experiments.timing.stage", "time full, masked and sliced models"),
    },
    "Arms": {"update_cost": ("experiments.update_cost.stage", "time the updates of every arm")},
    "Answers": {
        "claims": ("claims.stage", "decide the claims of the papers from a study's tables, or print them"),
        "compare": ("report.compare", "put verdicts and curves of finished studies on one page"),
        "report": ("report.__main__", "write the report"),
    },
}
"""By group and name, the module of every stage in this package, and what it does."""


def module_of(stage: str) -> str:
    """Return the module with the command line of a stage; "" if there is none.

    A new experiment needs no entry: its stage is that of the folder of its name.
    """
    known = {name: module for group in STAGES.values() for name, (module, _) in group.items()}
    own = f"experiments.{stage}.stage"
    if stage in known:
        return f"headroom.{known[stage]}"
    found = stage.isidentifier() and find_spec(f"headroom.experiments.{stage}") and find_spec(f"headroom.{own}")
    return f"headroom.{own}" if found else ""
