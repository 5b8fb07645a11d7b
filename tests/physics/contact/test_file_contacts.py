"""Friction and softness of the geoms of an MJCF file."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
from helpers.warned import warned

import tarsus
from tarsus import cli
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning
from tarsus.learning.network import Network
from tarsus.learning.play import trial_environment
from tarsus.learning.policy import ObservationScale, Policy
from tarsus.learning.training_spec import TrainingSpec
from tarsus.model.mjcf import read_mjcf
from tarsus.model.self_collision import create_pairs
from tarsus.model.solids import Pair
from tarsus.model.to_mjcf import to_mjcf
from tarsus.simulation import file_material

SLOPE, G = 0.6, 9.81


def blocks(first: str, second: str, option: str = "") -> Robot:
    """Two free blocks that slide next to each other, with these attributes of their geoms."""
    size = 'type="box" size=".1 .1 .02"'
    return Robot.of(
        read_mjcf(f"""<mujoco>{option}<worldbody>
        <body name="a"><freejoint/><geom name="a" {size} {first}/></body>
        <body name="b" pos="0 1 0"><freejoint/><geom name="b" {size} {second}/></body>
        </worldbody></mujoco>""")
    )


def slid(robot: Robot, law: Moreau | str = "moreau", seconds: float = 0.2) -> tuple[float, float]:
    """Accelerations of both blocks down a slope, m/s^2, from rest on it."""
    half, axis = SLOPE / 2, np.array([0.0, 1.0, 0.0])
    turn = np.array([np.cos(half), *(-np.sin(half) * axis)])
    slope = tarsus.Slope(angle=SLOPE)
    simulation = tarsus.Simulation(robot, law, terrain=slope, dt=0.001, contacts="all")
    normal = np.array([-np.sin(SLOPE), 0.0, np.cos(SLOPE)])
    places = [0.02 * normal, 0.02 * normal + [0.0, 1.0, 0.0]]
    simulation.set(q=np.concatenate([np.r_[place, turn] for place in places]))
    simulation.advance(seconds)
    down = np.array([-np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
    u = simulation.u
    return float(u[:3] @ down) / seconds, float(u[6:9] @ down) / seconds


def coulomb(mu: float) -> float:
    return G * (np.sin(SLOPE) - mu * np.cos(SLOPE))


@pytest.mark.parametrize("law", ["moreau", pytest.param("lcp_impulse", marks=pytest.mark.slow)])
def test_each_body_slides_with_its_friction(law: str) -> None:
    """The law has the larger coefficient; contacts of the other block, in slots, have a factor."""
    robot = blocks('friction=".4"', 'friction=".2"')
    assert robot.material == {"mu": 0.4}
    assert {c.name[0]: c.friction for c in robot.candidates} == {"a": 1.0, "b": 0.5}
    found = slid(robot, law)
    assert found == pytest.approx((coulomb(0.4), coulomb(0.2)), abs=0.02)


def test_an_explicit_ground_pair_has_its_friction() -> None:
    """One block slides with the friction of its pair with the floor, the other with that of its
    geom.
    """
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body name="a"><freejoint/><geom name="a" type="box" size=".1 .1 .02" friction=".9"/></body>
    <body name="b" pos="0 1 0"><freejoint/><geom name="b" type="box" size=".1 .1 .02"
    friction=".5"/></body></worldbody>
    <contact><pair name="p" geom1="floor" geom2="a" friction=".2 .2 .1 .1 .1"/>{more}</contact>
    </mujoco>"""
    robot = Robot.of(read_mjcf(text.format(more="")))
    assert robot.material == {"mu": 0.5}
    assert {s.name: s.friction for s in robot.solids} == {"a": 1.8, "b": 1.0}
    assert slid(robot) == pytest.approx((coulomb(0.2), coulomb(0.5)), abs=0.02)
    slippery = read_mjcf(text.format(more='<pair geom1="b" geom2="floor" condim="1"/>'))
    assert slid(Robot.of(slippery)) == pytest.approx((coulomb(0.2), coulomb(0.0)), abs=0.02)
    wall = '<geom name="wall" size="1 1 1" type="box"/>'
    neither = text.format(more='<pair name="q" geom1="floor" geom2="wall"/>')
    with warned("fixed-shapes-ignored", "worldbody"):
        fixed = read_mjcf(neither.replace("<worldbody>", f"<worldbody>{wall}"))
    assert any("where neither geom moves: q." in told for told in fixed.unsupported)
    robot = Robot.of(read_mjcf(text.format(more="")))
    assert any("but the sliding friction are ignored: p." in text for text in robot.unsupported)


