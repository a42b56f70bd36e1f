"""Command lines: flags follow the settings, errors are one line."""

import errno
from collections.abc import Sequence
from typing import Annotated, Literal, Union

import pytest
from headroom.core import command, flags
from headroom.core.errors import HeadroomError
from headroom.settings.base import Settings
from pydantic import Field, PositiveInt


class ExampleSettings(Settings):
    """An example of settings."""

    learning_rate: float = Field(0.5, gt=0, description="step size, 100 % of it")
    epochs: PositiveInt = Field(3, description="passes")
    sizes: tuple[PositiveInt, ...] = Field((1, 4), description="sizes")
    device: Literal["auto", "cpu", "none"] = Field("auto", description="where")
    parts: tuple[Literal["E", "D"], ...] = Field(("E",), description="which")
    quick: bool = Field(False, description="fast")
    limit: int | None = Field(None, description="at most")


def parsed(*arguments: str) -> ExampleSettings:
    parser = command.stage_parser("example", "An example.")
    flags.add_settings(parser, example=ExampleSettings)
    return flags.settings_from(parser.parse_args(arguments), "example", ExampleSettings)


def test_flags_follow_the_fields_and_override_sections_as_json() -> None:
    found = parsed(
        *("--learning-rate", "1e-3", "--epochs", "9", "--sizes", "2", "8", "--device", "cpu"),
        *("--parts", "D", "E", "--quick", "true", "--limit", "5"),
    )
    assert found == ExampleSettings(
        learning_rate=1e-3, epochs=9, sizes=(2, 8), device="cpu", parts=("D", "E"), quick=True, limit=5
    )
    found = parsed("--settings", '{"example": {"epochs": 7, "sizes": [3]}, "other": {"epochs": 1}}', "--sizes", "5")
    assert found == ExampleSettings(epochs=7, sizes=(5,))
    assert parsed("--limit", "none", "--device", "none") == ExampleSettings(limit=None, device="none")


def test_all_mistakes_are_named_a_line_each() -> None:
    with pytest.raises(HeadroomError) as caught:
        parsed("--settings", '{"example": {"epoch": 7, "learning_rate": "fast"}}', "--epochs", "0", "--limit", "x")
    lines = str(caught.value).split("\n")
    assert {line.split(" ")[0].rstrip(":") for line in lines} == {"--epoch", "--learning-rate", "--epochs", "--limit"}


class Square(Settings):
    """A square."""

    source: Literal["square"] = Field("square", description="a square")
    side: PositiveInt = Field(2, description="length")


class Circle(Settings):
    """A circle."""

    source: Literal["circle"] = Field("circle", description="a circle")
    radius: PositiveInt = Field(description="radius")


Shape = Annotated[Union[Square, Circle], Field(discriminator="source")]  # noqa: UP007


def test_variants_of_a_section() -> None:
    assert shape_from() == Square()
    assert shape_from("--side", "3") == Square(side=3)
    assert shape_from("--source", "circle", "--radius", "4") == Circle(radius=4)
    assert shape_from("--settings", '{"shape": {"source": "circle", "radius": 5}}') == Circle(radius=5)


def test_what_a_variant_lacks_or_does_not_take() -> None:
    for arguments, message in (
        (("--source", "circle"), "--radius: missing; --source circle requires it"),
        (("--radius", "4"), "--radius: does not apply with --source square; leave it out"),
        (("--side", "0"), "--side 0: input should be greater than 0"),
    ):
        with pytest.raises(HeadroomError, match=message):
            shape_from(*arguments)


def shape_from(*arguments: str) -> Settings:
    parser = command.stage_parser("example", "An example.")
    flags.add_settings(parser, shape=Shape)
    return flags.settings_from(parser.parse_args(arguments), "shape", Shape)


OUT_OF_MEMORY = "error: out of memory: the allocation failed; give the job more memory or a smaller batch\n"


def failing(error: BaseException) -> command.Callable[[Sequence[str] | None], None]:
    def main(arguments: Sequence[str] | None = None) -> None:
        raise error

    return main


FULL = "error: no space left on the disk: cannot write; free space"
ENDED = [
    (HeadroomError("no head E9:1; the model has 3 layers"), 2, "error: no head E9:1; the model has 3 layers\n"),
    (MemoryError(), 2, OUT_OF_MEMORY),
    (RuntimeError("[...] DefaultCPUAllocator: can't allocate memory: you tried"), 2, OUT_OF_MEMORY),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), 2, OUT_OF_MEMORY),
    (OSError(errno.ENOSPC, "No space", "results/a"), 28, f"{FULL} at results/a and re-run the same command\n"),
    (Exception("No space left on device (os error 28)"), 28, f"{FULL} and re-run the same command\n"),
    (KeyboardInterrupt(), 130, ""),
]


@pytest.mark.parametrize(("error", "status", "shown"), ENDED)
def test_errors_end_a_stage_in_one_line(
    error: BaseException, status: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.run(failing(error))
    assert (ended.value.code, capsys.readouterr().err) == (status, shown)


def test_programming_errors_keep_their_traceback() -> None:
    for error in (ValueError("ours"), OSError(errno.EACCES, "Permission denied")):
        with pytest.raises(type(error), match=r"ours|Permission"):
            command.run(failing(error))
