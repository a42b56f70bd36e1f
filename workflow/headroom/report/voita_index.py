"""The second paper's figures and tables, their key numbers, and where ours are."""

from headroom.claims.study_tables import TaskKind
from headroom.report import voita_numbers as ours
from headroom.report.paper_index import Entry

_MT: tuple[TaskKind, ...] = ("translation",)
_ALL: tuple[TaskKind, ...] = ("translation", "classification")

VOITA_ENTRIES = (
    Entry(
        name="Figure 1a",
        about="relevance of encoder heads",
        paper="0.62 to 1.64 times an even share (0.078 to 0.205 of 8 heads)",
        kinds=_ALL,
        exhibit="relevance",
        read=ours.relevance,
    ),
    Entry(
        name="Figure 1b",
        about="confidence of encoder heads",
        paper="0.2 to 0.83",
        kinds=_ALL,
        exhibit="roles",
        read=ours.confidences,
    ),
    Entry(
        name="Figure 1c",
        about="what encoder heads do",
        paper="14 of 48 heads with a role: 5 positional, 8 syntactic, 1 rare",
        kinds=_ALL,
        exhibit="roles",
        read=ours.roles,
    ),
    Entry(
        name="Figure 2",
        about="what heads do in other models",
        paper="15 roles (German), 12 (French)",
        kinds=_ALL,
        exhibit="roles_by_run",
        read=ours.roles_of_others,
    ),
    Entry(
        name="Figure 3",
        about="where related words stand",
        paper="at the most frequent position: verb → subject 35 %, verb → object 41 %",
        kinds=_ALL,
        exhibit="relations",
        read=ours.positions,
    ),
    Entry(
        name="Table 1",
        about="the best head per relation, beside positions",
        paper="5 of 8 by at least 10 points (WMT)",
        kinds=_ALL,
        exhibit="relations",
        read=ours.relations,
    ),
    Entry(
        name="Figure 4",
        about="the same by target language",
        paper="largest margins 37 (Russian), 34 (German), 37 points (French)",
        kinds=_ALL,
        exhibit="relations",
        read=ours.largest_margin,
    ),
    Entry(
        name="Figure 5",
        about="attention maps",
        paper="maps of the rare-word head",
        kinds=_ALL,
        exhibit="maps",
        read=ours.maps,
    ),
    Entry(
        name="Figure 6",
        about="concrete and hard concrete densities",
        paper="an illustration, without data",
        kinds=_ALL,
        exhibit="gates",
        read=ours.decided,
    ),
    Entry(
        name="Figure 7",
        about="encoder heads pruned",
        paper="10 of 48 heads: −0.15 BLEU (WMT)",
        kinds=_ALL,
        exhibit="gates",
        read=ours.encoder,
    ),
    Entry(
        name="Figure 8",
        about="what survivors do",
        paper="17 of 48 heads kept: 11 of 14 with a role (by chance 5.0)",
        kinds=_ALL,
        exhibit="survivors",
        read=ours.survival,
    ),
    Entry(
        name="Table 2",
        about="heads of all kinds pruned; the same layouts from scratch",
        paper="58 of 144 heads: −0.24 BLEU; pruned less from scratch +0.15 to +0.50 (WMT)",
        kinds=_ALL,
        exhibit="gates",
        read=ours.layouts,
    ),
    Entry(
        name="Figure 9",
        about="heads left by kind",
        paper="at 60 % removed: E 25 %, A 52 %, D 44 %",
        kinds=_MT,
        exhibit="retention",
        read=ours.kinds,
    ),
    Entry(
        name="Figure 10",
        about="heads left by layers of the decoder",
        paper="at 60 % removed: D 62, 56, 12 % and A 31, 62, 62 % of layers 1–2, 3–4, 5–6",
        kinds=_MT,
        exhibit="retention",
        read=ours.layers,
    ),
)