def test_a_law_object_keeps_its_friction_and_mu_ratio() -> None:
    robot = blocks('friction=".4"', 'friction=".2"')
    assert slid(robot, Moreau(mu=0.6)) == pytest.approx((coulomb(0.6), coulomb(0.3)), abs=0.02)


def test_priority_and_condim_select_the_friction() -> None:
    """As in common robot files, whose feet have priority over other geoms."""
    robot = blocks('friction=".9" condim="1"', 'friction=".3 .02 .01" priority="1" condim="6"')
    assert robot.material["mu"] == 0.3
    assert {c.name[0]: c.friction for c in robot.candidates} == {"a": 3.0, "b": 1.0}
    smooth = blocks('priority="1" condim="1"', "")
    assert smooth.material["mu"] == 1.0
    assert {c.name[0]: c.friction for c in smooth.candidates} == {"a": 0.0, "b": 1.0}
    assert blocks('friction="0"', 'friction="0"').material["mu"] == 0.0


def box_on_floor(floor: str, box: str) -> str:
    """MJCF with these attributes of the floor and of a box on it."""
    return f"""<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1" {floor}/>
    <body name="b" pos="0 0 .099"><freejoint/><geom type="box" size=".1 .1 .1" {box}/></body>
    </worldbody></mujoco>"""


def in_mujoco(text: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Model in MuJoCo, and its contacts at the start."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize(
    ("floor", "box"),
    [
        ('friction=".1" priority="1"', 'friction=".6"'),
        ('friction=".5"', 'friction=".1"'),
        ('condim="1"', 'condim="1"'),
        ('condim="1" priority="2"', ""),
        ('friction=".4"', 'friction=".6"'),
        ('friction=".4" condim="1"', 'friction=".6" condim="4"'),
        ('friction=".4"', 'friction=".2" priority="1"'),
    ],
)
def test_ignored_ground_friction_is_reported(floor: str, box: str) -> None:
    """With MuJoCo's value for the box on the floor, if it differs from the box's."""
    text = box_on_floor(floor, box)
    _, data = in_mujoco(text)
    theirs = 0.0 if data.contact[0].dim == 1 else float(data.contact[0].friction[0])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", TarsusWarning)
        robot = Robot.of(read_mjcf(text))
    told = [w.message for w in seen if isinstance(w.message, TarsusWarning)]
    told = [str(warning) for warning in told if warning.code == "ground-friction-ignored"]
    if theirs == robot.material.get("mu", 1.0):
        assert not told
    else:
        assert len(told) == 1 and f"--friction {theirs:g} " in told[0]


@pytest.mark.parametrize(
    ("floor", "box"),
    [
        ('solref=".04 1"', ""),
        ("", 'solref=".01 .8" solimp=".8 .9 .01"'),
        ('solref=".04 1" solmix="3"', 'solref=".01 1"'),
        ('solref=".04 1"', 'solref=".01 1" priority="1"'),
        ('solref=".04 1" solimp=".5 .6 .01" priority="1"', 'solref=".01 1"'),
        ('solref=".04 1"', 'solref=".04 1"'),
        ("", ""),
    ],
)
def test_ignored_ground_softness_is_reported(floor: str, box: str) -> None:
    """With MuJoCo's values for the box on the floor that differ from the box's."""
    text = box_on_floor(floor, box)
    model, data = in_mujoco(text)
    theirs = [*data.contact[0].solref, *data.contact[0].solimp]
    own = [*model.geom_solref[1], *model.geom_solimp[1]]
    names = ("timeconst", "dampratio", "d_min", "d_max", "width", "midpoint", "power")
    asked = [f"{n}={v:g}" for n, v, o in zip(names, theirs, own, strict=True) if abs(v - o) > 1e-9]
    told = [
        note for note in Robot.of(read_mjcf(text)).unsupported if "softness of the file's" in note
    ]
    assert len(told) == bool(asked)
    assert not told or f"--set {' '.join(asked)} " in told[0]


def test_a_file_without_material_keeps_the_law_parameters() -> None:
    robot = blocks("", "")
    assert robot.material == {} and all(c.friction == 1.0 for c in robot.candidates)
    notices: list[str] = []
    assert (
        file_material.law_for_robot("moreau", robot, notices) == (Moreau(), robot) and not notices
    )


