"""A robot's run by MuJoCo: the same file on a level floor, contacts and stops as hard as its
steps allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.errors import UnmetCondition
from tarsus.model.conventions import mujoco_body_names, mujoco_joint_names
from tarsus.model.mjcf_compile import compile_on_floor
from tarsus.model.mjcf_source import Source
from tarsus.morphology.self_contacts import self_contacts
from tarsus.mujoco_runs.library import capture_warnings, mujoco
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.whole_robot import with_pairs_and_servos
from tarsus.mujoco_runs.worlds import MujocoWorlds
from tarsus.validation.two_engines.course import GROUND, Array, RobotRun, Torques
from tarsus.validation.two_engines.ours import MU

IMPEDANCE = (0.99, 0.999, 1e-4, 0.5, 2.0)  # solimp
LOOPS = (0.9999, 0.9999, 1e-4, 0.5, 2.0)  # that of what closes loops: all that MuJoCo allows
IMPRATIO = 10.0  # friction impedance over normal impedance
ITERATIONS, TOLERANCE = 100, 1e-12  # of MuJoCo's solver
SAFE = 2.0  # steps: the least time constant that MuJoCo allows
DAMPED = 3.0  # damping ratio: what lands leaves with 0.027 of its speed, with MuJoCo's 1 a quarter


def model_of(robot: Robot, file: str | Path, dt: float) -> Any:
    """The MjModel of an MJCF file or text with a floor, without contacts of bodies that the robot
    excludes; of another kind of file what `model.to_mjcf` writes of the robot, with the pairs of
    its solids that we look at.
    """
    text = str(file).lstrip()
    if text.startswith("<") or text.endswith(".xml"):
        folders = robot.origin.options.get("asset_folders") or ()
        given = (text, None) if text.startswith("<") else ("", Path(file))
        source = Source.of(*given, folders)
        model = compile_on_floor(source)
        known = _excluded(model, robot)
        return compile_on_floor(source, known) if known else model
    written = with_pairs_and_servos(robot, self_contacts(robot, True).kept, dt, MU)
    return mujoco().MjModel.from_xml_string(written)


def _excluded(model: Any, robot: Robot) -> list[tuple[str, str]]:
    """Names of MuJoCo's bodies, and of those welded to them, that must not collide."""
    names, carrier = mujoco_body_names(model), np.array(model.body_weldid)
    welded = {name: np.flatnonzero(carrier == carrier[k]) for k, name in enumerate(names)}
    return [
        (model.body(int(a)).name, model.body(int(b)).name)
        for one, other in robot.excluded
        for a in welded[one]
        for b in welded[other]
        if model.body(int(a)).name and model.body(int(b)).name
    ]


def grounded(model: Any) -> set[str]:
    """Names of bodies that may touch the ground: shapes of theirs, and some fixed in the world,
    are pairs, or their bits of contype and conaffinity match.
    """
    names, owner = mujoco_body_names(model), np.array(model.body_weldid)[model.geom_bodyid]
    types, affinities = np.array(model.geom_contype), np.array(model.geom_conaffinity)
    found = set[str]()
    for floor in np.flatnonzero(owner == 0):
        match = (types & affinities[floor]) | (types[floor] & affinities)
        one, other = model.pair_geom1, model.pair_geom2
        pairs = np.concatenate([other[one == floor], one[other == floor]])
        touching = np.union1d(np.flatnonzero(match), pairs)
        found |= {names[body] for body in owner[touching.astype(int)] if body}
    return found


def untouched(model: Any) -> None:
    """Without contacts of what is fixed in the world: the ground, and a fixed base."""
    fixed = np.array(model.body_weldid)[model.geom_bodyid] == 0
    model.geom_contype[fixed] = model.geom_conaffinity[fixed] = 0


def hard(model: Any, dt: float, softness: float = 1.0) -> None:
    """As hard as steps of dt, s, allow, or softer by a factor on the time constant, and damped so
    that what lands stays down.
    """
    at_settings(model, dt, hardest(dt, softness), LOOPS)
    model.opt.iterations, model.opt.ls_iterations = ITERATIONS, ITERATIONS
    model.opt.tolerance = TOLERANCE


