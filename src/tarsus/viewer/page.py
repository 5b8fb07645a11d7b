"""A page in the browser: robots, ground, contact forces, and the panel beside them (viser)."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import webbrowser
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.installation import missing_package
from tarsus.viewer.access import Address, Guard, free_port
from tarsus.viewer.arrows import CONE, PHASES, THICK, Scale, arrow_vector
from tarsus.viewer.coarse import affordable
from tarsus.viewer.drawn import DrawnShape
from tarsus.viewer.solids import Mesh, along, arrow, cone
from tarsus.viewer.track import OPEN, Contacts

Array = NDArray[Any]
GHOST = 0.28  # opacity of what is compared
PALE = 0.25  # opacity of cones
MARKS = 64  # contacts that are shown at once


def viser() -> Any:
    """The library; TarsusError that says how to get it."""
    try:
        import viser
    except ImportError:
        raise missing_package("viser", "watching in a browser", "view") from None
    return viser


class Actor:
    """One robot on the page, in one or many worlds: a mesh for each body and color."""

    def __init__(
        self,
        scene: Any,
        name: str,
        shapes: Sequence[DrawnShape],
        worlds: int,
        opacity: float,
        shadows: bool,
    ) -> None:
        self._bodies = [shape.body for shape in shapes]
        self._handles = []
        for k, shape in enumerate(shapes):
            looks = {"opacity": None if opacity == 1 else opacity}
            looks |= {"cast_shadow": shadows, "receive_shadow": shadows}
            args = (f"{name}/{k}", shape.mesh.vertices, shape.mesh.faces)
            color = np.round(255 * np.array(shape.color)).astype(np.uint8)
            if worlds == 1:
                handle = scene.add_mesh_simple(*args, color=tuple(map(int, color)), **looks)
            else:
                still = np.tile([1.0, 0, 0, 0], (worlds, 1)), np.zeros((worlds, 3))
                handle = scene.add_batched_meshes_simple(
                    *args, *still, batched_colors=tuple(map(int, color)), **looks
                )
            self._handles.append(handle)
        self._worlds = worlds

    def move(self, positions: Array, rotations: Array) -> None:
        """To positions (worlds, bodies + 1, 3), m, and rotations (worlds, bodies + 1, 3, 3)."""
        self.place(positions, quaternions(rotations))

    def place(self, positions: Array, turned: Array) -> None:
        """The same with unit quaternions (worlds, bodies + 1, 4), w first."""
        for body, handle in zip(self._bodies, self._handles, strict=True):
            if self._worlds == 1:
                handle.position, handle.wxyz = positions[0, body], turned[0, body]
            else:
                handle.batched_positions = np.ascontiguousarray(positions[:, body], np.float32)
                handle.batched_wxyzs = np.ascontiguousarray(turned[:, body], np.float32)

    def show(self, visible: bool) -> None:
        """Or hide it."""
        for handle in self._handles:
            handle.visible = visible


class Mark:
    """What is drawn at one contact: an arrow or a cone for each phase, of which one is seen.

    It moves as the robot's bodies do, by place and turn, so that a slow browser shows both at once.
    """

    def __init__(self, scene: Any, name: str, opacity: float | None) -> None:
        self._scene, self._name, self._opacity = scene, name, opacity
        self._frame = scene.add_frame(name, show_axes=False, visible=False)
        self._meshes: dict[int, Any] = {}

    def hide(self) -> None:
        """Show nothing."""
        if self._frame.visible:
            self._frame.visible = False

    def show(self, place: Array, direction: Array, phase: int, mesh: Mesh, size: Any) -> None:
        """This mesh, which points along z, scaled by `size`, at a place along a direction (3,)."""
        # the mesh of this phase alone
        if phase not in self._meshes:
            self._meshes[phase] = self._scene.add_mesh_simple(
                f"{self._name}/{PHASES[phase][0]}",
                mesh.vertices,
                mesh.faces,
                color=PHASES[phase][1],
                opacity=self._opacity,
                cast_shadow=False,
                receive_shadow=False,
            )
        for key, handle in self._meshes.items():
            if handle.visible != (key == phase):
                handle.visible = key == phase
        # where it is
        self._meshes[phase].scale = tuple(round(float(part), 3) for part in size)
        self._frame.position = place
        self._frame.wxyz = quaternions(along(direction)[None])[0]
        self._frame.visible = True


class ForceMarks:
    """Contact forces as arrows in their cones, colored by what each contact does."""

    def __init__(self, scene: Any, scale: Scale) -> None:
        self._scene, self._scale = scene, scale
        self.arrows = self.cones = True
        radius = THICK * scale.size
        self._arrow = arrow(radius, scale.size, 5 * radius)
        self._cone = cone(scale.size, scale.size)
        self._marks: dict[str, Mark] = {}

    def move(self, contacts: Contacts) -> None:
        """To the contacts of an instant."""
        shown: set[str] = set()
        for k in np.flatnonzero(contacts.phase != OPEN)[:MARKS]:
            phase, point = int(contacts.phase[k]), contacts.point[k]
            # the force, as thick as it is long if it is short
            vector = arrow_vector(contacts.force[k], self._scale)
            if self.arrows and vector is not None:
                share = float(np.linalg.norm(vector)) / self._scale.size
                wide = float(np.clip(4 * share, 0.3, 1.0))
                size = (wide, wide, share)
                self._mark(f"force/{k}", None).show(point, vector, phase, self._arrow, size)
                shown.add(f"force/{k}")
            # the cone, its side always as long
            if self.cones and np.isfinite(contacts.mu[k]):
                mu = float(contacts.mu[k])
                side = CONE / np.hypot(1.0, mu)
                size = (mu * side, mu * side, side)
                mark = self._mark(f"cone/{k}", PALE)
                mark.show(point, contacts.normal[k], phase, self._cone, size)
                shown.add(f"cone/{k}")
        for name, mark in self._marks.items():
            if name not in shown:
                mark.hide()

    def _mark(self, name: str, opacity: float | None) -> Mark:
        if name not in self._marks:
            self._marks[name] = Mark(self._scene, f"/stage/{name}", opacity)
        return self._marks[name]


def quaternions(rotations: Array) -> Array:
    """Unit quaternions (..., 4), w first, of rotations (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = rotations.reshape(-1, 3, 3)
    found = Rotation.from_matrix(flat).as_quat(scalar_first=True)
    return found.reshape(*rotations.shape[:-2], 4)


class Page:
    """A server with one scene, for the browsers that `Guard` lets in.

    Everything that moves is a child of `/stage`, which can stay below the camera while the robot
    walks.
    """

    def __init__(self, title: str, address: Address | None = None) -> None:
        library, address = viser(), Address() if address is None else address
        guard = Guard(address)
        number = free_port(address.host, address.port)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a box
            self.server = guard.started(
                lambda: library.ViserServer(address.host, number, label=title, verbose=False)
            )
        self.url = guard.url(self.server.get_port())
        self.gui, self.scene = self.server.gui, self.server.scene
        self.gui.configure_theme(
            control_width="medium",
            show_logo=False,
            show_share_button=False,
            brand_color=(0, 114, 178),
        )
        self.gui.set_panel_label(title)
        self.gui.main_panel.dock_right()
        self.scene.set_up_direction("+z")
        self.scene.world_axes.visible = False
        self._stage = self.scene.add_frame("/stage", show_axes=False)

    def ground(self, level: float | None, shapes: Sequence[DrawnShape]) -> None:
        """Ground: a plane at this height, m, and shapes in the world."""
        if level is not None:
            self.scene.add_grid(
                "/stage/plane",
                infinite_grid=True,
                cell_size=0.1,
                section_size=0.5,
                cell_color=(206, 211, 217),
                section_color=(172, 178, 186),
                fade_distance=12.0,
                plane_color=(222, 226, 231),
                plane_opacity=1.0,
                shadow_opacity=0.35,
                position=(0.0, 0.0, level),
            )
        for k, shape in enumerate(shapes):
            color = tuple(round(255 * part) for part in shape.color)
            self.scene.add_mesh_simple(
                f"/stage/ground/{k}",
                shape.mesh.vertices,
                shape.mesh.faces,
                color=color,
                side="double",
            )

    def actor(
        self,
        name: str,
        shapes: Sequence[DrawnShape],
        worlds: int = 1,
        opacity: float = 1.0,
        shadows: bool | None = None,
    ) -> Actor:
        """A robot under `/stage`; shadows: whether it casts and takes them, by default if it is
        solid. In so many worlds that it would be slow, it is drawn by fewer triangles.
        """
        cast = opacity == 1 if shadows is None else shadows
        shown = affordable(shapes, worlds)
        return Actor(self.scene, f"/stage/{name}", shown, worlds, opacity, cast)

    def look_at(self, middle: Array, size: float) -> None:
        """Where the camera of a new visitor stands: before a robot of this size, m."""
        camera = self.server.initial_camera
        camera.look_at = tuple(map(float, middle))
        camera.position = tuple(map(float, middle + size * np.array([2.2, -3.2, 1.2])))
        camera.up, camera.fov = (0.0, 0.0, 1.0), float(np.deg2rad(42.0))

    def shadows(self, cast: bool) -> None:
        """Whether robots cast shadows: without a graphics processor pages are smooth without."""
        self.scene.configure_default_lights(enabled=True, cast_shadow=cast)

    def keep_below(self, place: Array) -> None:
        """Move the stage so that this place (3,) of the world stays where the camera looks."""
        self._stage.position = (-float(place[0]), -float(place[1]), 0.0)

    def legend(self) -> None:
        """What the colors of forces mean."""
        dots = []
        for word, color in PHASES.values():
            rgb = ",".join(str(round(255 * part)) for part in color)
            dots.append(f'<span style="color:rgb({rgb})">&#9632;</span> {word}')
        text = " &nbsp; ".join(dots)
        self.gui.add_html(f'<div style="font-size:0.8em;padding:0.3em 1em">{text}</div>')

    def announce(self) -> None:
        """Say where it is, and open it where there is a desktop."""
        print(f"watch at {self.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        desktop = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY")
        if desktop and sys.stderr.isatty():
            webbrowser.open(self.url)

    def stop(self) -> None:
        """Close the server."""
        with contextlib.redirect_stdout(io.StringIO()):  # it says so
            self.server.stop()
