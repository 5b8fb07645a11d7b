"""Page in a browser with robots, ground, contact forces and a control panel, served by viser."""

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

from tarsus.installation import missing_package_error
from tarsus.viewer.access import Address, Guard, free_port
from tarsus.viewer.arrows import ARROW_RADIUS, CONE_SIDE, PHASES, Scale, arrow_vector
from tarsus.viewer.drawn_shape import DrawnShape
from tarsus.viewer.simplify import simplify_shapes
from tarsus.viewer.solids import Mesh, arrow, cone, rotation_to
from tarsus.viewer.track import OPEN, Contacts

Array = NDArray[Any]
OVERLAY_OPACITY = 0.28  # of other robots at the same position
CONE_OPACITY = 0.25
MAX_CONTACTS = 64  # contacts that are shown at once


def import_viser() -> Any:
    """Import the library viser; raise MissingPackage if it is not installed."""
    try:
        import viser
    except ImportError:
        raise missing_package_error("viser", "viewing in a browser", "view") from None
    return viser


class Actor:
    """Robot on the page, in one or many worlds: a mesh for each body and color.

    Parameters
    ----------
    scene
        Scene of the viser server.
    name
        Path of the robot in the scene.
    shapes
        Shapes of the robot.
    worlds
        Number of copies.
    opacity
        Opacity, 0 to 1.
    shadows
        Whether the robot casts and receives shadows.
    """

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
            options = {"opacity": None if opacity == 1 else opacity}
            options |= {"cast_shadow": shadows, "receive_shadow": shadows}
            args = (f"{name}/{k}", shape.mesh.vertices, shape.mesh.faces)
            color = np.round(255 * np.array(shape.color)).astype(np.uint8)
            if worlds == 1:
                handle = scene.add_mesh_simple(*args, color=tuple(map(int, color)), **options)
            else:
                identity = np.tile([1.0, 0, 0, 0], (worlds, 1)), np.zeros((worlds, 3))
                handle = scene.add_batched_meshes_simple(
                    *args, *identity, batched_colors=tuple(map(int, color)), **options
                )
            self._handles.append(handle)
        self._worlds = worlds

    def move(self, positions: Array, rotations: Array) -> None:
        """Move the bodies.

        Parameters
        ----------
        positions
            Positions of all bodies and the world, shape (worlds, bodies + 1, 3), in m.
        rotations
            Their rotation matrices, shape (worlds, bodies + 1, 3, 3).
        """
        self.place(positions, quaternions(rotations))

    def place(self, positions: Array, wxyz: Array) -> None:
        """Move the bodies like `move`, with unit quaternions (worlds, bodies + 1, 4), w first."""
        for body, handle in zip(self._bodies, self._handles, strict=True):
            if self._worlds == 1:
                handle.position, handle.wxyz = positions[0, body], wxyz[0, body]
            else:
                handle.batched_positions = np.ascontiguousarray(positions[:, body], np.float32)
                handle.batched_wxyzs = np.ascontiguousarray(wxyz[:, body], np.float32)

    def show(self, visible: bool) -> None:
        """Show or hide the robot."""
        for handle in self._handles:
            handle.visible = visible


class ContactMarker:
    """Arrow or cone at one contact: one mesh for each phase, of which only one is visible.

    It moves like the robot's bodies, by position and rotation, so that a slow browser updates both
    together.
    """

    def __init__(self, scene: Any, name: str, opacity: float | None) -> None:
        self._scene, self._name, self._opacity = scene, name, opacity
        self._frame = scene.add_frame(name, show_axes=False, visible=False)
        self._meshes: dict[int, Any] = {}

    def hide(self) -> None:
        """Hide the marker."""
        if self._frame.visible:
            self._frame.visible = False

    def show(self, position: Array, direction: Array, phase: int, mesh: Mesh, size: Any) -> None:
        """Show a mesh along a direction.

        Parameters
        ----------
        position
            Contact point (3,), in m, world frame.
        direction
            Direction (3,) of the mesh's z axis in the world frame.
        phase
            Phase of the contact, which selects the color.
        mesh
            Mesh that points along z.
        size
            Scale factors along x, y and z.
        """
        # make the mesh of this phase, and hide the others
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
        # scale and pose
        self._meshes[phase].scale = tuple(round(float(factor), 3) for factor in size)
        self._frame.position = position
        self._frame.wxyz = quaternions(rotation_to(direction)[None])[0]
        self._frame.visible = True