def hardest(dt: float, softness: float = 1.0) -> MujocoSettings:
    """Return the hardest settings for steps of dt, s, softer by a factor on the time constant."""
    return MujocoSettings(
        mu=MU,
        solref=(SAFE * softness * dt, DAMPED),
        solimp=IMPEDANCE,
        integrator="implicitfast",
        cone="elliptic",
        impratio=IMPRATIO,
    )


def at_settings(
    model: Any, dt: float, settings: MujocoSettings, loops: tuple[float, ...] | None = None
) -> None:
    """Steps of dt, s; the settings for contacts, stops and loops (solimp of these: `loops`); the
    same friction everywhere, none against rolling; no motors: torques come as forces.
    """
    library, option = mujoco(), model.opt
    settings.apply(model)
    # steps and contacts
    option.timestep = dt
    option.solver = library.mjtSolver.mjSOL_NEWTON
    option.enableflags |= library.mjtEnableBit.mjENBL_OVERRIDE
    option.disableflags |= library.mjtDisableBit.mjDSBL_ACTUATION
    option.o_margin, option.o_solref[:] = 0.0, settings.solref
    option.o_solimp[:], option.o_friction[:3] = settings.solimp, (MU, MU, 0.0)
    model.geom_condim[:] = 3
    model.pair_dim[:] = 3
    # stops, dry friction, loops
    model.jnt_margin[:] = 0.0
    for own, impedance, value in (
        (model.jnt_solref, model.jnt_solimp, settings.solimp),
        (model.dof_solref, model.dof_solimp, settings.solimp),
        (model.eq_solref, model.eq_solimp, loops or settings.solimp),
    ):
        own[:], impedance[:] = settings.solref, value


def in_mujoco(
    model: Any,
    robot: Robot,
    start: tuple[Array, Array],
    torques: Torques,
    run: tuple[float, int, int],
) -> RobotRun:
    """From q (nq,) and u (nu,) in a model made `hard`; TarsusError with what MuJoCo warns of, such
    as a motion that diverges, from which it starts again.

    run: dt, s, in which torques are held; how many of them; how many of MuJoCo's steps in each
    """
    # the state, and where torques act
    library, (dt, steps, parts) = mujoco(), run
    worlds = MujocoWorlds([model], *(values[None] for values in start))
    [data] = worlds.data
    motors = [robot.u_slices[robot.joint_index(motor.joint)].start for motor in robot.actuators]
    q, u = np.zeros((steps, model.nq)), np.zeros((steps, model.nv))
    # names of what may stop and touch
    joints, links = mujoco_joint_names(model), [GROUND, *mujoco_body_names(model)[1:]]
    owner = np.array(model.body_weldid)[model.geom_bodyid]
    stop = library.mjtConstraint.mjCNSTR_LIMIT_JOINT
    stops, meets = dict[str, int](), dict[frozenset[str], int]()

    # step by step
    def note() -> None:
        k = (worlds.steps - 1) // parts
        for row in np.flatnonzero(data.efc_type == stop).tolist():
            stops.setdefault(joints[data.efc_id[row]], k)
        if data.ncon:
            for a, b in set(map(tuple, owner[data.contact.geom].tolist())):
                meets.setdefault(frozenset((links[a], links[b])), k)

    for k in range(steps):
        data.qfrc_applied[motors] = torques(k * dt, data.qpos.copy(), data.qvel.copy())
        with _failing():
            worlds.advance(parts, after=note)
        q[k], u[k] = data.qpos, data.qvel
    return RobotRun(q, u, stops, meets)


def in_flight(model: Any, start: tuple[Array, Array], dt: float, steps: int) -> Array:
    """Coordinates (nq,) after so many steps in the air by Runge and Kutta's method of fourth order,
    joints without limits and dry friction; TarsusError with what MuJoCo warns of.
    """
    library, flags = mujoco(), mujoco().mjtDisableBit
    hard(model, dt)
    model.opt.integrator = library.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= flags.mjDSBL_LIMIT | flags.mjDSBL_CONTACT | flags.mjDSBL_FRICTIONLOSS
    worlds = MujocoWorlds([model], *(values[None] for values in start))
    with _failing():
        worlds.advance(steps)
    return worlds.state()[0][0]


@contextmanager
def _failing() -> Iterator[None]:
    """Raise UnmetCondition with what MuJoCo warns of meanwhile."""
    with capture_warnings() as messages:
        yield
    if messages:
        raise UnmetCondition(f"MuJoCo fails: {messages[0]}", "MuJoCo")
