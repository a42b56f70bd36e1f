"""Which roles survive pruning, beside random survivors of the same number (the second paper's figure 8)."""

from collections import Counter

import pandas

from headroom.claims.gating import EXACT, HARD_CONCRETE
from headroom.claims.roles import ROLES, kind_of_target, main_roles, role_of
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.survival import Survivors, decisive, survivors
from headroom.core.formatting import fixed, listing, p_value, plural, symbol
from headroom.core.heads import Head
from headroom.report.atlas import Mark, draw_atlases
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Table, table_of
from headroom.report.figures import gates as figures
from headroom.report.keys import line_sample, mark_sample
from headroom.report.names import METHOD_NAMES, run_name
from headroom.report.role_names import letter, letters
from headroom.report.voita_values import SOURCES, SURVIVORS

Targets = dict[Head, list[str]]

_COLUMNS = (*ROLES, "several", "unknown")
_MARKS = {HARD_CONCRETE: "dot", "exact": "square", "exact-straight-through": "triangle"}


def exhibits(tables: StudyTables, run: str) -> tuple[Exhibit, ...]:
    """Return the counts of roles among survivors, and the survivors as atlases; nothing without gates or roles."""
    targets = main_roles(tables, run)
    gates = rows_where(tables.gates, run=run)
    found = [one for method in (HARD_CONCRETE, *EXACT) for one in survivors(gates, targets, method)]
    if not found or not tables.given("roles"):
        return ()
    if not found[0].specialised:
        shows = "No encoder head held a role before pruning: there is no survival of roles to count."
        return (Exhibit(name="survivors", shows=shows, tables=(_table(found, targets),)), _atlases(found, targets, run))
    return (_counts(gates, targets, found), _atlases(found, targets, run))


def _counts(gates: pandas.DataFrame, targets: Targets, found: list[Survivors]) -> Exhibit:
    finding = _finding(found)
    methods = dict.fromkeys(one.method for one in found)
    keys = [Key(mark_sample(_MARKS[method], "kind-e"), METHOD_NAMES[method]) for method in methods]
    return Exhibit(
        name="survivors",
        rows=tuple(_panels(gates, targets, list(methods))),
        key=(
            *keys,
            Key(line_sample("control"), "random survivors"),
            Key(mark_sample("band", "control"), "95 % of them"),
        ),
        alt=finding,
        shows=finding,
        how="Encoder heads that are left, and how many of them held a role before pruning. As many heads drawn at"
        " random would have the grey number; marks above its band have more than chance explains (hypergeometric,"
        " exact).",
        tables=(_table(found, targets),),
        papers=(_paper(),),
    )


def _panels(gates: pandas.DataFrame, targets: Targets, methods: list[str]) -> list[Row]:
    """Return a panel for all roles together and one for each role that some head holds."""
    made = []
    for name in ("any role", *ROLES):
        own = {
            head: held
            for head, held in targets.items()
            if name == "any role" or name in {kind_of_target(target) for target in held}
        }
        found = [one for method in methods for one in survivors(gates, own, method)]
        if found and found[0].specialised:
            label = f"heads with {'a role' if name == 'any role' else f'a {name} role'}"
            panel = figures.survivors(_points(found), name=name.replace(" ", "-"), label=label)
            made.append(Row(name, (panel,)))
    return made[:1] if len(made) == 2 else made


def _points(found: list[Survivors]) -> pandas.DataFrame:
    rows = []
    for one in found:
        _, low, high = one.chances()
        kept, share = len(one.kept), {"found": one.found, "expected": one.expected}
        rows.append({"method": one.method, "kept": kept, "low": low, "high": high, **share})
    return pandas.DataFrame(rows)


