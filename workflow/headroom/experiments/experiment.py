"""An experiment: one thing that is done to models and shown, in one folder."""

from dataclasses import dataclass

from headroom.study.stages import Rule


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What the workflow, the list of stages, the documentation and the page know of an experiment.

    Attributes:
        noun: Its name, that of its folder.
        rules: The jobs that it is made of; empty if they share those of another experiment.
        sections: The modules of its sections of the page, in their order.
    """

    noun: str
    rules: tuple[Rule, ...] = ()
    sections: tuple[str, ...] = ()
