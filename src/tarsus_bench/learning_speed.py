"""`tarsus bench --learning`: control periods a second, with and without a learner.

Beside it the same robot, servos, step and targets in MuJoCo, through its `rollout`, its `batch` and
Gymnasium's vector environments. There physics alone is computed: what the task says of it (the
observation, its noise, the reward, the ends of episodes) is replayed from ours, so that it costs
nothing and the same learner does the same work.
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
from tarsus.environments.plan import targets
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.library import mujoco, rollout_module
from tarsus.mujoco_runs.settings import TUNED, footnotes, label, tuned
from tarsus.mujoco_runs.worlds import physics_states, roll
from tarsus.program.run import machine

Array = NDArray[Any]
Physics = Callable[[Array], int]  # a control period; how many worlds fell in it
Learn = Callable[[Environment], Callable[[], int]]  # makes rounds of learning; their periods
TASK, ROBOT, WORLDS, THREADS = "velocity", "mini_cheetah", 256, (1, 2)
ROUNDS, PERIODS, LEARNED, FEW = 5, 100, 2, 10
FRICTION = 0.8  # [1], in MuJoCo
NOISE = 0.4  # of actions, as a learner begins
_ASYNCHRONOUS = "a process a world"
FALLEN = 0.55  # of the standing height: a world below it is put back to its start
PROCESSES = 8  # of Gymnasium's asynchronous environments


def learning_costs(
    learn: Learn, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Rows of simulators, and the settings.

    learn: makes a learner of an environment; each call of it is one round
    control_steps: control periods a second of all worlds; with_learner: the same while it learns,
    None where it was not tried; both medians over the rounds; falls: a world and second, alone.
    """
    # ours, and what there is to say of it
    progress("compiling")
    ours = {n: Environment(TASK, ROBOT, worlds=WORLDS, threads=n) for n in THREADS}
    first = ours[THREADS[0]]
    said = [first.step(row) for row in _actions(first)]
    # the simulators, and what learns from them
    simulators: dict[str, Physics] = {
        _named("tarsus, all of the task", n): _own(env) for n, env in ours.items()
    }
    peers = _Peers(first)
    simulators |= {_named("mujoco rollout, physics", n): peers.rollout(n) for n in THREADS}
    simulators |= {_named("mujoco batch, physics", n): peers.batch(n) for n in THREADS}
    rounds = {_named("tarsus, all of the task", n): learn(env) for n, env in ours.items()}
    with tempfile.TemporaryDirectory() as folder:
        simulators |= peers.gymnasium(Path(folder), progress)
        for name, physics in simulators.items():
            if name not in rounds and _ASYNCHRONOUS not in name:
                rounds[name] = learn(_Elsewhere(first, physics, said))  # pyright: ignore[reportArgumentType]
        # both, in rounds
        times = _measured(simulators, rounds, _actions(first), first.task.rate, progress)
        peers.close()
    rows = [{"simulator": name, **found} for name, found in times.items()]
    return {"rows": rows, "settings": settings(first)}


def _own(environment: Environment) -> Physics:
    return lambda action: int(environment.step(action).terminated.sum())


def _named(engine: str, threads: int) -> str:
    return f"{engine}, {threads} thread{'s' if threads > 1 else ''}"


def _actions(env: Environment) -> Array:
    """Of a learner that knows nothing (periods, worlds, n)."""
    drawn = np.random.default_rng(0).standard_normal((PERIODS, WORLDS, env.action_size))
    return (NOISE * drawn).astype(np.float32)


def _measured(
    simulators: Mapping[str, Physics],
    rounds: Mapping[str, Callable[[], int]],
    actions: Array,
    rate: float,
    progress: Callable[[str], None],
) -> dict[str, dict[str, float | None]]:
    """Of each the control periods a second, in interleaved rounds; rate: of periods, Hz."""
    alone: dict[str, list[float]] = {name: [] for name in simulators}
    fell: dict[str, list[float]] = {name: [] for name in simulators}
    learned: dict[str, list[float]] = {name: [] for name in rounds}
    for k in range(ROUNDS):
        # alone
        for name, physics in simulators.items():
            progress(f"round {k + 1} of {ROUNDS}: {name}")
            few = actions[: FEW if "gymnasium" in name else PERIODS]
            began = perf_counter()
            fallen = sum(physics(row) for row in few)
            periods = len(few) * (PROCESSES if _ASYNCHRONOUS in name else WORLDS)
            alone[name].append(periods / (perf_counter() - began))
            fell[name].append(fallen / periods)
        # with a learner
        for name, round_ in rounds.items():
            progress(f"round {k + 1} of {ROUNDS}: {name}, with a learner")
            began = perf_counter()
            periods = sum(round_() for _ in range(1 if "gymnasium" in name else LEARNED))
            learned[name].append(periods / (perf_counter() - began))
    return {
        name: {
            "control_steps": median(found),
            "with_learner": median(learned[name]) if name in learned else None,
            "falls": rate * sum(fell[name]) / len(fell[name]),
        }
        for name, found in alone.items()
    }


