"""Jobs: flags follow the fields, JSON and flags give the same, every mistake is a line."""

from pathlib import Path
from typing import Annotated, Literal, Union

import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.base import Settings
from headroom.settings.job import Files, Job
from pydantic import Field, PositiveInt


class Square(Settings):
    """A square."""

    source: Literal["square"] = Field("square", description="a square")
    side: PositiveInt = Field(2, description="length")


class Circle(Settings):
    """A circle."""

    source: Literal["circle"] = Field("circle", description="a circle")
    radius: PositiveInt = Field(description="radius")


class ExampleSettings(Settings):
    """An example of settings."""

    learning_rate: float = Field(0.5, gt=0, description="step size, 100 % of it")
    epochs: PositiveInt = Field(3, description="passes")
    sizes: tuple[PositiveInt, ...] = Field((1, 4), description="sizes")
    parts: tuple[Literal["E", "D"], ...] = Field(("E",), description="which")
    limit: int | None = Field(None, description="at most")


class Example(Job):
    """An example of a job."""

    output: Path = Field(description="where")
    tables: Files = Field([], description="tables")
    quick: bool = Field(False, description="fast")
    epochs: PositiveInt = Field(1, description="as of a section")
    example: ExampleSettings = ExampleSettings()
    shape: Annotated[Union[Square, Circle], Field(discriminator="source")] = Square()  # noqa: UP007


def test_flags_follow_the_fields_and_replace_those_of_json() -> None:
    words = "--output a, --learning-rate 1e-3 --example.epochs 9 --sizes 2 8 --parts D E --quick --tables a,b [c]"
    found = Example.read([*words.split(" "), "--limit", "5", "--radius", "4", "--source", "circle"])
    section = {"learning_rate": 1e-3, "epochs": 9, "sizes": (2, 8), "parts": ("D", "E"), "limit": 5}
    expected = {"example": ExampleSettings(**section), "shape": Circle(radius=4), "quick": True}
    assert found == Example(output=Path("a,"), tables=[Path("a,b"), Path("[c]")], **expected)
    assert Example.read([found.model_dump_json()]) == found
    again = Example.read(
        [found.model_dump_json(), "--no-quick", "--shape", '{"source": "square", "side": 3}', "--epochs", "2"]
    )
    assert again == found.model_copy(update={"quick": False, "shape": Square(side=3), "epochs": 2})
    assert Example.read(['{"output": "o", "tables": "one.csv"}']).tables == [Path("one.csv")]


WRONG = [
    ("--output o --sizes 0 --limit x", ["example.sizes.0: Input should be greater", "example.limit: Input should be"]),
    ("--tables a", ["output: missing; give it as python -m headroom example --help says"]),
    ("--output o --source circle", ["shape.radius: missing"]),
    ("--output o --radius 4", ["shape: the key 'source' is missing; it says which form the section has"]),
    ("--output o --radius 4 --source square", ["shape.radius: Extra inputs are not permitted"]),
    ('{"output":"o","other":1}', ["other: Extra inputs are not permitted"]),
]


@pytest.mark.parametrize(("words", "lines"), WRONG)
def test_every_mistake_is_a_line(words: str, lines: list[str]) -> None:
    with pytest.raises(HeadroomError) as caught:
        Example.read(words.split(" "), "example")
    found = str(caught.value).split("\n")
    assert len(found) == len(lines)
    assert all(line.startswith(start) for line, start in zip(found, lines)), found