def _finding(found: list[Survivors]) -> str:
    one = decisive([each for each in found if each.method == found[0].method])
    if one is None:
        return f"No setting leaves some of the {plural(len(found[0].heads), 'encoder head')} and removes others."
    p, _, _ = one.chances()
    shown = "" if p < 0.001 else "= "
    return (
        f"Of {plural(len(one.specialised), 'encoder head')} with a role, {one.found} are among the {len(one.kept)} that"
        f" {METHOD_NAMES[one.method]} gates leave; random survivors would have {fixed(one.expected, 1)}"
        f" (p {shown}{p_value(p)})."
    )


def _table(found: list[Survivors], targets: Targets) -> Table:
    rows = []
    for one in found:
        kinds = Counter(role_of(head, targets) for head in one.kept)
        row = {"method": one.method, "setting": one.setting, "kept": len(one.kept)}
        row |= {name: kinds[name] for name in _COLUMNS}
        rows.append(row | {"found": one.found, "expected": one.expected, "p": one.chances()[0]})
    columns = [
        Column("method", "method", lambda name: METHOD_NAMES.get(name, name), numeric=False),
        Column("setting", "λ or K"),
        Column("kept", "encoder heads kept"),
        *(Column(name, name) for name in _COLUMNS),
        Column("found", "with a role"),
        Column("expected", "by chance", lambda value: fixed(value, 1)),
        Column("p", "p", p_value),
    ]
    note = "Roles are those before pruning. p: chance that as many random survivors have as many heads with a role."
    caption = "what the encoder heads that are left did before"
    return table_of(pandas.DataFrame(rows), columns, caption=caption, filename="survivors.csv", note=note)


def _paper() -> Paper:
    made = tuple(
        (f"{kept} of 48", *map(str, (positional, syntactic, rare, unknown)))
        for kept, (positional, syntactic, rare, unknown) in SURVIVORS.items()
    )
    headings = ("encoder heads kept", "positional", "syntactic", "rare words", "unknown")
    caption = "The paper’s survivors by what they do"
    return Paper(caption=caption, headings=headings, rows=made, source=SOURCES["survivors"])


def _atlases(found: list[Survivors], targets: Targets, run: str) -> Exhibit:
    swept = [one for one in found if one.method == found[0].method]
    rows = [Row(_label(one), draw_atlases(_marks(one, targets))) for one in swept]
    left = listing(f"{len(one.kept)} ({one.found} with a role)" for one in swept)
    finding = f"Of {plural(len(swept[0].heads), 'encoder head')}, {len(swept[0].specialised)} with a role, stay {left}."
    return Exhibit(
        name="survivor_atlas",
        is_atlas=True,
        rows=tuple(rows),
        key=(Key(mark_sample("square"), "left"), Key(mark_sample("cross", "control"), "removed")),
        alt=finding,
        shows=finding,
        how=f"The heads that are left of {run_name(run)}, one atlas per setting, with the letters of their roles before"
        f" pruning, crossed out where the head is gone.{_letters_mean(targets)}",
        tables=(_profiles(swept),),
    )


def _letters_mean(targets: Targets) -> str:
    meant = ", ".join(sorted({letter(target) for own in targets.values() for target in own}))
    return f" Letters: {meant}." if meant else ""


def _label(one: Survivors) -> str:
    left = f"{len(one.kept)} left"
    return f"{symbol('λ', one.setting)}: {left}" if one.method == HARD_CONCRETE else left


def _marks(one: Survivors, targets: Targets) -> dict[Head, Mark]:
    made = {}
    for head in sorted(one.heads):
        gone = head not in one.kept
        made[head] = Mark(0.6, "removed" if gone else "left", removed=gone, letters=letters(targets.get(head, [])))
    return made


def _profiles(swept: list[Survivors]) -> Table:
    frame = pandas.DataFrame(
        [{"setting": one.setting, "left": " ".join(map(str, sorted(one.kept))) or "none"} for one in swept]
    )
    columns = [Column("setting", "λ or K", numeric=False), Column("left", "heads left", numeric=False)]
    return table_of(frame, columns, caption="encoder heads left at each setting", filename="survivor-heads.csv")
