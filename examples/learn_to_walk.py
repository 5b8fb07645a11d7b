"""Teach a quadruped to follow commanded speeds: PPO in NumPy with 256 worlds.

The script prints the reward per second and the error of the forward speed during learning. Then the
policy, without noise, follows commands and pushes that it has not seen, here and in MuJoCo.
"""

import time
from dataclasses import replace

import tarsus
from tarsus.learning.play import draw_policy_trials, run_trials
from tarsus.learning.training_spec import TrainingSpec


def main(rounds: int = 80, seed: int = 0, trials: int = 20) -> float:
    """Learn, and try it; the last error of speed, m/s."""
    began = time.perf_counter()
    method = tarsus.PPO()
    env = tarsus.Environment("velocity", "mini_cheetah", worlds=method.worlds, seed=seed)
    learner, missed = method.learner(env, seed), 0.0
    for _ in range(rounds):
        found = learner.round()
        missed = found.missed["speed"]
        if found.round % 10 == 0:
            print(
                f"{time.perf_counter() - began:6.1f} s  {found.periods / 1e6:5.2f} M periods "
                f" paid {found.paid:6.2f} and {found.falls:.2f} falls a second"
                f"  speed missed by {missed:.3f} m/s",
                flush=True,
            )
    policy = replace(learner.policy, about=TrainingSpec().metadata(env))
    course = draw_policy_trials(policy, trials, 10.0, seed=1)
    for law in ("moreau", "mujoco"):
        tried = run_trials(policy, course, law, env.dt, "plane")
        print(f"{law}: {tried.fell} of {trials} fell; missed {tried.missed}")
    return missed


if __name__ == "__main__":
    main()
