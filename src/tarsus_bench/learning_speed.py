"""`tarsus bench --learning`: control periods per second, with and without a learner.

The same robot, servos, step and targets are simulated in MuJoCo, through its `rollout`, its `batch`
and Gymnasium's vector environments. MuJoCo computes only the physics. Observations, noise, rewards
and ends of episodes are replayed from Tarsus, so that they cost nothing and the learner does the
same work.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment, Transition
from tarsus.environments.plan import targets as task_targets
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.library import mujoco, rollout_module
from tarsus.mujoco_runs.settings import TUNED, describe_sets, row_label, tuned_settings
from tarsus.mujoco_runs.worlds import physics_states, roll
from tarsus.program.run import machine

Array = NDArray[Any]
Physics = Callable[[Array], int]  # simulates a control period; returns the number of falls
LearnerFactory = Callable[[Environment], Callable[[], int]]  # a round returns its periods
TASK, ROBOT, WORLDS, THREADS = "velocity", "mini_cheetah", 256, (1, 2)
ROUNDS, PERIODS, LEARNING_ROUNDS, GYMNASIUM_PERIODS = 5, 100, 2, 10
FRICTION = 0.8  # [1], in MuJoCo
NOISE = 0.4  # standard deviation of actions, as at the start of learning
_ASYNCHRONOUS = "one process per world"
FALL_HEIGHT = 0.55  # fraction of the standing height below which a world is reset
PROCESSES = 8  # of Gymnasium's asynchronous environments


def learning_costs(
    learn: LearnerFactory, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure the control periods per second of each simulator.

    Parameters
    ----------
    learn
        Function that creates a learner for an environment; each call of the learner is one round.
    progress
        Function that is called with the current measurement.

    Returns
    -------
    dict
        Settings, and one row per simulator. control_steps: control periods per second of all
        worlds. with_learner: the same during learning, None if not tried. Both are medians over the
        rounds. falls: falls per world and second, without the learner.
    """
    # Tarsus, and its transitions to replay
    progress("compiling")
    ours = {n: Environment(TASK, ROBOT, worlds=WORLDS, threads=n) for n in THREADS}
    first = ours[THREADS[0]]
    transitions = [first.step(row) for row in _draw_actions(first)]
    # simulators and learners
    simulators: dict[str, Physics] = {
        _label("tarsus, all of the task", n): _physics(env) for n, env in ours.items()
    }
    peers = _Peers(first)
    simulators |= {_label("mujoco rollout, physics", n): peers.rollout(n) for n in THREADS}
    simulators |= {_label("mujoco batch, physics", n): peers.batch(n) for n in THREADS}
    rounds = {_label("tarsus, all of the task", n): learn(env) for n, env in ours.items()}
    with tempfile.TemporaryDirectory() as folder:
        simulators |= peers.gymnasium(Path(folder), progress)
        for name, physics in simulators.items():
            if name not in rounds and _ASYNCHRONOUS not in name:
                replayed = _ReplayedEnvironment(first, physics, transitions)
                rounds[name] = learn(replayed)  # pyright: ignore[reportArgumentType]
        # interleaved rounds
        times = _measure(simulators, rounds, _draw_actions(first), first.task.rate, progress)
        peers.close()
    rows = [{"simulator": name, **figures} for name, figures in times.items()]
    return {"rows": rows, "settings": settings(first)}


def _physics(environment: Environment) -> Physics:
    return lambda action: int(environment.step(action).terminated.sum())


def _label(engine: str, threads: int) -> str:
    return f"{engine}, {threads} thread{'s' if threads > 1 else ''}"


def _draw_actions(env: Environment) -> Array:
    """Draw the actions (periods, worlds, n) of an untrained learner."""
    drawn = np.random.default_rng(0).standard_normal((PERIODS, WORLDS, env.action_size))
    return (NOISE * drawn).astype(np.float32)


