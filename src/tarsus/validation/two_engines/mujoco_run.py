"""Runs of a robot in MuJoCo: the same file on a level floor.

Contacts and joint limits are as hard as MuJoCo's step allows.
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
from tarsus.validation.two_engines.robot_run import GROUND, Array, RobotRun, Torques
from tarsus.validation.two_engines.tarsus_run import MU

IMPEDANCE = (0.99, 0.999, 1e-4, 0.5, 2.0)  # solimp
LOOP_IMPEDANCE = (0.9999, 0.9999, 1e-4, 0.5, 2.0)  # solimp of loop joints, MuJoCo's maximum
SLIDING = 3  # condim of contacts without torsional and rolling friction
IMPRATIO = 10.0  # friction impedance over normal impedance
ITERATIONS, TOLERANCE = 100, 1e-12  # of MuJoCo's solver
MIN_TIME_CONSTANT = 2.0  # steps, smallest time constant that MuJoCo allows
DAMPING_RATIO = 3.0  # restitution is 0.027; with MuJoCo's default of 1 it is a quarter


def compile_model(robot: Robot, file: str | Path, dt: float) -> Any:
    """Compile a robot file on a floor in MuJoCo.

    Contacts of body pairs that the robot excludes are removed. A file other than MJCF is converted
    with `model.to_mjcf`, with the pairs of shapes that Tarsus checks.

    Parameters
    ----------
    robot
        Robot that Tarsus read from the file.
    file
        Path of the file, or MJCF text.
    dt
        Step size in s of a converted file.

    Returns
    -------
    MjModel
        Compiled model.
    """
    text = str(file).lstrip()
    if text.startswith("<") or text.endswith(".xml"):
        folders = robot.origin.options.get("asset_folders") or ()
        text_and_path = (text, None) if text.startswith("<") else ("", Path(file))
        source = Source.of(*text_and_path, folders)
        model = compile_on_floor(source)
        known = _list_excluded_pairs(model, robot)
        return compile_on_floor(source, known) if known else model
    written = with_pairs_and_servos(robot, self_contacts(robot, True).possible, dt, MU)
    return mujoco().MjModel.from_xml_string(written)


def _list_excluded_pairs(model: Any, robot: Robot) -> list[tuple[str, str]]:
    """List the pairs of MuJoCo's bodies, including welded ones, that must not collide."""
    names, carrier = mujoco_body_names(model), np.array(model.body_weldid)
    welded = {name: np.flatnonzero(carrier == carrier[k]) for k, name in enumerate(names)}
    return [
        (model.body(int(a)).name, model.body(int(b)).name)
        for one, other in robot.excluded
        for a in welded[one]
        for b in welded[other]
        if model.body(int(a)).name and model.body(int(b)).name
    ]


def bodies_on_ground(model: Any) -> set[str]:
    """Find the bodies that may touch the ground, by name.

    One of their shapes and a fixed shape form an explicit pair, or match by contype and
    conaffinity.
    """
    names, owner = mujoco_body_names(model), np.array(model.body_weldid)[model.geom_bodyid]
    types, affinities = np.array(model.geom_contype), np.array(model.geom_conaffinity)
    names_on_ground = set[str]()
    for floor in np.flatnonzero(owner == 0):
        match = (types & affinities[floor]) | (types[floor] & affinities)
        one, other = model.pair_geom1, model.pair_geom2
        pairs = np.concatenate([other[one == floor], one[other == floor]])
        touching = np.union1d(np.flatnonzero(match), pairs)
        names_on_ground |= {names[body] for body in owner[touching.astype(int)] if body}
    return names_on_ground


def remove_fixed_contacts(model: Any) -> None:
    """Remove the contacts of the ground and of a fixed base."""
    fixed = np.array(model.body_weldid)[model.geom_bodyid] == 0
    model.geom_contype[fixed] = model.geom_conaffinity[fixed] = 0


def apply_hardest_settings(model: Any, dt: float, softness: float = 1.0) -> None:
    """Make contacts and joint limits as hard as the step allows, with hardly any rebound.

    Parameters
    ----------
    model
        MuJoCo's `MjModel`, which is changed.
    dt
        Step size, s.
    softness
        Factor on the time constant.
    """
    apply_settings(model, dt, hardest_settings(dt, softness), LOOP_IMPEDANCE)
    model.opt.iterations, model.opt.ls_iterations = ITERATIONS, ITERATIONS
    model.opt.tolerance = TOLERANCE


def hardest_settings(dt: float, softness: float = 1.0) -> MujocoSettings:
    """Create the hardest settings for steps of dt in s; `softness` scales the time constant."""
    return MujocoSettings(
        mu=MU,
        solref=(MIN_TIME_CONSTANT * softness * dt, DAMPING_RATIO),
        solimp=IMPEDANCE,
        integrator="implicitfast",
        cone="elliptic",
        impratio=IMPRATIO,
    )


