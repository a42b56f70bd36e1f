"""Every statistic has one definition, in the core: the syntax trees of all modules are searched for others."""

import ast
from collections.abc import Iterator
from pathlib import Path

import headroom
import pytest

PACKAGE = Path(headroom.__file__).parent
STATISTICS = {"core/statistics.py", "core/curves.py", "core/ranks.py"}
"""The modules that define statistics."""

ELSEWHERE = {
    "scipy.stats.hypergeom": {"claims/survival.py"},
    "scipy.stats.nchypergeom_fisher": {"claims/survival.py"},
    # the order in which a training sees its examples, and its dropout
    "numpy.random.default_rng": {"engines/classification/trainer.py"},
    "numpy.random.seed": {"engines/translation/trainer.py"},
}
"""Functions that these modules may also use: exact discrete distributions, and randomness other than a bootstrap."""

DEFINING = (
    "scipy.stats",
    "scipy.special.ndtr",
    "scipy.special.ndtri",
    "scipy.special.stdtrit",
    "scipy.optimize.isotonic_regression",
    "scipy.integrate",
    "sklearn",
    "statistics.NormalDist",
    "statistics.stdev",
    "statistics.variance",
    "numpy.trapezoid",
    "numpy.trapz",
    "numpy.maximum.accumulate",
    "numpy.minimum.accumulate",
    "numpy.random",
)
"""Names that define an area, a monotone curve, a quantile of a distribution, a test or a bootstrap."""

NORMAL = (1.64, 1.645, 1.96, 2.576, 2.58)
"""Quantiles of the normal distribution."""

QUANTILES = ("quantile", "percentile", "nanquantile", "nanpercentile")
TAILS = (0.025, 0.975, 2.5, 97.5)

NOUNS = ("area", "removable", "chance", "interval")
CORE = ("headroom.core.statistics", "headroom.core.curves", "headroom.core.ranks")
NUMBERS = ("float", "ndarray", "Estimate", "Number")

OWN_MEANING = {
    "claims/survival.py:chance_of_so_few": "the exact chance of a whole number",
    "claims/survival.py:chance_of_so_many": "the exact chance of a whole number",
    "engines/engine.py:chance": "0, the score of a constant answer",
    "engines/classification/judging.py:chance": "the definition for a labelled set, which the others are given",
}
"""Functions of such a name that define what the core cannot know."""

ON_AXES = {
    "report/explorer_panel.py",  # the ends of an interval, moved to the axis of the curve
    "report/sections/curves.py",  # of the paper's values
    "report/sections/gates.py",  # of models and of the curve, in %
}
"""Modules that put published or stored values on an axis in shares of the score above chance."""

Tree = tuple[str, ast.Module]


def parsed() -> Iterator[Tree]:
    """Yield path and syntax tree of every module of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> dict[str, str]:
    """Return the origin of each imported name, `numpy.random` for `from numpy import random as draws`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.asname or one.name.partition(".")[0]: (one.asname and one.name) or one.name.partition(".")[0]
                      for one in node.names}  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def used(tree: ast.Module) -> set[str]:
    """Return the full names of everything from elsewhere that a module imports or uses as an attribute."""
    names = imported(tree)
    found = set(names.values())
    for node in ast.walk(tree):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in names:
            found.add(".".join([names[node.id], *parts]))
    return found


def defining(path: str, tree: ast.Module) -> set[str]:
    """Return the functions in a module that define a statistic, which is not allowed."""
    own = {name for name in used(tree) if any(name == one or name.startswith(f"{one}.") for one in DEFINING)}
    allowed = {name for name, places in ELSEWHERE.items() if path in places}
    types = {"numpy.random", "numpy.random.Generator", "scipy.stats"}  # parts of longer names
    return own - allowed - types if path not in STATISTICS else set()