class ContactMarkers:
    """Contact forces as arrows with friction cones, colored by the phase of each contact."""

    def __init__(self, scene: Any, scale: Scale) -> None:
        self._scene, self._scale = scene, scale
        self.arrows = self.cones = True
        radius = ARROW_RADIUS * scale.size
        self._arrow = arrow(radius, scale.size, 5 * radius)
        self._cone = cone(scale.size, scale.size)
        self._markers: dict[str, ContactMarker] = {}

    def update(self, contacts: Contacts) -> None:
        """Show the contacts of one instant."""
        shown: set[str] = set()
        for k in np.flatnonzero(contacts.phase != OPEN)[:MAX_CONTACTS]:
            phase, point = int(contacts.phase[k]), contacts.point[k]
            # force; short arrows are thinner
            vector = arrow_vector(contacts.force[k], self._scale)
            if self.arrows and vector is not None:
                length = float(np.linalg.norm(vector)) / self._scale.size
                width = float(np.clip(4 * length, 0.3, 1.0))
                size = (width, width, length)
                self._marker(f"force/{k}", None).show(point, vector, phase, self._arrow, size)
                shown.add(f"force/{k}")
            # cone; its side always has the same length
            if self.cones and np.isfinite(contacts.mu[k]):
                mu = float(contacts.mu[k])
                side = CONE_SIDE / np.hypot(1.0, mu)
                size = (mu * side, mu * side, side)
                marker = self._marker(f"cone/{k}", CONE_OPACITY)
                marker.show(point, contacts.normal[k], phase, self._cone, size)
                shown.add(f"cone/{k}")
        for name, marker in self._markers.items():
            if name not in shown:
                marker.hide()

    def _marker(self, name: str, opacity: float | None) -> ContactMarker:
        if name not in self._markers:
            self._markers[name] = ContactMarker(self._scene, f"/stage/{name}", opacity)
        return self._markers[name]


def quaternions(rotations: Array) -> Array:
    """Convert rotation matrices (..., 3, 3) to unit quaternions (..., 4), w first."""
    from scipy.spatial.transform import Rotation

    flat = rotations.reshape(-1, 3, 3)
    wxyz = Rotation.from_matrix(flat).as_quat(scalar_first=True)
    return wxyz.reshape(*rotations.shape[:-2], 4)


class Page:
    """Server with one scene, for the browsers that `Guard` admits.

    Everything that moves is a child of `/stage`, which can be shifted so that the robot stays in
    view while it walks.

    Parameters
    ----------
    title
        Title of the page.
    address
        Address to serve the page on.
    """

    def __init__(self, title: str, address: Address | None = None) -> None:
        library, address = import_viser(), Address() if address is None else address
        guard = Guard(address)
        number = free_port(address.host, address.port)
        with contextlib.redirect_stdout(io.StringIO()):  # viser prints a banner
            self.server = guard.start(
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

    def add_ground(self, level: float | None, shapes: Sequence[DrawnShape]) -> None:
        """Add the ground: a plane at the height `level` in m, if any, and shapes in the world."""
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

    def add_actor(
        self,
        name: str,
        shapes: Sequence[DrawnShape],
        worlds: int = 1,
        opacity: float = 1.0,
        shadows: bool | None = None,
    ) -> Actor:
        """Add a robot below `/stage`; shapes of many worlds are simplified.

        Parameters
        ----------
        name
            Name of the robot in the scene.
        shapes
            Shapes of the robot.
        worlds
            Number of copies.
        opacity
            Opacity, 0 to 1.
        shadows
            Whether the robot casts and receives shadows; None if it is opaque.
        """
        cast = opacity == 1 if shadows is None else shadows
        shown = simplify_shapes(shapes, worlds)
        return Actor(self.scene, f"/stage/{name}", shown, worlds, opacity, cast)

    def look_at(self, middle: Array, size: float) -> None:
        """Set the initial camera to show a robot of a size in m around the point `middle` (3,)."""
        camera = self.server.initial_camera
        camera.look_at = tuple(map(float, middle))
        camera.position = tuple(map(float, middle + size * np.array([2.2, -3.2, 1.2])))
        camera.up, camera.fov = (0.0, 0.0, 1.0), float(np.deg2rad(42.0))

    def set_shadows(self, cast: bool) -> None:
        """Switch shadows on or off; without a GPU, pages run smoothly only without them."""
        self.scene.configure_default_lights(enabled=True, cast_shadow=cast)

    def center_on(self, position: Array) -> None:
        """Shift the stage so that the camera looks at a position (3,) of the world."""
        self._stage.position = (-float(position[0]), -float(position[1]), 0.0)

    def add_legend(self) -> None:
        """Add a legend for the colors of the contacts."""
        dots = []
        for word, color in PHASES.values():
            rgb = ",".join(str(round(255 * part)) for part in color)
            dots.append(f'<span style="color:rgb({rgb})">&#9632;</span> {word}')
        text = " &nbsp; ".join(dots)
        self.gui.add_html(f'<div style="font-size:0.8em;padding:0.3em 1em">{text}</div>')

    def print_url(self) -> None:
        """Print the URL, and open it on a machine with a desktop."""
        print(f"open {self.url} in a browser (Ctrl-C stops)", file=sys.stderr, flush=True)
        desktop = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY")
        if desktop and sys.stderr.isatty():
            webbrowser.open(self.url)

    def stop(self) -> None:
        """Stop the server."""
        with contextlib.redirect_stdout(io.StringIO()):  # viser prints a message
            self.server.stop()