class _Elsewhere:
    """An environment whose physics another simulator computes, and whose words are a record's."""

    def __init__(self, environment: Environment, physics: Physics, said: list[Transition]) -> None:
        self._environment, self._physics, self._said, self._at = environment, physics, said, 0

    def step(self, action: Array) -> Transition:
        self._physics(action)
        self._at += 1
        return self._said[self._at % len(self._said)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


class _Peers:
    """The robot of an environment with its servos in MuJoCo, driven to the same targets.

    last (worlds, nq): coordinates as a period has ended
    """

    def __init__(self, environment: Environment) -> None:
        # the model, whose motors become the servos
        mj, work, settings = mujoco(), environment.work, tuned(FRICTION)
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
        # joints move with the damping that ours have, and without dry friction, as there
        self.model.dof_frictionloss[:] = 0
        # where it starts, and what it is driven to
        [self.start] = physics_states(self.model, environment.start[None])
        clock, action = ca.SX.sym("clock"), ca.SX.zeros(environment.action_size)
        self._rhythm = ca.Function("rhythm", [clock], [targets(work, clock, action)])
        self._reach, self._rate = environment.task.reach, environment.task.rate
        self.steps, self._periods, self._low = work.steps, 0, FALLEN * environment.start[2]
        self._open: list[Any] = []
        self.last = np.tile(environment.start, (WORLDS, 1))

    def aims(self, action: Array) -> Array:
        """Targets (worlds, n) of another period, rad."""
        self._periods += 1
        turn = round(self._rate)  # periods after which the rhythm is the same
        rhythm = np.array(self._rhythm(self._periods % turn)).ravel()
        return rhythm + self._reach * np.asarray(action, float)

    def rollout(self, threads: int) -> Physics:
        """Through `mujoco.rollout`, its threads kept."""
        pool = rollout_module().Rollout(nthread=threads)
        self._open.append(pool)
        data = [mujoco().MjData(self.model) for _ in range(threads)]
        states = np.tile(self.start, (WORLDS, 1))

        def period(action: Array) -> int:
            control = np.repeat(self.aims(action)[:, None], self.steps, axis=1)
            states[:] = roll(self.model, data, states, self.steps, control, pool)[:, -1]
            fallen = ~(states[:, 3] > self._low)  # time, then x, y, z
            states[fallen] = self.start
            self.last = states[:, 1 : 1 + self.model.nq]
            return int(fallen.sum())

        return period

    def batch(self, threads: int) -> Physics:
        """Through `mujoco.batch`, its state arrays live."""
        many = importlib.import_module("mujoco.batch").Batch(self.model, WORLDS, threads)
        q, u, control = many.bind("qpos"), many.bind("qvel"), many.bind("ctrl")
        first = self.start[1 : 1 + self.model.nq]
        q[:] = first

        def period(action: Array) -> int:
            control[:] = self.aims(action)
            many.step(nstep=self.steps)
            fallen = ~(q[:, 2] > self._low)
            q[fallen], u[fallen] = first, 0
            self.last = q
            return int(fallen.sum())

        return period

    def gymnasium(self, folder: Path, progress: Callable[[str], None]) -> dict[str, Physics]:
        """Through Gymnasium's vector environments, one environment a world; none without it."""
        try:
            gymnasium: Any = importlib.import_module("gymnasium")
            base: Any = importlib.import_module("gymnasium.envs.mujoco").MujocoEnv
        except ImportError:
            progress("Gymnasium is not installed: its environments are left out")
            return {}
        # one world: the model as a file
        file, first = folder / "robot.mjb", self.start[1 : 1 + self.model.nq]
        mujoco().mj_saveModel(self.model, str(file))
        space = gymnasium.spaces.Box(-np.inf, np.inf, (self.model.nq + self.model.nv,))
        model, steps, low = self.model, self.steps, self._low

        class _World(base):
            metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own type

            def __init__(self) -> None:
                super().__init__(str(file), steps, space)

            def _initialize_simulation(self) -> tuple[Any, Any]:
                return model, mujoco().MjData(model)

            def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
                self.do_simulation(action, self.frame_skip)
                fallen = not self.data.qpos[2] > low
                return self._seen(), float(self.data.qvel[0]), fallen, False, {}

            def reset_model(self) -> Array:
                self.set_state(first, np.zeros(model.nv))
                return self._seen()

            def _seen(self) -> Array:
                return np.concatenate([self.data.qpos, self.data.qvel])

        # in this process, and in several
        vector = gymnasium.vector
        one = vector.SyncVectorEnv([_World] * WORLDS)
        several = vector.AsyncVectorEnv([_World] * PROCESSES)
        self._open += [one, several]
        for many in (one, several):
            many.reset(seed=0)

        def all_worlds(action: Array) -> int:
            return int(one.step(self.aims(action))[2].sum())

        def a_world_a_process(action: Array) -> int:
            return int(several.step(self.aims(action)[:PROCESSES])[2].sum())

        return {
            "gymnasium, synchronous, physics": all_worlds,
            f"gymnasium, {_ASYNCHRONOUS}, physics": a_world_a_process,
        }

    def close(self) -> None:
        """Threads and processes end."""
        for many in self._open:
            many.close()


def settings(environment: Environment) -> dict[str, Any]:
    """Everything a reader needs to repeat the figures."""
    return {
        "task": f"{TASK} on {ROBOT}, {WORLDS} worlds, {environment.task.rate:g} Hz, dt"
        f" {environment.dt:g} s, actions drawn with {NOISE} around the trot on the spot",
        "tarsus": "moreau, float32: physics, servos, observation, noise, reward, new episodes",
        "mujoco": f"{mujoco().__version__}, float64, {environment.work.steps} steps a period, the"
        " same gains and targets, no dry friction; a fallen world is put back",
        "mujoco_settings": footnotes({label(TUNED): tuned(FRICTION)})[0],
        "learner": "PPO as `tarsus learn` has it; beside MuJoCo what it sees is replayed from ours",
        "asynchronous": f"{PROCESSES} worlds, a process each; not tried with a learner",
        "rounds": f"{ROUNDS}, interleaved; medians",
        "processor": f"{machine.host().cpu}, {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f} as it ended",
    }
