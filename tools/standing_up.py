"""Success of getting up by initial tilt: `python tools/standing_up.py DIR [LAW] [DT] [TRIALS]`.

DIR is a folder of `tarsus learn get_up`. Trials start as in `tarsus play`: with a uniformly
distributed tilt up to the task's `start_tilt`, random joint angles and the lowest point on the
ground. A trial succeeds if the robot stands without interruption from the task's `within` to two
seconds later.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from tarsus.learning.play import draw_policy_trials, trial_environment
from tarsus.learning.policy import Policy
from tarsus.learning.trials import initial_coordinates
from tarsus.tasks.get_up import GetUp

EDGES = (0, 45, 90, 135, 180)  # degrees
SEED = 1000


def run_trials(policy: Policy, law: str, dt: float, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Run the trials; return the initial tilts (trials,) in degrees, and whether each one stood."""
    # as they begin
    worlds = trial_environment(policy, law, dt, str(policy.metadata["terrain"]), trials)
    task = worlds.task
    assert isinstance(task, GetUp)
    course = draw_policy_trials(policy, trials, task.within + 2, SEED)
    observation = worlds.reset(SEED)
    q = initial_coordinates(worlds, course)
    tilt = np.degrees(np.arccos(np.clip(1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2), -1, 1)))
    drawn = {name: getattr(course, name)[:, None] for name in ("friction", "mass")}
    command = course.command(0)
    assert command is not None
    worlds.restore(drawn | {"command": command})
    # the periods
    stands = np.ones(trials, bool)
    for _ in range(course.periods):
        out = worlds.step(policy(observation))
        stands &= ~out.terminated
        observation = out.observation
    return tilt, stands


def main() -> None:
    """Print the success rate for each range of tilts."""
    policy = Policy.load(Path(sys.argv[1]))
    arguments = sys.argv[2:]
    defaults = [policy.metadata["law"], policy.metadata["dt"], 1000]
    law, dt, trials = [*arguments, *defaults[len(arguments) :]]
    tilt, stands = run_trials(policy, str(law), float(dt), int(trials))
    for low, high in pairwise(EDGES):
        some = (tilt >= low) & (tilt <= high)
        print(f"{low:3d} to {high:3d} degrees: {stands[some].sum():4d} of {some.sum():4d}")
    print(f"all: {stands.sum()} of {stands.size}, {law}, dt {1e3 * float(dt):g} ms")


if __name__ == "__main__":
    main()