def apply_settings(
    model: Any, dt: float, settings: MujocoSettings, loops: tuple[float, ...] | None = None
) -> None:
    """Apply settings to contacts, joint limits and loop joints of a model.

    Friction is the same everywhere, without rolling friction. Motors are disabled because torques
    are applied as forces.

    Parameters
    ----------
    model
        MuJoCo's `MjModel`, which is changed.
    dt
        Step size, s.
    settings
        MuJoCo's settings.
    loops
        solimp of loop joints; by default that of `settings`.
    """
    library, option = mujoco(), model.opt
    settings.apply(model)
    # steps and contacts
    option.timestep = dt
    option.solver = library.mjtSolver.mjSOL_NEWTON
    option.disableflags |= library.mjtDisableBit.mjDSBL_ACTUATION
    model.geom_margin[:] = model.geom_gap[:] = model.pair_margin[:] = model.pair_gap[:] = 0.0
    model.geom_friction[:, 0] = model.pair_friction[:, :2] = MU
    model.geom_condim[:] = np.maximum(model.geom_condim, SLIDING)
    model.pair_dim[:] = np.maximum(model.pair_dim, SLIDING)
    fixed = model.body_weldid[model.geom_bodyid] == 0
    model.geom_friction[fixed, 1:], model.geom_condim[fixed] = 0.0, SLIDING
    # joint limits, dry friction, loop joints
    model.jnt_margin[:] = 0.0
    for reference, impedance, value in (
        (model.geom_solref, model.geom_solimp, settings.solimp),
        (model.pair_solref, model.pair_solimp, settings.solimp),
        (model.jnt_solref, model.jnt_solimp, settings.solimp),
        (model.dof_solref, model.dof_solimp, settings.solimp),
        (model.eq_solref, model.eq_solimp, loops or settings.solimp),
    ):
        reference[:], impedance[:] = settings.solref, value


def run_in_mujoco(
    model: Any,
    robot: Robot,
    start: tuple[Array, Array],
    torques: Torques,
    run: tuple[float, int, int],
) -> RobotRun:
    """Run a robot in MuJoCo.

    Parameters
    ----------
    model
        MuJoCo's `MjModel` with its settings.
    robot
        Robot whose actuators are driven.
    start
        Initial coordinates (nq,) and velocities (nu,).
    torques
        Function (t, q, u) that returns the torques of the actuators.
    run
        Time in s for which torques are constant, number of these intervals, and steps in each.

    Raises
    ------
    UnmetCondition
        If MuJoCo warns, for example because it resets a diverged simulation.
    """
    # state, and velocities on which motors act
    library, (dt, steps, parts) = mujoco(), run
    worlds = MujocoWorlds([model], *(values[None] for values in start))
    [data] = worlds.data
    motors = [robot.u_slices[robot.joint_index(motor.joint)].start for motor in robot.actuators]
    q, u = np.zeros((steps, model.nq)), np.zeros((steps, model.nv))
    # names of joints and bodies
    joints, links = mujoco_joint_names(model), [GROUND, *mujoco_body_names(model)[1:]]
    owner = np.array(model.body_weldid)[model.geom_bodyid]
    stop = library.mjtConstraint.mjCNSTR_LIMIT_JOINT
    stops, meets = dict[str, int](), dict[frozenset[str], int]()

    # step by step
    def record_events() -> None:
        k = (worlds.steps - 1) // parts
        for row in np.flatnonzero(data.efc_type == stop).tolist():
            stops.setdefault(joints[data.efc_id[row]], k)
        if data.ncon:
            for a, b in set(map(tuple, owner[data.contact.geom].tolist())):
                meets.setdefault(frozenset((links[a], links[b])), k)

    for k in range(steps):
        data.qfrc_applied[motors] = torques(k * dt, data.qpos.copy(), data.qvel.copy())
        with _raise_warnings():
            worlds.advance(parts, after=record_events)
        q[k], u[k] = data.qpos, data.qvel
    return RobotRun(q, u, stops, meets)


def free_flight(model: Any, start: tuple[Array, Array], dt: float, steps: int) -> Array:
    """Compute the coordinates (nq,) after steps in free flight by fourth-order Runge-Kutta.

    Joints have neither limits nor dry friction.

    Raises
    ------
    UnmetCondition
        If MuJoCo warns.
    """
    library, flags = mujoco(), mujoco().mjtDisableBit
    apply_hardest_settings(model, dt)
    model.opt.integrator = library.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= flags.mjDSBL_LIMIT | flags.mjDSBL_CONTACT | flags.mjDSBL_FRICTIONLOSS
    worlds = MujocoWorlds([model], *(values[None] for values in start))
    with _raise_warnings():
        worlds.advance(steps)
    return worlds.state()[0][0]


@contextmanager
def _raise_warnings() -> Iterator[None]:
    """Raise UnmetCondition with the first warning of MuJoCo."""
    with capture_warnings() as messages:
        yield
    if messages:
        raise UnmetCondition(f"MuJoCo failed: {messages[0]}", "MuJoCo")
