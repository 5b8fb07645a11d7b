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
    """Train and test a policy; return the last error of the forward speed, m/s."""
    began = time.perf_counter()
    method = tarsus.PPO()
    env = tarsus.Environment("velocity", "mini_cheetah", worlds=method.worlds, seed=seed)
    learner, error = method.create_learner(env, seed), 0.0
    for _ in range(rounds):
        result = learner.run_round()
        error = result.errors["speed"]
        if result.round % 10 == 0:
            print(
                f"{time.perf_counter() - began:6.1f} s  {result.periods / 1e6:5.2f} M periods "
                f" reward {result.reward:6.2f} and {result.falls:.2f} falls per second"
                f"  speed error {error:.3f} m/s",
                flush=True,
            )
    policy = replace(learner.policy, metadata=TrainingSpec().metadata(env))
    commands = draw_policy_trials(policy, trials, 10.0, seed=1)
    for law in ("moreau", "mujoco"):
        test = run_trials(policy, commands, law, env.dt, "plane")
        print(f"{law}: {test.fell} of {trials} fell; errors {test.errors}")
    return error


if __name__ == "__main__":
    main()
