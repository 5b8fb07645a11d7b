"""Dropped balls and standing robots under every law, discovered by file; g = 9.81 m/s^2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.bench import Bench, contacts

from tarsus import registry
from tarsus.contact.base import ForceLaw, Law
from tarsus.control.gaits.stand import Stand
from tarsus.parameters import declared_fields, names_with_role
from tarsus.robots import mini_cheetah
from tarsus.validation.bodies import RADIUS, G, point_mass, pose, sphere

PACKAGE = "tarsus.contact.laws"
LAWS = registry.names(PACKAGE)
E_N, DROP = np.array([0.0, 0.5, 0.8, 1.0]), 1.0  # 1, m


def law_class(name: str) -> type[Law]:
    return registry.member_class(PACKAGE, "law", name, Law)


def rebounding() -> dict[str, Law]:
    """Every law with a coefficient of restitution, with each of its solvers."""
    found: dict[str, Law] = {}
    for name in LAWS:
        law = law_class(name)
        if {"rigid", "restitution"} & set(law.not_modeled):
            continue
        solvers = declared_fields(law)["solver"].choices if "solver" in declared_fields(law) else {}
        found |= {f"{name}-{s}": replace(law(), solver=s) for s in solvers} or {name: law()}
    return found


REBOUNDING = rebounding()


@pytest.mark.parametrize("body", [point_mass, sphere])
@pytest.mark.parametrize("name", REBOUNDING)
def test_a_dropped_ball_rebounds_to_e_squared_h(name: str, body: type) -> None:
    dt, speed, radius = 0.001, np.sqrt(2 * G * DROP), RADIUS if body is sphere else 0.0
    bench = Bench(body(), REBOUNDING[name])
    log = bench.run(1300, dt, q=pose([0, 0, DROP + radius]), law_e_N=E_N)
    z, normal = log["q"][..., 2] - radius, contacts(log)[..., 0, 0]
    for world, e in enumerate(E_N):
        k = np.argmax(normal[:, world] > 0)
        assert k * dt == pytest.approx(np.sqrt(2 * DROP / G), abs=2 * dt)
        # it lands with m (1 + e) v, m = 1, and with the weight of that step
        assert normal[k, world] == pytest.approx((1 + e) * speed, abs=2.1 * (1 + e) * G * dt)
        later = normal[k + 1 :, world] > 0
        until = k + 1 + np.argmax(later) if later.any() and e else len(z)
        assert z[k:until, world].max() == pytest.approx(e**2 * DROP, abs=(1 + e) * speed * dt)
    assert z.min() > -speed * dt, "it sinks by half a step of its fall at most"
    assert log["converged"].all()


def standing() -> dict[str, Law]:
    """Every law, and again with a smaller kinetic friction if it has one."""
    found = {name: law_class(name)() for name in LAWS}
    for name in LAWS:
        for kinetic in names_with_role(law_class(name), "kinetic_friction"):
            found[f"{name}-{kinetic}"] = replace(found[name], **{kinetic: 0.32})
    return found


STANDING = standing()


@pytest.mark.parametrize("name", STANDING)
def test_mini_cheetah_stands_for_a_second(name: str) -> None:
    """With the law's own friction and with 0.8."""
    law, robot, start = STANDING[name], mini_cheetah.describe(), mini_cheetah.stand()
    dt, mu = 0.0005 if isinstance(law, ForceLaw) else 0.0025, [law.parameters()["mu"], 0.8]
    log = Bench(robot, law, controller=Stand()).run(round(1 / dt), dt, q=start, law_mu=mu)
    assert log["converged"].mean() > 0.999
    assert np.abs(log["q"][..., 2] - start[2]).max() < 0.02
    assert np.abs(log["q"][-1, :, :2] - start[:2]).max() < 0.02
    pressing = contacts(log)[-round(0.25 / dt) :, ..., 0].sum(-1).mean(0) / dt
    assert pressing == pytest.approx(G * robot.mass, rel=2e-3)
    assert np.abs(log["u"][-1, :, :6]).max() < 0.02
