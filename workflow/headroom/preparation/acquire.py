"""Acquire text or trees: generated, from the catalogue, the Hugging Face Hub or sacrebleu, or local files."""

import logging
from pathlib import Path
from typing import Any, get_args

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.data.corpora import Request
from headroom.data.providers import Kind, provide
from headroom.settings.documents import DocumentCorpus
from headroom.settings.job import Job
from headroom.settings.labelled import CatalogueTreebank, LabelledCorpus, TreebankFile
from headroom.settings.parallel import Corpus

_log = logging.getLogger(__name__)


class Acquire(Job):
    """Acquire text or trees from one source, and validate them before anything is written."""

    parallel: Corpus | None = Field(None, description="source of sentence pairs")
    labelled: LabelledCorpus | None = Field(None, description="source of labelled sentences")
    documents: DocumentCorpus | None = Field(None, description="source of documents")
    trees: CatalogueTreebank | TreebankFile | None = Field(
        None, discriminator="source", description="source of dependency trees"
    )
    output: Path = Field(description="directory of the corpus; file of the trees")
    mirror: str | None = Field(
        None, description="directory or address laid out <dataset>/<file>, tried before downloads"
    )
    catalogue: Path | None = Field(None, description="catalogue to use instead of the project's")
    relations: tuple[str, ...] = Field((), description="relations that the trees must contain")
    pairs: Path | None = Field(None, description="TSV with columns group, good and bad, copied beside documents")

    @property
    def source(self) -> tuple[Kind, Any]:
        """The kind of data, and the settings of its source.

        Raises:
            HeadroomError: If there is no source, or more than one.
        """
        given = [(kind, getattr(self, kind)) for kind in get_args(Kind) if getattr(self, kind)]
        if len(given) != 1:
            raise HeadroomError(f"acquire: {len(given)} sources; give one of {', '.join(get_args(Kind))}")
        return given[0]


def run(job: Acquire) -> None:
    """Acquire and validate everything before writing; downloads are kept in `downloads/` next to the output."""
    kind, settings = job.source
    request = Request(job.output.parent / "downloads", job.mirror, job.catalogue, job.relations, job.pairs)
    count = provide(kind, settings, request).write(job.output, settings, request)
    _log.info("wrote %d examples to %s", count, job.output)
