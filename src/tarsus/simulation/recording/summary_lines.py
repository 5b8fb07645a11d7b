"""Format a run's summary as text, one line per topic."""

from __future__ import annotations

from typing import Any

AXES = tuple("wxyz")  # at the ends of the names of a vector's channels
MAX_SHOWN = 4  # channels or vectors of a sensor that a line shows
LARGE_GAP = 1e-4  # m or rad, of a loop joint
LARGE_GAP_HINT = "; Simulation(..., stabilization=0.05) closes it"


def summary_lines(n: dict[str, Any]) -> dict[str, str]:
    """Format one line per topic of a run's summary, by heading; empty lines do not apply."""
    # what the criteria found, then how the run went
    r = n["residuals"]
    return {
        "robot": (
            f"{n['robot']}, law {n['law']}, stepper {n['stepper']}, terrain {n['terrain']}, "
            f"dt {1e3 * n['dt']:g} ms"
        ),
        "motion": _describe_motion_line(n),
        "height": (
            ""
            if n["height_final"] is None
            else f"{n['height_final']:.4f} m at the end, {n['height_min']:.4f} m at the lowest"
        ),
        "contact": (
            f"peak normal force {n['normal_force_max']:.1f} N, penetration"
            f" {1e3 * n['penetration_max']:.3f} mm, creep of sticking contacts"
            f" {_format_residual(n['creep_max'], 'm/s')}"
            if n["contacts"]
            else "there are no contacts"
        ),
        "solver": (
            f"{n['iterations_mean']:.2f} iterations per step, at most {n['iterations_max']}; "
            f"{n['unconverged_steps']} steps unconverged"
            if n["contacts"] or n["drift_max"] is not None
            else ""
        ),
        "residuals": (
            f"Signorini {_format_residual(r['signorini_J'], 'J')},"
            f" cone {_format_residual(r['cone_Ns'], 'N s')},"
            f" dissipation {_format_residual(r['dissipation_J'], 'J')}, motion"
            f" {_format_residual(r['equation_N'], 'N')}"
        ),
        "loops": (
            ""
            if n["drift_max"] is None
            else f"largest gap of a loop joint {n['drift_max']:.1e} m or rad"
            + (LARGE_GAP_HINT if n["drift_max"] > LARGE_GAP else "")
        ),
        "energy": _format_energy_line(n["energy"], n["energy_gained"]),
        **{
            f"sensor {name}": _format_sensor_line(readings)
            for name, readings in n["sensors"].items()
        },
        "speed": (
            f"{n['steps_per_second']:,.0f} steps/s,"
            f" {_format_factor(n['realtime_factor'])} times real time"
            if n["steps_per_second"] > 0
            else ""
        ),
    }


def _format_factor(factor: float) -> str:
    """Format a factor with two digits if it is small."""
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def _format_residual(value: float | None, unit: str) -> str:
    """Format a residual with its unit, or "not applicable" where the stepper defines none."""
    return "not applicable" if value is None else f"{value:.1e} {unit}"


def _format_energy_line(e: dict[str, float], gained: float) -> str:
    """Format the nonzero shares of the energy ledger, and the energy gain."""
    shares = {
        name: value for name, value in e.items() if name not in ("change", "unbalanced") and value
    }
    terms = ", ".join(f"{name} {value:+.3g}" for name, value in shares.items())
    shown = f"{terms} J; " if terms else ""
    extra = f"; {gained:.3g} J from nothing" if gained > 0 else ""
    return f"{shown}change {e['change']:+.3g} J, balanced to {e['unbalanced']:.1e} J{extra}"


def _format_sensor_line(readings: dict[str, Any]) -> str:
    """Format last and mean values of the first channels, with those of a vector together."""
    vectors: dict[str, list[str]] = {}
    for channel in readings["last"]:
        vector, _, axis = channel.rpartition("_")
        vectors.setdefault(vector if axis in AXES else channel, []).append(channel)
    shown = [
        f"{vector} {_values(readings['last'], components)},"
        f" mean {_values(readings['mean'], components)}"
        for vector, components in list(vectors.items())[:MAX_SHOWN]
    ]
    more = f"; {len(vectors) - MAX_SHOWN} more" if len(vectors) > MAX_SHOWN else ""
    return f"{'; '.join(shown)}{more} (units: {readings['units']})"


def _values(values: dict[str, float], channels: list[str]) -> str:
    numbers = [f"{values[channel]:.3g}" for channel in channels]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def _describe_motion_line(n: dict[str, Any]) -> str:
    """Describe what the robot did, and whether it fell."""
    if "diverged" in n:
        return f"diverged after {n['duration']:g} s"
    text = _describe_motion(n)
    if n["fell"]:
        text = f"{text}fell at {n['fall_time']:.2f} s of {n['duration']:g} s"
        if n["hangs"]:
            text += " through the ground, which its body may not touch (contacts: all)"
    return f"{text}; interrupted" if "interrupted" in n else text


def _describe_motion(n: dict[str, Any]) -> str:
    """Describe what the robot did, up to a fall."""
    motion, duration = n["motion"], n["duration"]
    seconds = f"{n['fall_time'] if n['fell'] else duration:.4g} s"
    if motion == "moved":
        return f"base fixed for {duration:g} s"
    if motion == "hopped" and n["height_final"] is None:
        return f"hopped {n['jumps']} times in {duration:g} s"
    if n["fell"]:
        return f"{motion} {n['distance_to_fall']:.3f} m, " if motion in ("walked", "hopped") else ""
    distance = f"{n['distance']:.3f} m in {seconds}"
    return {
        "sank": f"sank by {1e3 * n['lowest']:.0f} mm in {seconds}",
        "stood": f"stood for {seconds}",
        "squatted": f"squatted for {seconds}, {1e3 * n['lowest']:.0f} mm deep",
        "stepped": f"stepped on the spot for {seconds}",
        "jumped": f"jumped once in {seconds}",
        "hopped": f"hopped {n['jumps']} times, {distance}",
        "flew": f"never touched the ground in {seconds}",
    }.get(motion, f"{motion} {distance}: {n['mean_speed']:.3f} m/s")
