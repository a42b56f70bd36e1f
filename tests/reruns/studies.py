"""Studies with external text, models and trees, one run per task.

Nothing of them is ever trained or fetched: every output is an empty file (`plans.pretend_finished`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILES = (
    *(f"text/{name}.{side}" for name in ("train", "valid", "test", "news", "other") for side in ("source", "target")),
    *(f"text/{name}.tsv" for name in ("train", "valid", "test", "books", "other")),
    *("text/own.conllu", "text/other.conllu", "release/model.pt", "release.tar", "archive.tar", "mirror/file"),
    *(f"{place}/{name}" for place in ("encoder", "encoder2") for name in ("config.json", "model.safetensors")),
    *(f"{place}/{name}" for place in ("classifier", "classifier2") for name in ("config.json", "model.safetensors")),
)
"""Files of the user's own."""

BASELINE = {"baseline": {"method": "baseline"}}
NO_GATES: dict[str, Any] = {"ways": []}
ONE_ARM = {"arms": BASELINE, "gates": NO_GATES}
PAIRS = {name: {side: f"text/{name}.{side}" for side in ("source", "target")} for name in ("train", "valid", "test")}
NEWS = {side: f"text/news.{side}" for side in ("source", "target")}
OWN_TABLES = {"source": "files", "valid": "text/valid.tsv", "test": "text/test.tsv", "labels": ["bad", "good"]}
CHECKSUM = "0" * 64

STUDIES: Mapping[str, Mapping[str, Any]] = {
    "own": {
        "translation": {
            "corpus": {"source": "files", **PAIRS, "far": {"news": NEWS}},
            "treebank": {"source": "files", "path": "text/own.conllu"},
            **ONE_ARM,
        },
        "classification": {
            "reviews": {
                "corpus": {**OWN_TABLES, "train": "text/train.tsv", "far": {"books": "text/books.tsv"}},
                "encoder": {"source": "directory", "path": "encoder"},
                "treebank": {"source": "files", "path": "text/own.conllu"},
                **ONE_ARM,
            },
            "hops": {
                "corpus": {"source": "catalogue", "dataset": "cola"},
                "encoder": {"source": "self-attentive"},
                **ONE_ARM,
            },
        },
    },
    "fetched": {
        "translation": {
            "corpus": {"source": "catalogue"},
            "treebank": {"source": "catalogue", "treebank": "ud-english-pud"},
            **ONE_ARM,
        },
        "classification": {
            "hub": {
                "corpus": {"source": "hub", "dataset": "nyu-mll/glue", "name": "mnli", "far": {"other": "train[:2%]"}},
                "encoder": {"source": "hub"},
                "treebank": {"source": "catalogue"},
                **ONE_ARM,
            },
            "packaged": {
                "corpus": {"source": "catalogue", "dataset": "snli"},
                "encoder": {"source": "package"},
                **ONE_ARM,
            },
        },
    },
    "online": {
        "translation": {
            "corpus": {
                **{"source": "hub", "dataset": "wmt/wmt16", "name": "de-en", "far": {"other": "train[:2%]"}},
                **{"source_language": "de", "target_language": "en"},
            },
            **ONE_ARM,
        },
    },
    "released": {
        "translation": {
            "corpus": {"source": "sacrebleu", "far": {"mtnt": "mtnt1.1/test"}},
            "released": {"url": "https://example.org/model.tar", "sha256": CHECKSUM},
            **ONE_ARM,
        },
        "classification": {
            "hub": {
                "corpus": {"source": "hub", "dataset": "nyu-mll/glue", "name": "mnli"},
                "released": {"name": "someone/model"},
                **ONE_ARM,
            },
        },
    },
    "adopted": {
        "translation": {
            "corpus": {"source": "files", "valid": PAIRS["valid"], "test": PAIRS["test"]},
            "released": {"path": "release"},
            **ONE_ARM,
        },
        "classification": {"reviews": {"corpus": OWN_TABLES, "released": {"path": "classifier"}, **ONE_ARM}},
    },
}
"""By name; each gets one seed."""


def write_files(root: Path) -> None:
    """Write the user's files that the studies name; Snakemake only requires that they exist."""
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