def test_softness_sets_the_parameters_of_soft_laws() -> None:
    """solref and solimp set soft_convex; under another law a note reports them."""
    given = 'solref=".01 .8" solimp=".8 1 .03 .4 3" friction=".7"'
    robot = blocks(given, given, option='<option impratio="50"/>')
    law, _ = file_material.law_for_robot("soft_convex", robot, [])
    found = {
        name: float(value) for name, value in law.parameters().items() if name in robot.material
    }
    assert found == pytest.approx(
        {"mu": 0.7, "timeconst": 0.01, "dampratio": 0.8, "d_min": 0.8, "d_max": 0.9999,
         "width": 0.03, "midpoint": 0.4, "power": 3.0, "impratio": 50.0}
    )  # fmt: skip
    assert any("soft_convex" in note for note in robot.notes)
    ball = read_mjcf("""<mujoco><worldbody><body><freejoint/><geom size=".1" friction=".7"/></body>
        </worldbody></mujoco>""")
    simulation = tarsus.Simulation(Robot.of(ball), parameters=["mu=0.5"])
    assert simulation.law.parameters()["mu"] == 0.5
    assert not any("mu 0.7" in notice for notice in simulation.warnings), "it is set"
    stiff = blocks('solref="-1000 -10" margin=".01"', "")
    assert "timeconst" not in stiff.material
    assert sum("solref" in text or "margin" in text for text in stiff.unsupported) == 2


STACK = """<mujoco><worldbody>
    <body name="plate"><freejoint/><geom name="plate" type="box" size=".5 .5 .02" friction="1.5"
    density="8000"/></body>
    <body name="a" pos="0 0 .04"><freejoint/><geom name="a" type="box" size=".1 .1 .02"
    friction=".9"/></body></worldbody>
    <contact>{pair}</contact></mujoco>"""


