"""Initial encoders, in the configuration and on the command line."""

import argparse

import pytest
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


def test_sources_share_flags_of_one_name():
    words = ["--dropout", "0.3", "--vocabulary", "300"]
    assert given("--source", "new", *words) == NewEncoder(dropout=0.3, vocabulary=300)
    assert given("--source", "self-attentive", *words) == SelfAttentiveEncoder(dropout=0.3, vocabulary=300)


@pytest.mark.parametrize("wrong", [{"hops": 0}, {"dropout": 1.0}, {"penalty": -0.1}, {"heads": 4}, {"hidden": 1.5}])
def test_wrong_keys_and_values_are_refused(wrong):
    with pytest.raises(ValidationError):
        ENCODER.validate_python({"source": "self-attentive", **wrong})
