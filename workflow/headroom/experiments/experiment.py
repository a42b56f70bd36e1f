"""An experiment: one thing that is done to models and shown, in one folder."""

from dataclasses import dataclass

from headroom.study.stages import Rule, Stage


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What the workflow, the list of stages, the documentation and the page know of an experiment.

    Attributes:
        noun: Its name, that of its folder.
        rules: The jobs that it is made of; empty if they share those of another experiment.
        stages: Further programs, which no rule calls.
        sections: The modules of its sections of the page, in their order.
    """

    noun: str
    rules: tuple[Rule, ...] = ()
    stages: tuple[Stage, ...] = ()
    sections: tuple[str, ...] = ()

    @property
    def all_stages(self) -> list[Stage]:
        """All programs, each once."""
        found = [*(stage for rule in self.rules for stage in rule.stages), *self.stages]
        return list({stage.name: stage for stage in reversed(found)}.values())[::-1]
