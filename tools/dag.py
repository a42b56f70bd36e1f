"""Draw the rules of the starter study in docs/dag.svg, from Snakemake's own graph: `make dag`.

A box is a file in workflow/rules/. Arrows that follow from others, and the rule `all`, are left out.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx
from headroom.figures.palette import ALL

ROOT = Path(__file__).parents[1]
COLUMNS = (("text",), ("training",), ("importance", "pruning", "timing", "repulsion"), ("report",))
"""The files of rules from left to right; those of a column stand one below the other."""
DOWNWARDS = {"training", "report"}
"""Files whose rules follow one another downwards."""
COLOURS = {"text": "arm-4", "training": "arm-1", "importance": "kind-e", "pruning": "kind-a", "timing": "kind-d"}
HIGH, ROW, GUTTER, PAD, TITLE, APART = 24, 34, 34, 12, 26, 14  # of rules, between their tops, between columns, of files
STYLE = """text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink) }
rect { fill: var(--paper); stroke: var(--rule) }
path { fill: none; stroke-opacity: .6; stroke-width: 1.3 }"""
Box = tuple[float, float, float, float]
"""Left, top, width and height of a rule, or of a file."""


def read_graph() -> Any:
    """Return the rules of the starter study, each with its file."""
    done = subprocess.run(["snakemake", "--rulegraph", "dot"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.stdout))
    graph = networkx.DiGraph()
    graph.add_nodes_from(sorted(names.values()))
    graph.add_edges_from((names[one], names[other]) for one, other in re.findall(r"(\d+) -> (\d+)", done.stdout))
    graph.remove_node("all")
    files = {path.stem: path.read_text("utf-8") for path in (ROOT / "workflow/rules").glob("*.smk")}
    found = {rule: file for file in files for rule in re.findall(r"(?m)^(?:use rule \w+ as|rule) (\w+)", files[file])}
    reduced = networkx.transitive_reduction(graph)
    networkx.set_node_attributes(reduced, found, "file")
    return reduced


def find_rows(graph: Any, rules: list[str], depth: Mapping[str, int]) -> dict[str, int]:
    """Return the row of each rule of a file: beside those before it; a last one alone to its right."""
    rows: dict[str, int] = {}
    taken: set[tuple[int, int]] = set()
    next_ = {rule: [depth[one] for one in graph.successors(rule) if one in depth] for rule in rules}
    for rule in sorted(rules, key=lambda rule: (depth[rule], bool(next_[rule]), "training" not in graph[rule], rule)):
        before = [rows[one] for one in graph.predecessors(rule) if one in rows]
        wanted = range(depth[rule], depth[rule] + 1 if next_[rule] else 9)
        row = sum(before) // max(1, len(before))
        while any((column, row) in taken for column in wanted):
            row += 1
        rows[rule] = row
        taken |= {(column, row) for column in wanted}
    return rows


def lay_out(graph: Any) -> tuple[dict[str, Box], dict[str, Box], float]:
    """Return the boxes of rules and of files, and the width of all; the middles of columns are at a height of 0."""
    boxes: dict[str, Box] = {}
    files: dict[str, Box] = {}
    left = 1.0
    for column in COLUMNS:
        rules = [rule for rule, file in graph.nodes(data="file") if file in column]
        levels = [*networkx.topological_generations(graph.subgraph(rules))]
        depth, down = {rule: level for level, found in enumerate(levels) for rule in found}, column[0] in DOWNWARDS
        widths = [max(16 + 6.8 * len(rule) for rule in found) for found in ([rules] if down else levels)]
        starts = [left + PAD + sum(widths[:level]) + GUTTER * level for level in range(len(widths))]
        own = {file: [rule for rule in rules if graph.nodes[rule]["file"] == file] for file in column}
        rows = {file: depth if down else find_rows(graph, found, depth) for file, found in own.items() if found}
        step, width = 1.6 * ROW if down else ROW, starts[-1] + widths[-1] + PAD - left
        heights = [TITLE + step * max(found.values()) + HIGH + PAD for found in rows.values()]
        top = -(sum(heights) + APART * (len(heights) - 1)) / 2
        for (file, found), height in zip(rows.items(), heights):
            files[file] = left, top, width, height
            for rule, row in found.items():
                place = 0 if down else depth[rule]
                boxes[rule] = starts[place], top + TITLE + step * row, widths[place], HIGH
            top += height + APART
        left += width + GUTTER
    return boxes, files, left - GUTTER + 1


def draw_arrow(one: Box, other: Box, files: Mapping[str, Box], end: float) -> str:
    """Return an arrow: down, or along its row to the end of the file, then to another rule, below files in the way."""
    (x, y, width, _), (to_x, to_y) = one, other[:2]
    if x == to_x:
        return f"M{x + width / 2:g} {y + HIGH:g}V{to_y - 1:g}m-3.5 -6l3.5 6l3.5 -6"
    x, y, to_y = x + width, y + HIGH / 2, to_y + HIGH / 2
    path, end = f"M{x:g} {y:g}", end if to_x > end else x
    for left, top, wide, high in files.values():
        if left > x and left + wide < to_x and top < y < top + high:
            low = top + high + APART / 2
            path += f"H{end:g}C{end + 16:g} {y:g} {left - 16:g} {low:g} {left:g} {low:g}H{left + wide:g}"
            end, y = left + wide, low
    middle = (end + to_x) / 2
    return f"{path}H{end:g}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x - 1:g} {to_y:g}m-6 -3.5l6 3.5l-6 3.5"


def draw(graph: Any) -> Iterator[str]:
    """Yield the lines of the picture."""
    boxes, files, width = lay_out(graph)
    high = 2 - 2 * min(top for _, top, _, _ in files.values())
    light, dark = (";".join(f"--{one.variable}:{getattr(one, theme)}" for one in ALL) for theme in ("light", "dark"))
    view = f'viewBox="0 {-high / 2:g} {width:g} {high:g}" role="img" aria-label="The rules of the starter study"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {view}>'
    yield f"<style>svg {{ {light} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}\n{STYLE}</style>"
    tint = {file: f"var(--{COLOURS.get(file, 'soft')})" for file in files}
    for file, (x, y, wide, tall) in files.items():
        yield f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}" rx="8"/>'
        yield f'<text x="{x + PAD:g}" y="{y + 18:g}" style="fill:{tint[file]};font-weight:600">{file}</text>'
    for one, other in sorted(graph.edges):
        file = graph.nodes[one]["file"]
        path = draw_arrow(boxes[one], boxes[other], files, files[file][0] + files[file][2])
        yield f'<path d="{path}" style="stroke:{tint[file]}"/>'
    for rule, (x, y, wide, tall) in boxes.items():
        stroke = tint[graph.nodes[rule]["file"]]
        yield f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall}" rx="6" style="stroke:{stroke}"/>'
        yield f'<text x="{x + wide / 2:g}" y="{y + 16.5:g}" text-anchor="middle">{rule}</text>'
    yield "</svg>"


if __name__ == "__main__":
    (ROOT / "docs/dag.svg").write_text("\n".join(draw(read_graph())) + "\n", "utf-8")