@pytest.mark.parametrize(
    ("pair", "mu"),
    [
        ('<pair name="q" geom1="a" geom2="plate" friction=".2 .2"/>', 0.2),
        ("", 1.5),
    ],
)
def test_bodies_slide_with_the_friction_of_their_explicit_pair(pair: str, mu: float) -> None:
    """A block on a heavy plate that stays at rest on a slope."""
    robot = Robot.of(read_mjcf(STACK.format(pair=pair)))
    named = [note for note in robot.notes if "explicit pairs" in note and note.endswith(" q.")]
    assert bool(named) == bool(pair)
    half, axis = SLOPE / 2, np.array([0.0, 1.0, 0.0])
    turn = np.array([np.cos(half), *(-np.sin(half) * axis)])
    normal = np.array([-np.sin(SLOPE), 0.0, np.cos(SLOPE)])
    simulation = tarsus.Simulation(
        robot, terrain=tarsus.Slope(angle=SLOPE), dt=0.001, contacts="all", self_collision=True
    )
    simulation.set(q=np.r_[0.02 * normal, turn, 0.06 * normal, turn])
    simulation.advance(0.2)
    down = np.array([-np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
    plate, block = (float(simulation.u[k : k + 3] @ down) / 0.2 for k in (0, 6))
    assert plate == pytest.approx(0.0, abs=0.02)
    assert block == pytest.approx(max(coulomb(mu), 0.0), abs=0.03)


@pytest.mark.parametrize(
    ("pair", "mu"),
    [
        ('<pair geom1="plate" geom2="a" friction=".4 .4"/>', 0.4),
        ('<pair geom1="plate" geom2="a" friction="2"/>', 2.0),
        ('<pair geom1="plate" geom2="a" condim="1"/>', 0.0),
        ('<pair geom1="plate" geom2="a" friction=".4"/><pair geom1="a" geom2="plate"/>', 0.4),
    ],
)
def test_an_explicit_pair_has_its_friction(pair: str, mu: float) -> None:
    robot = Robot.of(read_mjcf(STACK.format(pair=pair)))
    assert Pair(*robot.solids).friction * robot.material["mu"] == pytest.approx(mu)


def test_pairs_of_two_files_in_one_world_are_separate() -> None:
    """The first pair of each file has its friction, but not with the other file."""
    own = [
        Robot.of(read_mjcf(STACK.format(pair=f'<pair geom1="a" geom2="plate" friction="{mu}"/>')))
        for mu in (0.2, 0.4)
    ]
    both = tarsus.world(*own, at=[(3.0, 0.0, 0.0)])
    solids = {solid.name: solid for solid in both.solids}
    relative = {
        pair: Pair(solids[pair[0]], solids[pair[1]]).friction * both.material["mu"]
        for pair in (("a", "plate"), ("a_2", "plate_2"), ("a", "plate_2"))
    }
    assert list(relative.values()) == pytest.approx([0.2, 0.4, 1.5])


BALLS = """<mujoco model="{0}"><worldbody>
    <body name="{0}"><freejoint/><geom name="{0}" size=".1" {1}/></body>
    <body name="{0}x"><freejoint/><geom name="{0}x" size=".1" {2}/></body></worldbody></mujoco>"""
FILES = {
    "a": ('friction=".5"', 'friction=".2"'),
    "b": ('friction=".9"', 'friction=".6"'),
    "c": ('friction=".3" priority="2"', 'friction=".8" priority="1"'),
    "d": ('friction="0"', 'friction="0"'),
    "e": ("", ""),
}


@pytest.mark.parametrize("order", ["ab", "ba", "abc", "cba", "adb", "dab", "eab", "aeb"])
def test_each_file_of_a_world_keeps_its_friction(order: str) -> None:
    """On the ground as alone, on each other as in MuJoCo when one file is attached to the
    other; soft_convex has MuJoCo's default of 1.
    """
    texts = [BALLS.format(name, *FILES[name]) for name in order]
    first, *others = (mujoco.MjSpec.from_string(text) for text in texts)
    for other in others:
        first.attach(other, prefix="_", frame=first.worldbody.add_frame())
    model = first.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = np.tile([0, 0, 1, 1, 0, 0, 0], 2 * len(order))  # all in one place
    mujoco.mj_forward(model, data)
    names = [model.geom(geom).name.lstrip("_") for geom in range(model.ngeom)]
    told = {frozenset(names[g] for g in c.geom): c.friction[0] for c in data.contact}
    # here: one world, and a world of worlds
    robots = [Robot.of(read_mjcf(text)) for text in texts]
    count = len(robots) - 1
    nested = tarsus.world(
        tarsus.world(*robots[:-1], at=[(3, 0)] * (count - 1)), robots[-1], at=[(6, 0)]
    )
    for whole in (tarsus.world(*robots, at=[(3, 0)] * count), nested):
        simulation = tarsus.Simulation(whole, "soft_convex", contacts="all")
        mu = float(simulation.law.parameters()["mu"])
        found = {
            frozenset((p.first.name, p.second.name)): mu * p.friction
            for p in create_pairs(simulation.robot)
        }
        least = 1e-5  # MuJoCo's
        assert {pair: max(value, least) for pair, value in found.items()} == pytest.approx(told)
        for robot in robots:
            alone = tarsus.Simulation(robot, "soft_convex", contacts="all")
            own = float(alone.law.parameters()["mu"])
            by_name = {c.name: c.friction for c in simulation.plan.scene.candidates}
            for candidate in alone.plan.scene.candidates:
                assert mu * by_name[candidate.name] == pytest.approx(own * candidate.friction)


@pytest.mark.parametrize("law", ["moreau", Moreau(mu=1.0)])
def test_robots_of_two_files_slide_with_their_friction(law: Moreau | str) -> None:
    """Also with a given law and its ratio; a warning names both files."""
    text = """<mujoco model="{0}"><worldbody><body name="{0}"><freejoint/><geom name="{0}"
    type="box" size=".1 .1 .02" friction="{1}"/></body></worldbody></mujoco>"""
    robots = [Robot.of(read_mjcf(text.format(*own))) for own in (("a", 0.5), ("b", 0.2))]
    whole = tarsus.world(*robots, at=[(0, 1)])
    by = 2.0 if isinstance(law, Moreau) else 1.0
    expected = max(coulomb(0.5 * by), 0.0), coulomb(0.2 * by)
    assert slid(whole, law) == pytest.approx(expected, abs=0.02)
    told = [n for n in tarsus.Simulation(whole, law).warnings if n.code == "friction-of-each-file"]
    expected = ["a"] if isinstance(law, str) else []
    assert [notice.subject for notice in told] == expected
    assert all("mu 0.5 for 'a', 0.2 for 'b'" in notice for notice in told)


def test_objects_without_friction_use_the_friction_of_the_law() -> None:
    """A built-in robot with objects, or a file without friction, in any combination."""
    ball = Robot.of(read_mjcf(BALLS.format("a", *FILES["a"])))
    for law, usual in {"moreau": 0.8, "compliant": 0.8, "lcp_impulse": 0.0}.items():
        for first in ("mini_cheetah", tarsus.Ball()):
            whole = tarsus.Simulation(tarsus.world(first, ball, at=[(2, 0)]), law)
            mu = whole.law.parameters()["mu"]
            found = {c.name: c.friction * mu for c in whole.plan.scene.candidates}
            assert found.pop("a") == pytest.approx(0.5) and found.pop("ax") == pytest.approx(0.2)
            assert list(found.values()) == pytest.approx([usual] * len(found))
    # an object behind a file: a factor on the law's, as it says
    whole = tarsus.Simulation(tarsus.world(ball, tarsus.Ball(friction=2.0), at=[(2, 0)]))
    friction = {c.name: c.friction for c in whole.plan.scene.candidates}
    assert whole.law.parameters()["mu"] == 0.5 and friction["ball"] == 2.0


def test_ignored_softness_of_a_second_file_is_reported() -> None:
    soft = BALLS.format("b", 'solref=".01 1"', 'solref=".01 1"')
    robots = [Robot.of(read_mjcf(text)) for text in (BALLS.format("a", "", ""), soft)]
    made = tarsus.Simulation(tarsus.world(*robots, at=[(2, 0)]), "soft_convex")
    [told] = [notice for notice in made.warnings if notice.code == "file-values-ignored"]
    assert told.subject == "b" and "timeconst" in told


def test_environments_planners_and_training_use_file_materials(tmp_path: Path) -> None:
    """As a simulation does for a law by name, but not for a law object; settings take
    precedence.
    """
    path = tmp_path / "slippery.xml"
    path.write_text(to_mjcf(tarsus.load("mini_cheetah"), friction=0.35))
    robot = tarsus.load(path)
    assert tarsus.Simulation(robot).law.parameters()["mu"] == 0.35
    for made in (tarsus.Environment(robot=robot, worlds=2), tarsus.Planner(robot=robot)):
        assert made.law.parameters()["mu"] == 0.35
        assert sum("mu 0.35" in told for told in made.warnings) == 1
    for own in (
        tarsus.Environment(robot=robot, worlds=2, law=Moreau()),
        tarsus.Planner(robot=robot, law=Moreau()),
    ):
        assert own.law.parameters()["mu"] == 0.8
        assert not any("mu" in told for told in own.warnings)
    # what is learned, and where it is played
    few = ("worlds=2", "periods=2")
    learned = TrainingSpec(robot=str(path), settings=few).create_environment(1)
    assert np.all(learned.backend.get("law.mu") == 0.35)
    assert sum("mu 0.35" in told for told in learned.warnings) == 1
    set_so = TrainingSpec(robot=str(path), settings=(*few, "law.mu=0.5"))
    assert set_so.contact_law().parameters()["mu"] == 0.5
    about = set_so.metadata(set_so.create_environment(1))
    scale = ObservationScale(
        np.zeros(about["observation_size"], "f4"), np.ones(about["observation_size"], "f4")
    )
    network = Network(
        (about["observation_size"], about["action_size"]), free_weights=about["action_size"]
    )
    there = Policy(network, np.zeros(network.count, np.float32), scale, about)
    for law, mu in {"moreau": 0.5, "compliant": 0.35}.items():
        assert trial_environment(there, law, 0.004, "plane").law.parameters()["mu"] == mu


def test_messages_print_values_as_given_by_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Set values are not attributed to the file, and each command names flags that it has."""
    file = tmp_path / "box.xml"
    file.write_text(
        '<mujoco><worldbody><body name="b" pos="0 0 .099"><freejoint/><geom type="box"'
        ' size=".1 .1 .1" solref=".01 1" friction=".6"/></body></worldbody></mujoco>',
        encoding="utf-8",
    )

    def warned(*words: str) -> str:
        line = ["run", str(file), "--gait", "free", "--duration", "0.02", "--json", *words]
        assert cli.main(line) == 0
        return " ".join(json.loads(capsys.readouterr().out)["warnings"])

    assert "mu 0.6; change them with --set mu=..." in warned()
    assert "values from the file" not in warned("--set", "mu=0.5")
    soft = ("--law", "soft_convex")
    assert "mu 0.6, timeconst 0.01" in warned(*soft)
    assert "values from the file" not in warned(*soft, "--set", "mu=0.5", "timeconst=0.02")
    for friction in (("--friction", "0.5"), ("--set", "mu=0.5")):
        assert "'box': timeconst 0.01; change them with --set timeconst=" in warned(
            *soft, *friction
        )
        theirs = warned("--engine", "mujoco", *friction)
        assert "solref 0.01,1" in theirs and "mu 0.6" not in theirs
    # a comparison has no --set
    quick = ["--dts", "0.001", "--no-bars", "--no-search", "--gait", "free", "--duration", "0.02"]
    assert cli.main(["compare", str(file), "--laws", "soft_convex", *quick]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "mu 0.6, timeconst 0.01; change mu with --friction." in shown
