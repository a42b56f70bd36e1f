"""`python -m headroom <stage>`: runs one stage; `python -m headroom --help` lists them."""

import importlib
import sys

from headroom.core.command import run

GROUPS: dict[str, dict[str, str]] = {
    "Data": {
        "acquire": "text or trees: generated, of the catalogue, the Hub or sacrebleu, or your own",
    },
    "Models": {
        "vocabulary": "learn subword pieces and binarise parallel text",
        "encoder": "prepare the encoder that classifiers start from",
        "training": "train a translation model or a classifier, a checkpoint per epoch",
        "released": "take a model that others trained",
        "evaluation": "final scores of a run on every set",
        "parameters": "count the parameters of heads, sites and model",
    },
    "Which heads matter": {
        "scores": "gradient importance of every head at every epoch",
        "relevance": "relevance of heads by layer-wise relevance propagation",
        "ablation": "remove each head alone",
        "keep_one": "keep one head per site",
        "pruning": "remove more and more heads, by every order and its controls",
        "settling": "when the important heads settle during training",
        "agreement": "does ablation agree between sets?",
        "rank_correlation": "do criteria rank the heads alike?",
    },
    "What heads do": {
        "attention_stats": "where every head points: offsets, relations, rare words, confidence",
        "roles": "roles of heads by where they point",
        "attention_maps": "attention maps of heads with roles",
        "diversity": "how alike the heads of a site are",
        "particles": "heads as particles: norms, kernels, where repulsion points",
    },
    "Without heads": {
        "gates": "learn which heads stay, with controls",
        "from_scratch": "judge learned layouts trained from scratch",
        "removal": "slice heads out for real and check against masking",
        "timing": "time full, masked and sliced models",
    },
    "Arms": {
        "arms": "compare the arms of every task, paired over seeds",
        "overlap": "do other seeds and arms find the same heads important?",
        "update_cost": "time the updates of every arm",
    },
    "Answers": {
        "claims": "decide the claims of the papers from a study's tables, or print them",
        "power": "what would decide undecided claims, and what a planned study could decide",
        "report": "write the report",
        "compare": "finished studies beside each other: one page, and claims that need several",
        "docs": "write the pages that are made from the code",
    },
}
"""By group, every stage and what it does in a line."""

STAGES = {name: line for group in GROUPS.values() for name, line in group.items()}


PLACES = {
    "claims": "headroom.claims.__main__",
    "power": "headroom.claims.planning",
    "report": "headroom.report.__main__",
    "compare": "headroom.report.compare",
    "docs": "headroom.docs",
}
"""The modules of what is no module of `headroom.stages`."""


def module_of(stage: str) -> str:
    """Return the module that has the command line of a stage."""
    return PLACES.get(stage, f"headroom.stages.{stage}")


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
        print(f"error: no stage '{name}'; python -m headroom --help lists them", file=sys.stderr)
        sys.exit(2)
    run(importlib.import_module(module_of(name)).main, arguments)


if __name__ == "__main__":
    main()
