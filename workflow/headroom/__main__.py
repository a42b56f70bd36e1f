"""`python -m headroom <stage>`: runs one stage; `python -m headroom --help` lists them."""

import importlib
import sys

from headroom.core.command import run

GROUPS: dict[str, dict[str, str]] = {
    "Data": {
        "acquire": "acquire text or trees: generated, from the catalogue, the Hub or sacrebleu, or your own",
    },
    "Models": {
        "vocabulary": "learn subword pieces and binarise parallel text",
        "encoder": "prepare the initial encoder of classifiers",
        "training": "train a translation model or a classifier, a checkpoint per epoch",
        "released": "import a released model",
        "evaluation": "compute the final scores of a run on every set",
        "parameters": "count the parameters of heads, sites and model",
    },
    "Which heads matter": {
        "scores": "compute the gradient importance of every head at every epoch",
        "score": "score the heads of one model by named criteria or by all, with the cost of each",
        "relevance": "compute the relevance of heads by layer-wise relevance propagation",
        "ablation": "remove each head on its own",
        "keep_one": "keep one head per site",
        "pruning": "remove increasing numbers of heads, by every order and its controls",
        "bakeoff_scores": "score heads by a family of criteria and measure its cost, to compare criteria",
        "bakeoff_curves": "remove increasing numbers of heads by one order, also with repairs, to compare criteria",
        "bakeoff_retraining": "train good, random and bad layouts of one size further, to compare criteria",
        "bakeoff": "compare all criteria of a task at equal numbers of heads and known cost",
        "settling": "measure when head importance stabilises during training",
        "agreement": "compare the ablation effects of several sets",
        "rank_correlation": "compare the head rankings of several criteria",
    },
    "What heads do": {
        "attention_stats": "measure where every head points: offsets, relations, rare words, confidence",
        "roles": "assign roles to heads by where they point",
        "phenomena": "measure accuracy per phenomenon, also without the heads of a relation",
        "attention_maps": "extract attention maps of heads with roles",
        "diversity": "measure the similarity of the heads of a site",
        "particles": "measure heads as particles: norms, kernels, direction of repulsion",
    },
    "Without heads": {
        "gates": "learn which heads to keep, with controls",
        "from_scratch": "evaluate learned layouts trained from scratch",
        "removal": "slice heads out and check against masking",
        "timing": "time full, masked and sliced models",
    },
    "Arms": {
        "arms": "compare the arms of every task, paired over seeds",
        "overlap": "compare the important heads of seeds and arms",
        "update_cost": "time the updates of every arm",
    },
    "Answers": {
        "claims": "decide the claims of the papers from a study's tables, or print them",
        "report": "write the report",
        "compare": "put the verdicts and pruning curves of finished studies on one page",
        "reference": "ship finished studies with the project, or compare a rerun with those shipped",
        "docs": "write the generated pages",
    },
}
"""Every stage with a one-line description, by group."""

STAGES = {name: line for group in GROUPS.values() for name, line in group.items()}


PLACES = {
    **{name: f"headroom.preparation.{name}" for name in ("acquire", "vocabulary", "encoder", "released")},
    "score": "headroom.experiments.bakeoff.score",
    "bakeoff_scores": "headroom.experiments.bakeoff.scores",
    "bakeoff_curves": "headroom.experiments.bakeoff.curves",
    "bakeoff_retraining": "headroom.experiments.bakeoff.retraining",
    "from_scratch": "headroom.experiments.gates.from_scratch",
    "overlap": "headroom.experiments.arms.overlap",
    "claims": "headroom.claims.stage",
    "report": "headroom.report.__main__",
    "compare": "headroom.report.compare",
    "reference": "headroom.report.reference",
    "docs": "headroom.docs",
}
"""The modules of stages that are not `experiments.<stage>.stage`."""


def module_of(stage: str) -> str:
    """Return the module with the command line of a stage."""
    return PLACES.get(stage, f"headroom.experiments.{stage}.stage")


def usage() -> str:
    """Return the list of stages."""
    width = max(map(len, STAGES))
    lines = ["usage: python -m headroom <stage> [--help]", ""]
    for group, stages in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:{width}}  {line}" for name, line in stages.items()), ""]
    return "\n".join(lines)


def main() -> None:
    """Run the stage that the first argument names, with the other arguments."""
    name, arguments = sys.argv[1] if sys.argv[1:] else "", sys.argv[2:]
    if name in ("", "-h", "--help"):
        print(usage(), end="")
        sys.exit(0 if name else 2)
    if name not in STAGES:
        print(f"error: {name}: unknown stage; python -m headroom --help lists the stages", file=sys.stderr)
        sys.exit(2)
    run(importlib.import_module(module_of(name)).main, arguments)


if __name__ == "__main__":
    main()