def interval_quantiles(path: str, tree: ast.Module) -> list[int]:
    """Return the lines that take the quantiles of an interval."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in QUANTILES
        and any(isinstance(one, ast.Constant) and one.value in TAILS for one in ast.walk(node))
        and path not in STATISTICS
    ]


def written_out(path: str, tree: ast.Module) -> list[int]:
    """Return the lines that write out a statistic: a share above chance, a trapezium rule, a standard error."""
    if path in STATISTICS:
        return []
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in NORMAL]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sem":
            found.append(node.lineno)
        if not isinstance(node, ast.BinOp):
            continue
        less_chance = isinstance(node.op, ast.Div) and any(map(_is_less_chance, ast.walk(node.left)))
        neighbours = isinstance(node.op, ast.Add) and {_ends(node.left), _ends(node.right)} == {"[1:]", "[:-1]"}
        error = isinstance(node.op, ast.Div) and _named(node.left) in ("std", "var") and "sqrt" in ast.unparse(node)
        if less_chance or neighbours or error:
            found.append(node.lineno)
    return sorted(found)


def _is_less_chance(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _named(node.right) == "chance"


def _named(node: ast.expr) -> str:
    """Return the last name of an expression: of `rows["chance"]`, `row.chance` and `chance`, that of `x.std(...)`."""
    if isinstance(node, ast.Call):
        return _named(node.args[0]) if _named(node.func) == "float" and node.args else _named(node.func)
    if isinstance(node, ast.Subscript):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _ends(node: ast.expr) -> str:
    """Return `[1:]` of `x[1:]`."""
    return f"[{ast.unparse(node.slice)}]" if isinstance(node, ast.Subscript) else ""


def computing(path: str, tree: ast.Module) -> set[str]:
    """Return the functions outside the core that are named like a statistic, return numbers, and call none of it."""
    if path.startswith("core/"):
        return set()
    core = {name for name, full in imported(tree).items() if full.startswith(CORE)}
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.returns is None:
            continue
        named = any(word in NOUNS for word in node.name.strip("_").split("_"))
        number = any(isinstance(one, ast.Name) and one.id in NUMBERS for one in ast.walk(node.returns))
        calls = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & (core - {*NUMBERS})
        if named and number and not calls and f"{path}:{node.name}" not in OWN_MEANING:
            found.add(f"{path}:{node.name}")
    return found


def test_statistics_are_defined_in_the_core_alone() -> None:
    assert {path: names for path, tree in parsed() if (names := defining(path, tree))} == {}


def test_intervals_are_taken_in_the_core_alone() -> None:
    assert {path: lines for path, tree in parsed() if (lines := interval_quantiles(path, tree))} == {}


def test_statistics_are_written_out_in_the_core_alone() -> None:
    assert {path: lines for path, tree in parsed() if (lines := written_out(path, tree)) and path not in ON_AXES} == {}


def test_functions_of_their_names_call_them() -> None:
    assert set().union(*(computing(path, tree) for path, tree in parsed())) == set()


def test_nothing_is_allowed_that_is_not_there() -> None:
    trees = dict(parsed())
    for name, places in ELSEWHERE.items():
        assert all(name in used(trees[place]) for place in places)
    for known in OWN_MEANING:
        path, _, name = known.partition(":")
        assert any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(trees[path]))


@pytest.mark.parametrize(
    "code",
    [
        "import numpy\nnumpy.trapezoid([1], [1])",
        "import numpy as np\nnp.random.default_rng(0).choice(3)",
        "from scipy import stats\nstats.t.ppf(0.975, 3)",
        "import scipy.stats\nscipy.stats.ttest_rel([1], [2])",
        "def late():\n    from scipy.stats import t\n    return t",
        "from scipy.optimize import isotonic_regression",
        "from scipy.special import ndtri\nndtri(0.975)",
        "from statistics import NormalDist",
        "import numpy\nnumpy.minimum.accumulate([1])",
        "from sklearn.metrics import auc",
    ],
)
def test_a_second_definition_is_found(code: str) -> None:
    assert defining("report/page.py", ast.parse(code))
    assert not defining("core/curves.py", ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "half = 1.96 * error",
        "kept = (value - chance) / (full - 3)",
        "kept = 100 * (rows['value'] - rows['chance']) / rows['scale']",
        "kept = (row.value - float(row['chance'])) / row.scale",
        "area = ((y[1:] + y[:-1]) / 2 * steps).sum()",
        "error = numpy.std(x, ddof=1) / numpy.sqrt(len(x))",
        "error = frame.groupby('arm')['value'].sem()",
    ],
)
def test_a_statistic_that_is_written_out_is_found(code: str) -> None:
    assert written_out("report/page.py", ast.parse(code)) == [1]
    assert not written_out("core/statistics.py", ast.parse(code))


def test_a_second_interval_and_a_second_area_are_found() -> None:
    drawn = "import numpy\nnumpy.quantile([1], [0.025, 0.975])\nnumpy.quantile([1], 0.25)"
    assert interval_quantiles("report/page.py", ast.parse(drawn)) == [2]
    own = "def curve_area(x: list) -> float:\n    return sum(x) / len(x)"
    assert computing("report/page.py", ast.parse(own)) == {"report/page.py:curve_area"}
    calling = "from headroom.core.curves import area\ndef curve_area(x: list) -> float:\n    return float(area(x, x))"
    assert computing("report/page.py", ast.parse(calling)) == set()