def _measure(
    simulators: Mapping[str, Physics],
    rounds: Mapping[str, Callable[[], int]],
    actions: Array,
    rate: float,
    progress: Callable[[str], None],
) -> dict[str, dict[str, float | None]]:
    """Measure the control periods per second in interleaved rounds; `rate` of periods in Hz."""
    alone: dict[str, list[float]] = {name: [] for name in simulators}
    fell: dict[str, list[float]] = {name: [] for name in simulators}
    learned: dict[str, list[float]] = {name: [] for name in rounds}
    for k in range(ROUNDS):
        # alone
        for name, physics in simulators.items():
            progress(f"round {k + 1} of {ROUNDS}: {name}")
            selected = actions[: GYMNASIUM_PERIODS if "gymnasium" in name else PERIODS]
            began = perf_counter()
            fallen = sum(physics(row) for row in selected)
            periods = len(selected) * (PROCESSES if _ASYNCHRONOUS in name else WORLDS)
            alone[name].append(periods / (perf_counter() - began))
            fell[name].append(fallen / periods)
        # with a learner
        for name, round_ in rounds.items():
            progress(f"round {k + 1} of {ROUNDS}: {name}, with a learner")
            began = perf_counter()
            count = 1 if "gymnasium" in name else LEARNING_ROUNDS
            periods = sum(round_() for _ in range(count))
            learned[name].append(periods / (perf_counter() - began))
    return {
        name: {
            "control_steps": median(speeds),
            "with_learner": median(learned[name]) if name in learned else None,
            "falls": rate * sum(fell[name]) / len(fell[name]),
        }
        for name, speeds in alone.items()
    }


