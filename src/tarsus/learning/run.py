"""Learn round by round into a folder; a run that was killed goes on where it was last kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from tarsus.errors import WarningRecord, one_per_code
from tarsus.file_locks import write_lock
from tarsus.learning.folder import LESSON, POLICY, SPENT, Folder
from tarsus.learning.lesson import Lesson
from tarsus.learning.methods.base import Round
from tarsus.learning.policy import Policy
from tarsus.schema import NumberRule
from tarsus.simulation.recording.interrupt import catch_interrupt

EVERY = 10.0  # s between two checkpoints


@dataclass(frozen=True)
class Until:
    """When learning ends: after so many rounds, so many seconds, all runs together, or whichever
    comes first; every: s between two checkpoints, 0: after each round.
    """

    rounds: int | None = None
    seconds: float | None = None
    every: float = EVERY

    def over(self, rounds: int, spent: float) -> bool:
        """Whether it has come."""
        return (self.rounds is not None and rounds >= self.rounds) or (
            self.seconds is not None and spent >= self.seconds
        )


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of it.

    policy: as it was kept; rounds: made so far; spent: s, all runs together; resumed: from which
    round this run went on; last: figures of the last round, None if none was made
    stopped: whether Ctrl-C ended it; units: of what is missed, by name
    curve: a line a round, of all runs
    """

    policy: Policy
    rounds: int
    spent: float
    resumed: int
    last: Round | None
    warnings: tuple[WarningRecord, ...]
    stopped: bool
    units: Mapping[str, str]
    curve: list[dict[str, Any]]


def learn(
    lesson: Lesson,
    out: str | Path,
    until: Until,
    tell: Callable[[Round, float], None] = lambda found, spent: None,
    threads: int = 1,
) -> Learned:
    """Learn until then, or go on with what the folder `out` holds.

    tell: is told the figures of every round, and the seconds spent
    After Ctrl-C the round at hand is finished and kept. Raises FileInUse if another process learns
    in this folder.
    """
    began, folder = perf_counter(), Folder(Path(out))
    with write_lock(folder.path / LESSON), catch_interrupt() as interrupted:
        folder.check(asdict(lesson))
        # where it was left
        environment = lesson.environment(threads)
        learner = lesson.parts()[1].learner(environment, lesson.seed)
        folder.claim(asdict(lesson))  # not before: the robot may be none for the task
        about, kept, before = lesson.about(environment), folder.checkpoint(), 0.0
        if kept is not None:
            spent_before = kept[SPENT].item() if SPENT in kept and kept[SPENT].size == 1 else None
            NumberRule(0, 1e12).check(SPENT, spent_before)
            before = float(spent_before or 0.0)
            learner.restore(kept)
        resumed, last, spent = learner.rounds, None, before
        folder.rewind(resumed)

        def keep() -> Policy:
            policy = replace(learner.policy, about=about)
            policy.save(folder.path / POLICY)
            folder.keep(learner.state(), spent)
            return policy

        # round by round
        saved = perf_counter()
        while not interrupted() and not until.over(learner.rounds, spent):
            last = learner.round()
            now = perf_counter()
            spent = before + now - began
            folder.add({"seconds": spent} | asdict(last))
            tell(last, spent)
            if now - saved >= until.every:
                keep()
                saved = now
        policy = keep()
        stopped = interrupted() and not until.over(learner.rounds, spent)
    told = tuple(one_per_code(environment.warnings)), stopped, environment.measures, folder.curve()
    return Learned(policy, learner.rounds, spent, resumed, last, *told)
