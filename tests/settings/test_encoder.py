"""Initial encoders, in the configuration and on the command line."""

import argparse

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.settings.models import (
    DirectoryEncoder,
    Encoder,
    HubEncoder,
    NewEncoder,
    PackageEncoder,
    SelfAttentiveEncoder,
)
from pydantic import TypeAdapter, ValidationError

ENCODER = TypeAdapter(Encoder)
ENCODERS = {
    "new": NewEncoder,
    "directory": DirectoryEncoder,
    "package": PackageEncoder,
    "hub": HubEncoder,
    "self-attentive": SelfAttentiveEncoder,
}
REQUIRED = {"directory": {"path": "mine"}}


def given(*words):
    parser = argparse.ArgumentParser()
    add_settings(parser, encoder=Encoder)
    return settings_from(parser.parse_args(words), "encoder", Encoder)


@pytest.mark.parametrize(("source", "kind"), ENCODERS.items())
def test_source_chooses_the_kind_of_encoder(source, kind):
    values = {"source": source, **REQUIRED.get(source, {})}
    encoder = ENCODER.validate_python(values)
    assert type(encoder) is kind
    assert given(*(word for name, value in values.items() for word in (f"--{name}", value))) == encoder


def test_a_self_attentive_encoder_by_default_and_as_asked_for():
    assert SelfAttentiveEncoder().model_dump() == {
        **{"source": "self-attentive", "embedding": 64, "hidden": 64, "attention": 64, "hops": 8},
        **{"fully_connected": 128, "dropout": 0.1, "penalty": 0.0, "vocabulary": 2000},
    }
    words = ["--source", "self-attentive", "--hops", "30", "--fully-connected", "9", "--penalty", "0.5"]
    assert given(*words) == SelfAttentiveEncoder(hops=30, fully_connected=9, penalty=0.5)


def test_sources_share_flags_of_one_name():
    words = ["--dropout", "0.3", "--vocabulary", "300"]
    assert given("--source", "new", *words) == NewEncoder(dropout=0.3, vocabulary=300)
    assert given("--source", "self-attentive", *words) == SelfAttentiveEncoder(dropout=0.3, vocabulary=300)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--source", "self-attentive", "--layers", "2"], "--layers: does not apply with --source self-attentive"),
        (["--hops", "2"], "--hops: does not apply with --source new"),
        (["--source", "self-attentive", "--hops", "0"], "--hops 0: input should be greater than 0"),
        (["--source", "self-attentive", "--penalty", "-1"], "--penalty -1: input should be greater than or equal to 0"),
    ],
)
def test_mistakes_on_the_command_line_are_named(words, message):
    with pytest.raises(HeadroomError, match=message):
        given(*words)


@pytest.mark.parametrize("wrong", [{"hops": 0}, {"dropout": 1.0}, {"penalty": -0.1}, {"heads": 4}, {"hidden": 1.5}])
def test_wrong_keys_and_values_are_refused(wrong):
    with pytest.raises(ValidationError):
        ENCODER.validate_python({"source": "self-attentive", **wrong})
