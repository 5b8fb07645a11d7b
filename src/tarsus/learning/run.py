"""Training, round by round, in a folder; an interrupted run resumes from its last checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from tarsus.errors import WarningRecord, one_per_code
from tarsus.file_locks import write_lock
from tarsus.learning.folder import LESSON, POLICY, SPENT, TrainingFolder
from tarsus.learning.methods.base import Round
from tarsus.learning.policy import Policy
from tarsus.learning.training_spec import TrainingSpec
from tarsus.schema import NumberRule
from tarsus.simulation.device import Device
from tarsus.simulation.recording.interrupt import catch_interrupt

CHECKPOINT_INTERVAL = 10.0  # s


@dataclass(frozen=True)
class StopCondition:
    """Condition that ends training: a number of rounds or of seconds, whichever comes first.

    Attributes
    ----------
    rounds
        Rounds of all runs together; None: no limit.
    seconds
        Training time of all runs together, in s; None: no limit.
    checkpoint_interval
        Time between checkpoints, in s; 0: one after each round.
    """

    rounds: int | None = None
    seconds: float | None = None
    checkpoint_interval: float = CHECKPOINT_INTERVAL

    def is_reached(self, rounds: int, training_time: float) -> bool:
        """Return whether training ends after these rounds and seconds."""
        return (self.rounds is not None and rounds >= self.rounds) or (
            self.seconds is not None and training_time >= self.seconds
        )


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Result of a training run.

    Attributes
    ----------
    policy
        The policy, as it was saved.
    rounds
        Rounds so far.
    training_time
        Training time of all runs together, in s.
    resumed
        Round from which this run resumed.
    last
        Statistics of the last round; None if there was none.
    warnings
        Warnings of the environment.
    stopped
        Whether Ctrl-C ended the run.
    units
        Units of the errors, by measure.
    curve
        Lines of the learning curve, of all runs.
    """

    policy: Policy
    rounds: int
    training_time: float
    resumed: int
    last: Round | None
    warnings: tuple[WarningRecord, ...]
    stopped: bool
    units: Mapping[str, str]
    curve: list[dict[str, Any]]


def learn(
    spec: TrainingSpec,
    out: str | Path,
    until: StopCondition,
    on_round: Callable[[Round, float], None] = lambda result, training_time: None,
    threads: int = 1,
    device: Device = "cpu",
) -> TrainingResult:
    """Train a policy, or resume the training in the folder `out`.

    After Ctrl-C the current round is finished and saved.

    Parameters
    ----------
    spec
        Task, robot, method and settings.
    out
        Folder.
    until
        Condition that ends the training.
    on_round
        Called after each round with its statistics and the training time, in s.
    threads
        Number of threads.
    device
        "cpu", or "cuda" for a method that learns on a GPU.

    Raises
    ------
    IncompatibleOptions
        If the method cannot learn on the device.
    FileInUse
        If another process trains in this folder.
    InvalidFile
        If the folder holds another training specification.
    """
    started, folder = perf_counter(), TrainingFolder(Path(out))
    with write_lock(folder.path / LESSON), catch_interrupt() as interrupted:
        folder.check(asdict(spec))
        # resume from the checkpoint
        environment = spec.create_environment(threads, device)
        learner = spec.task_and_method()[1].create_learner(environment, spec.seed)
        folder.bind(asdict(spec))  # only now, because the robot might not suit the task
        metadata, checkpoint, before = spec.metadata(environment), folder.checkpoint(), 0.0
        if checkpoint is not None:
            spent_before = (
                checkpoint[SPENT].item()
                if SPENT in checkpoint and checkpoint[SPENT].size == 1
                else None
            )
            NumberRule(0, 1e12).check(SPENT, spent_before)
            before = float(spent_before or 0.0)
            learner.restore(checkpoint)
        resumed, last, training_time = learner.rounds, None, before
        folder.rewind(resumed)

        def save() -> Policy:
            policy = replace(learner.policy, metadata=metadata)
            policy.save(folder.path / POLICY)
            folder.save_checkpoint(learner.state(), training_time)
            return policy

        # round by round
        saved = perf_counter()
        while not interrupted() and not until.is_reached(learner.rounds, training_time):
            last = learner.run_round()
            now = perf_counter()
            training_time = before + now - started
            folder.append({"seconds": training_time} | asdict(last))
            on_round(last, training_time)
            if now - saved >= until.checkpoint_interval:
                save()
                saved = now
        policy = save()
        stopped = interrupted() and not until.is_reached(learner.rounds, training_time)
    rest = tuple(one_per_code(environment.warnings)), stopped, environment.measures, folder.curve()
    return TrainingResult(policy, learner.rounds, training_time, resumed, last, *rest)
