"""Insert mistakes into a policy's contract and check the suggestions of `doctor`.

    python tools/break_contracts.py POLICY --robot ROBOT [--dt S] [--set NAME=VALUE ...]

The script prints one line per broken contract: the mistake, the first suggestion, and whether the
suggestion names the mistake. The counts per mistake follow as rows of a Markdown table. The
original contract must be correct; a suggestion for it is printed first.
"""

from __future__ import annotations

import argparse
from collections import Counter

from tarsus.errors import TarsusError
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.doctor import diagnose, joint_names
from tarsus.policies.loading import load_contract
from tarsus.policies.mistakes import changes
from tarsus.simulation import resolve

HARMLESS = "scale of a term"  # tried by doctor, but most of these breaks do not harm a policy


def main() -> None:
    """Break the contract named on the command line in every known way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("policy")
    parser.add_argument("--robot", required=True)
    parser.add_argument("--dt", type=float, default=0.0025)
    parser.add_argument("--set", nargs="*", default=[])
    options = parser.parse_args()
    robot = resolve.resolve_robot(options.robot)
    bound = BoundPolicy.of(load_contract(options.policy, None, options.set), robot)
    # the right contract
    accused = diagnose(bound.contract, robot, dt=options.dt).suggestions
    listed = ", ".join(trial.change for trial in accused) or "none"
    print(f"right contract: suggestions {listed}", flush=True)
    # broken ones
    named, total = Counter[str](), Counter[str]()
    for mistake, change, broken in changes(bound.contract, joint_names(bound)):
        if mistake == HARMLESS:
            continue
        try:
            result = diagnose(broken, robot, dt=options.dt)
        except TarsusError as error:
            print(f"- | {mistake} | {change} | cannot run: {error}", flush=True)
            continue
        first = result.suggestions[0] if result.suggestions else None
        hit = first is not None and first.mistake == mistake
        named[mistake] += hit
        total[mistake] += 1
        answer = "no suggestion" if first is None else f"{first.mistake}: {first.change}"
        before = result.unchanged.score
        print(
            f"{'yes' if hit else 'NO'} | {mistake} | {change} | score {before:.2f} | {answer}",
            flush=True,
        )
    for mistake, count in total.items():
        print(f"| {mistake} | {named[mistake]} of {count} |")
    print(f"| all | {named.total()} of {total.total()} |")


if __name__ == "__main__":
    main()