class _ReplayedEnvironment:
    """Environment with recorded transitions whose physics another simulator computes."""

    def __init__(
        self, environment: Environment, physics: Physics, transitions: list[Transition]
    ) -> None:
        self._environment, self._physics = environment, physics
        self._transitions, self._index = transitions, 0

    def step(self, action: Array) -> Transition:
        self._physics(action)
        self._index += 1
        return self._transitions[self._index % len(self._transitions)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


class _Peers:
    """Robot of an environment in MuJoCo, whose servos have the same targets.

    Attributes
    ----------
    last
        Coordinates (worlds, nq) at the end of the last period.
    """

    def __init__(self, environment: Environment) -> None:
        # the model, with servos instead of motors
        mj, work, settings = mujoco(), environment.work, tuned_settings(FRICTION)
        text = to_mjcf(environment.robot, dt=environment.dt, friction=settings.coefficient)
        self.model = mj.MjModel.from_xml_string(text)
        settings.apply(self.model)
        self.model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET
        torques = np.array([(motor.lower, motor.upper) for motor in environment.robot.actuators])
        self.model.actuator_forcelimited[:] = np.isfinite(torques).all(1)
        self.model.actuator_forcerange[:] = np.nan_to_num(torques)
        self.model.actuator_ctrllimited[:] = 0
        self.model.actuator_biastype[:] = mj.mjtBias.mjBIAS_AFFINE
        kp, kd = np.array(work.gains.kp), np.array(work.gains.kd)
        self.model.actuator_gainprm[:, 0], self.model.actuator_biasprm[:, 1] = kp, -kp
        self.model.actuator_biasprm[:, 2] = -kd
        # no dry friction, as in Tarsus; joint damping is the same
        self.model.dof_frictionloss[:] = 0
        # initial state and targets
        [self.start] = physics_states(self.model, environment.start[None])
        clock, action = ca.SX.sym("clock"), ca.SX.zeros(environment.action_size)
        self._rhythm = ca.Function("rhythm", [clock], [task_targets(work, clock, action)])
        self._action_scale, self._rate = environment.task.action_scale, environment.task.rate
        self.steps, self._periods = work.steps, 0
        self._fall_height = FALL_HEIGHT * environment.start[2]
        self._resources: list[Any] = []
        self.last = np.tile(environment.start, (WORLDS, 1))

    def targets(self, action: Array) -> Array:
        """Compute the targets (worlds, n) of the next period, rad."""
        self._periods += 1
        cycle = round(self._rate)  # periods after which the rhythm repeats
        rhythm = np.array(self._rhythm(self._periods % cycle)).ravel()
        return rhythm + self._action_scale * np.asarray(action, float)

    def rollout(self, threads: int) -> Physics:
        """Simulate through `mujoco.rollout` with persistent threads."""
        pool = rollout_module().Rollout(nthread=threads)
        self._resources.append(pool)
        data = [mujoco().MjData(self.model) for _ in range(threads)]
        states = np.tile(self.start, (WORLDS, 1))

        def period(action: Array) -> int:
            control = np.repeat(self.targets(action)[:, None], self.steps, axis=1)
            states[:] = roll(self.model, data, states, self.steps, control, pool)[:, -1]
            fallen = ~(states[:, 3] > self._fall_height)  # time, then x, y, z
            states[fallen] = self.start
            self.last = states[:, 1 : 1 + self.model.nq]
            return int(fallen.sum())

        return period

    def batch(self, threads: int) -> Physics:
        """Simulate through `mujoco.batch` and its live arrays."""
        batch = importlib.import_module("mujoco.batch").Batch(self.model, WORLDS, threads)
        q, u, control = batch.bind("qpos"), batch.bind("qvel"), batch.bind("ctrl")
        first = self.start[1 : 1 + self.model.nq]
        q[:] = first

        def period(action: Array) -> int:
            control[:] = self.targets(action)
            batch.step(nstep=self.steps)
            fallen = ~(q[:, 2] > self._fall_height)
            q[fallen], u[fallen] = first, 0
            self.last = q
            return int(fallen.sum())

        return period

    def gymnasium(self, folder: Path, progress: Callable[[str], None]) -> dict[str, Physics]:
        """Simulate through Gymnasium's vector environments, if installed; one per world."""
        try:
            gymnasium: Any = importlib.import_module("gymnasium")
            base: Any = importlib.import_module("gymnasium.envs.mujoco").MujocoEnv
        except ImportError:
            progress("Gymnasium is not installed; its environments are skipped")
            return {}
        # one world, from the model as a file
        file, first = folder / "robot.mjb", self.start[1 : 1 + self.model.nq]
        mujoco().mj_saveModel(self.model, str(file))
        space = gymnasium.spaces.Box(-np.inf, np.inf, (self.model.nq + self.model.nv,))
        model, steps, fall_height = self.model, self.steps, self._fall_height

        class _World(base):
            metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own type

            def __init__(self) -> None:
                super().__init__(str(file), steps, space)

            def _initialize_simulation(self) -> tuple[Any, Any]:
                return model, mujoco().MjData(model)

            def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
                self.do_simulation(action, self.frame_skip)
                fallen = not self.data.qpos[2] > fall_height
                return self._observe(), float(self.data.qvel[0]), fallen, False, {}

            def reset_model(self) -> Array:
                self.set_state(first, np.zeros(model.nv))
                return self._observe()

            def _observe(self) -> Array:
                return np.concatenate([self.data.qpos, self.data.qvel])

        # in this process, and in several
        vector = gymnasium.vector
        synchronous = vector.SyncVectorEnv([_World] * WORLDS)
        asynchronous = vector.AsyncVectorEnv([_World] * PROCESSES)
        self._resources += [synchronous, asynchronous]
        for environments in (synchronous, asynchronous):
            environments.reset(seed=0)

        def step_all(action: Array) -> int:
            return int(synchronous.step(self.targets(action))[2].sum())

        def step_processes(action: Array) -> int:
            return int(asynchronous.step(self.targets(action)[:PROCESSES])[2].sum())

        return {
            "gymnasium, synchronous, physics": step_all,
            f"gymnasium, {_ASYNCHRONOUS}, physics": step_processes,
        }

    def close(self) -> None:
        """End threads and processes."""
        for resource in self._resources:
            resource.close()


def settings(environment: Environment) -> dict[str, Any]:
    """Describe everything that a reader needs to reproduce the figures."""
    return {
        "task": f"{TASK} on {ROBOT}, {WORLDS} worlds, {environment.task.rate:g} Hz, dt"
        f" {environment.dt:g} s, random actions of standard deviation {NOISE} around a trot on the"
        " spot",
        "tarsus": "moreau, float32: physics, servos, observation, noise, reward, new episodes",
        "mujoco": f"{mujoco().__version__}, float64, {environment.work.steps} steps per period, the"
        " same gains and targets, no dry friction; a fallen world is reset",
        "mujoco_settings": describe_sets({row_label(TUNED): tuned_settings(FRICTION)})[0],
        "learner": "PPO of `tarsus learn`; with MuJoCo, observations and rewards are replayed from"
        " Tarsus",
        "asynchronous": f"{PROCESSES} worlds in one process each; not tried with a learner",
        "rounds": f"{ROUNDS}, interleaved; medians",
        "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f} at the end",
    }
