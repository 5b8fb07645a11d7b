"""What is read from an MJCF file.

MuJoCo compiles the file, so values, defaults and references are its own. This table says what
becomes of each element and attribute, whether it stands in the model itself, in a default class or
in a file that is included or attached. What depends on a value, such as a limit's margin other than
zero, is checked in the compiled model: the rule names the entry of `mjcf_unsupported.UNSUPPORTED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tarsus.model.file_schema import (
    ElementRule,
    Table,
    UnsupportedItems,
    no_effect,
    reported,
    supported,
    walk,
)
from tarsus.model.mjcf_document import Document
from tarsus.model.urdf_schema import URDF

ORIENTATION = "quat axisangle euler xyaxes zaxis"
PICTURES = "for pictures"
TENDONS = "tendons-ignored"
PLUGINS = "plugins-ignored"
FLEXIBLE = "flexible-bodies-ignored"
EQUALITIES = "equalities-ignored"
LAWS = "actuator-laws-ignored"
NOT_DRIVING = "unsupported-actuators-ignored"

OBSOLETE: dict[str, dict[str, str | None]] = {
    # attributes that newer MuJoCo versions reject, by element, with the value that changes no
    # motion; None: no value does
    "option": {"apirate": None, "collision": "all", "mpr_iterations": None, "mpr_tolerance": None},
    "flag": {"sensornoise": None, "passive": "enable"},
    "compiler": {"convexhull": "true", "exactmeshinertia": "false"},
}


def _create_actuator(reason: str, attributes: str = "", law: str = "") -> ElementRule:
    """Create the rule for an actuator element.

    Parameters
    ----------
    reason
        Explanation shown in the table.
    attributes
        Attributes of this kind of actuator that are read.
    law
        Attributes that matter only to force laws that are not simulated.
    """
    return supported(
        reason,
        "name class group joint jointinparent tendon gear ctrllimited ctrlrange forcelimited"
        f" forcerange armature damping {attributes}",
        ignored="user lengthrange",
        codes={
            NOT_DRIVING: "site refsite body cranksite slidersite cranklength",
            "actuator-delays-ignored": "delay nsample interp",
            "nonlinear-damping-ignored": "damping",
            "disable-flags-ignored": "group",
            **({LAWS: law} if law else {}),
        },
    )


def _create_equality(reason: str, attributes: str, soft: str = "") -> ElementRule:
    """Create the rule of an equality constraint that is simulated."""
    return supported(
        reason,
        f"name class active {attributes}",
        codes={EQUALITIES: "active", "equality-softness-ignored": f"solref solimp {soft}"},
    )


BODY = supported(
    "a body, or part of its parent if it has no joint",
    f"name childclass pos {ORIENTATION} fuse",
    ignored="simple sleep user",
    codes={
        "mocap-bodies-ignored": "mocap",
        "gravity-compensation-ignored": "gravcomp",
    },
    children_path="body",
)

TENDON_ATTRIBUTES = (
    "name class limited range stiffness springlength damping frictionloss actuatorfrclimited"
    " actuatorfrcrange"
)
TENDON_LOOKS = "group user width rgba material"
TENDON_CODES = {
    TENDONS: "armature",
    "limit-margins-ignored": "margin",
    "yielding-springs-ignored": "springyield",
    "nonlinear-springs-ignored": "stiffness",
    "nonlinear-damping-ignored": "damping",
    "joint-softness-ignored": "solreflimit solimplimit solreffriction solimpfriction",
}

MJCF: Table = {
    "mujoco": supported("the root", "model"),
    "include": supported("the content of the file takes its place", "file"),
    "mujoco/compiler": supported(
        "MuJoCo compiles the file",
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict"
        " coordinate discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange"
        " meshdir passthrough settotalmass strippath texturedir",
        ignored="savecanonical savecompiled saveinertial usethread",
    ),
    "mujoco/compiler/lengthrange": no_effect("for muscles"),
    # engine
    "mujoco/option": supported(
        "gravity, contact softness and a suggested time step; solver and stepper are chosen in"
        " Tarsus",
        "gravity timestep impratio",
        ignored="ccd_iterations ccd_tolerance cone integrator iterations jacobian ls_iterations"
        " ls_tolerance magnetic noslip_iterations noslip_tolerance sdf_initpoints sdf_iterations"
        " solver tolerance",
        codes={
            "medium-forces-ignored": "density viscosity wind",
            "disable-flags-ignored": "actuatorgroupdisable",
            "enable-flags-ignored": "o_friction o_margin o_solimp o_solref sleep_tolerance",
        },
    ),
    "mujoco/option/flag": supported(
        "`gravity` only",
        "gravity",
        ignored="autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase"
        " multiccd nativeccd refsafe sensor warmstart",
        codes={
            "disable-flags-ignored": "constraint equality frictionloss limit contact spring damper"
            " clampctrl filterparent actuation",
            "enable-flags-ignored": "override sleep speculative",
        },
    ),
    "mujoco/size": no_effect("memory of MuJoCo"),
    "mujoco/statistic": no_effect(PICTURES),
    "mujoco/visual": no_effect(PICTURES),
    "mujoco/custom": no_effect("data for other programs"),
    "mujoco/extension": supported(),
    "mujoco/extension/plugin": reported("code of MuJoCo", PLUGINS),
    # assets
    "mujoco/asset": supported(),
    "mujoco/asset/mesh": supported(
        "a missing file is an error if masses or collisions need it",
        "name class file content_type vertex face scale refpos refquat inertia maxhullvert builtin"
        " params",
        ignored="material normal smoothnormal texcoord",
    ),
    "mujoco/asset/mesh/plugin": reported("code of MuJoCo", PLUGINS),
    "mujoco/asset/hfield": supported("terrain", "name file content_type nrow ncol size elevation"),
    "mujoco/asset/skin": no_effect(PICTURES),
    "mujoco/asset/texture": no_effect(PICTURES),
    "mujoco/asset/material": no_effect(PICTURES),
    "mujoco/asset/model": supported("a model to attach: MJCF or URDF", "name file content_type"),
    # bodies
    "mujoco/worldbody": supported("shapes in it are terrain", children_path="body"),
    "body": BODY,
    "body/body": BODY,
    "body/frame": supported("", f"name childclass pos {ORIENTATION}", children_path="body"),
    "body/replicate": supported("", "count sep offset euler", children_path="body"),
    "body/attach": supported("a body of another model", "model body frame prefix"),
    "body/inertial": supported("", f"pos {ORIENTATION} mass diaginertia fullinertia"),
    "body/freejoint": supported("", "name align", ignored="group"),
    "body/joint": supported(
        "free, ball, slide or hinge",
        "name class type pos axis ref range limited stiffness springref springdamper damping"
        " armature frictionloss actuatorfrcrange actuatorfrclimited",
        ignored="group user",
        codes={
            "ball-joint-limits-ignored": "range",
            "limit-margins-ignored": "margin",
            "joint-softness-ignored": "solreflimit solimplimit solreffriction solimpfriction",
            "free-joint-springs-ignored": "stiffness",
            "nonlinear-springs-ignored": "stiffness",
            "yielding-springs-ignored": "springyield",
            "nonlinear-damping-ignored": "damping",
            "gravity-compensation-ignored": "actuatorgravcomp",
        },
    ),
    "body/geom": supported(
        "shapes that collide, and the mass of a body without <inertial>",
        f"name class type pos {ORIENTATION} size fromto mesh hfield fitscale mass density"
        " shellinertia contype conaffinity condim priority friction solref solimp",
        ignored="group user material rgba castshadow",
        codes={
            "ground-plane-ignored": "type",
            "ground-ignored": "type hfield",
            "torsional-friction-ignored": "condim friction",
            "differing-softness-ignored": "solref solimp solmix",
            "direct-softness-ignored": "solref",
            "contact-margins-ignored": "margin gap",
            "ground-exclusion-ignored": "contype conaffinity",
            "ground-friction-ignored": "friction",
            "surface-velocity-ignored": "surfacevel",
            "adhesion-ignored": "adhesion",
            "medium-forces-ignored": "fluidshape fluidcoef",
        },
    ),
    "body/geom/plugin": reported("code of MuJoCo", PLUGINS),
    "body/site": supported(
        "a frame of the robot",
        f"name class pos {ORIENTATION} fromto",
        ignored="type size mesh group material rgba user",
    ),
    "body/camera": no_effect(PICTURES),
    "body/light": no_effect(PICTURES),
    "body/plugin": reported("code of MuJoCo", PLUGINS),
    "body/flexcomp": reported("soft bodies", FLEXIBLE),
    "body/composite": no_effect("the bodies that MuJoCo makes of it are read"),
    "mujoco/deformable": supported(),
    "mujoco/deformable/flex": reported("soft bodies", FLEXIBLE),
    "mujoco/deformable/skin": no_effect(PICTURES),
    # contacts
    "mujoco/contact": supported(),
    "mujoco/contact/pair": supported(
        "two shapes that collide, with their sliding friction",
        "name class geom1 geom2 condim friction",
        codes={
            "pair-numbers-ignored": "friction solref solreffriction solimp margin gap",
            "fixed-pairs-ignored": "geom1 geom2",
            "adhesion-ignored": "adhesion",
        },
    ),
    "mujoco/contact/exclude": supported("", "name body1 body2"),
    # constraints
    "mujoco/equality": supported(),
    "mujoco/equality/connect": _create_equality(
        "a ball joint that closes a loop", "body1 body2 anchor site1 site2"
    ),
    "mujoco/equality/weld": _create_equality(
        "a fixed joint that closes a loop",
        "body1 body2 anchor relpose site1 site2",
        "torquescale",
    ),
    "mujoco/equality/joint": _create_equality("a coupling of two joints", "joint1 joint2 polycoef"),
    "mujoco/equality/tendon": _create_equality(
        "a coupling of joints, for fixed tendons",
        "tendon1 tendon2 polycoef",
    ),
    "mujoco/equality/flex": reported("soft bodies", EQUALITIES),
    "mujoco/equality/flexvert": reported("soft bodies", EQUALITIES),
    "mujoco/equality/flexstrain": reported("soft bodies", EQUALITIES),
    "mujoco/equality/distance": reported("of older MuJoCo versions", EQUALITIES),
    "mujoco/tendon": supported(),
    "mujoco/tendon/fixed": supported(
        "has an actuator, limits, a spring, damping or friction, is the length in an equality"
        " constraint, or couples joints without play if its range is at most 0.1",
        TENDON_ATTRIBUTES,
        ignored=TENDON_LOOKS,
        codes=TENDON_CODES,
    ),
    "mujoco/tendon/fixed/joint": supported("", "joint coef"),
    "mujoco/tendon/spatial": supported(
        "like a fixed tendon, for paths through sites and pulleys",
        TENDON_ATTRIBUTES,
        ignored=TENDON_LOOKS,
        codes=TENDON_CODES,
    ),
    "mujoco/tendon/spatial/site": supported("", "site"),
    "mujoco/tendon/spatial/pulley": supported("", "divisor"),
    "mujoco/tendon/spatial/geom": reported("tendons around geoms are not simulated", TENDONS),
    # actuators
    "mujoco/actuator": supported("one signal that drives one hinge, slide or tendon"),
    "mujoco/actuator/general": _create_actuator(
        "affine laws without state, or with a filter or an integrator",
        "gaintype gainprm biastype biasprm dyntype dynprm actearly actlimited actrange"
        " inheritrange",
        "gaintype biastype dyntype actdim input ffrange velrange",
    ),
    "mujoco/actuator/motor": _create_actuator("a torque or force"),
    "mujoco/actuator/position": _create_actuator(
        "a position controller", "kp kv dampratio timeconst inheritrange"
    ),
    "mujoco/actuator/velocity": _create_actuator("a velocity controller", "kv"),
    "mujoco/actuator/intvelocity": _create_actuator(
        "a position controller with an integrated signal",
        "kp kv dampratio actlimited actrange inheritrange",
    ),
    "mujoco/actuator/damper": _create_actuator("a damper", "kv"),
    "mujoco/actuator/cylinder": _create_actuator(
        "a filtered force", "timeconst area diameter bias"
    ),
    "mujoco/actuator/muscle": _create_actuator(
        "a motor with the same limits",
        law="timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax",
    ),
    "mujoco/actuator/pid": _create_actuator(
        "a motor with the same limits",
        law="kp ki kv dampratio imax slewmax input inheritrange posrange velrange ffrange",
    ),
    "mujoco/actuator/dcmotor": _create_actuator(
        "a motor with the same limits",
        law="cogging controller inductance input lugre motorconst nominal resistance saturation"
        " thermal",
    ),
    "mujoco/actuator/plugin": _create_actuator(
        "a motor with the same limits",
        law="plugin instance dyntype dynprm actdim actearly actlimited actrange",
    ),
    "mujoco/actuator/plugin/config": no_effect("of the plugin"),
    "mujoco/actuator/orientation": reported("several signals", NOT_DRIVING),
    "mujoco/actuator/adhesion": reported("drives no joint", NOT_DRIVING),
    # the rest
    "mujoco/sensor": reported("sensors are chosen by name (`--sensors`)", "sensors-ignored"),
    "mujoco/keyframe": supported(),
    "mujoco/keyframe/key": supported(
        "coordinates by name, to start from",
        "name qpos ctrl act",
        ignored="time",
        codes={
            "keyframe-velocities-ignored": "qvel",
            "mocap-bodies-ignored": "mpos mquat",
            "yielding-springs-ignored": "plastic",
        },
    ),
    # classes of defaults
    "mujoco/default": supported("default values by class", "class", children_path="default"),
    "default": supported("a class of default values", "class"),
    "default/default": supported("a class within a class", "class", children_path="default"),
}

# Elements inside <default>, and the elements whose attributes they hold
HAVE_DEFAULTS = {
    **{tag: f"body/{tag}" for tag in ("joint", "geom", "site", "camera", "light")},
    **{tag: f"mujoco/asset/{tag}" for tag in ("mesh", "texture", "material")},
    **{
        path.rpartition("/")[2]: path
        for path in MJCF
        if path.startswith("mujoco/actuator/") and path.count("/") == 2
    },
    "pair": "mujoco/contact/pair",
    "equality": "mujoco/equality/connect",
    "tendon": "mujoco/tendon/fixed",
}
DEFAULTS: Table = {
    f"default/{tag}": replace(MJCF[path], reason=f"default of `{path}`")
    for tag, path in HAVE_DEFAULTS.items()
}
# MuJoCo also attaches URDF models, whose <mujoco> holds settings of its compiler
ALL_ELEMENTS: Table = {
    **MJCF,
    **DEFAULTS,
    **URDF,
    "robot/mujoco": supported("settings of MuJoCo", children_path="mujoco"),
}


def walk_mjcf(document: Document) -> UnsupportedItems:
    """Compare a model, with the files that it includes and attaches, with the table."""
    unread = UnsupportedItems()
    for model in _models(document):
        start = "robot" if model.root.tag == "robot" else "mujoco"
        unread.merge(walk(model.root, ALL_ELEMENTS, start, children=model.children))
    return unread


def _models(document: Document) -> Iterator[Document]:
    """Yield a model and all that it attaches, each once."""
    pending, visited = [document], set[int]()
    while pending:
        model = pending.pop()
        if id(model) not in visited:
            visited.add(id(model))
            yield model
            pending += model.models.values()
