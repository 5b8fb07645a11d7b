"""Newton on its CPU device: MuJoCo Warp's solver or Steel, single precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.model.files import import_library
from tarsus.model.to_urdf import to_urdf
from tarsus.mujoco_runs.library import mujoco
from tarsus_bench.peers.base import FRICTION, Array, PeerSession, Work

MAX_CONTACTS, MAX_ROWS = 16, 64  # contacts and constraint rows
STEEL = "steel"


class NewtonPeer(PeerSession):
    """Solvers of Newton, with kernels of Warp compiled for the CPU.

    SolverKamino is not measured: on the CPU a step of ANYmal takes it more than half a second.
    """

    package: ClassVar[str] = "newton"
    distributions: ClassVar[tuple[str, ...]] = ("newton", "mujoco-warp")
    has_own_servo: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, str]] = {
        "": "SolverMuJoCo on the device cpu, one world",
        STEEL: "SolverSteel, with the contacts of Newton's own collision detection",
    }

    def __init__(self, work: Work, variant: str) -> None:
        # the robot with its drives, and the floor
        super().__init__(work, variant)
        self._warp = import_library("warp", "Newton's benchmark", "peers")
        self._warp.config.quiet = True
        self._warp.set_device("cpu")
        import_library("mujoco_warp", "Newton's benchmark", "peers")
        newton: Any = import_library("newton", "its benchmark", "peers")
        self._newton = newton
        builder = newton.ModelBuilder(
            up_axis=newton.Axis.Z, gravity=work.robot.gravity_acceleration
        )
        builder.default_shape_cfg.mu = FRICTION
        builder.add_urdf(to_urdf(work.robot), floating=True, enable_self_collisions=False)
        names = [label.rpartition("/")[2] for label in builder.joint_label]
        joints = [names.index(name) for name in work.joints]
        self._in_q = [builder.joint_q_start[k] for k in joints]
        self._in_u = [builder.joint_qd_start[k] for k in joints]
        for index in self._in_u:
            builder.joint_target_ke[index], builder.joint_target_kd[index] = work.kp, work.kd
            mode = newton.JointTargetMode.POSITION if work.kp else newton.JointTargetMode.NONE
            builder.joint_target_mode[index] = int(mode)
        builder.add_ground_plane()
        # the solver and its states
        self._model = builder.finalize(device="cpu")
        self._steel = variant == STEEL
        if self._steel:
            self._solver = newton.solvers.SolverSteel(
                self._model, articulation_constraint_max=MAX_ROWS
            )
        else:
            self._solver = newton.solvers.SolverMuJoCo(
                self._model,
                cone="elliptic",
                integrator="euler",
                nconmax=MAX_CONTACTS,
                njmax=MAX_ROWS,
            )
        self._states = self._model.state(), self._model.state()
        self._control = self._model.control()
        target = self._control.joint_target_q.numpy()
        target[self._in_q] = work.posture
        self._control.joint_target_q.assign(target)
        self._com = np.array(work.robot.bodies[0].inertia.com)

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        shared = {
            "version": version("newton"),
            "warp": self._warp.__version__,
            "number format": "float32",
            "loop": "in Python, kernels launched one by one",
        }
        if self._steel:
            return shared | {
                "solver": "projected Gauss-Seidel, SolverSteel with its defaults",
                "integrator": "symplectic Euler",
            }
        option, fast, mj = self._solver.mj_model.opt, self._solver.mjw_model, mujoco()
        return shared | {
            "mujoco-warp": version("mujoco-warp"),
            "solver": mj.mjtSolver(option.solver).name,
            "iterations": f"at most {option.iterations}",
            "tolerance": f"{float(fast.opt.tolerance.numpy()[0]):g}",
            "integrator": mj.mjtIntegrator(option.integrator).name,
            "cone": mj.mjtCone(option.cone).name,
            "solref": str(fast.geom_solref.numpy()[0, 0].tolist()),
            "solimp": str(fast.geom_solimp.numpy()[0, 0].tolist()),
        }

    def mass(self) -> float:
        return float(self._model.body_mass.numpy().sum())

    def reset(self) -> None:
        q, u = self._work.q, self._work.u
        places = np.zeros(self._model.joint_coord_count)
        rates = np.zeros(self._model.joint_dof_count)
        base = Rotation.from_quat(q[3:7], scalar_first=True)
        omega = base.apply(u[3:6])
        places[:3], places[3:7], places[self._in_q] = q[:3], base.as_quat(), q[7:]
        # Newton's linear velocity of a free body is that of its center of mass
        rates[:3] = u[:3] + np.cross(omega, base.apply(self._com))
        rates[3:6], rates[self._in_u] = omega, u[6:]
        for state in self._states:
            state.joint_q.assign(places)
            state.joint_qd.assign(rates)
            self._newton.eval_fk(self._model, state.joint_q, state.joint_qd, state)

    def state(self) -> tuple[Array, Array]:
        places = self._states[0].joint_q.numpy().astype(float)
        rates = self._states[0].joint_qd.numpy().astype(float)
        base = Rotation.from_quat(places[3:7])
        q = np.concatenate([places[:3], base.as_quat(scalar_first=True), places[self._in_q]])
        linear = rates[:3] - np.cross(rates[3:6], base.apply(self._com))
        u = np.concatenate([linear, base.inv().apply(rates[3:6]), rates[self._in_u]])
        return q[None], u[None]

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            now, after = self._states
            now.clear_forces()
            # SolverMuJoCo finds contacts itself
            contacts = self._model.collide(now) if self._steel else None
            self._solver.step(now, after, self._control, contacts, self._work.dt)
            self._states = after, now
