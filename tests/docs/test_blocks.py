"""README's and the documents' blocks of code and their commands run, in the order of the page.

Python blocks of a page run one after the other in one folder and one namespace; its commands run
in the same folder, for a shorter time (`SHORTER`). Of commands in sentences, those with a file or a
name to run on follow after the blocks. What serves until it is stopped, measures an idle machine or
has placeholders is not run; `tests/docs/test_commands.py` reads the line of each.

Above a block there may stand an HTML comment, which a reader of the page does not see:

    <!-- setup
    Python code that makes what the block takes for granted; `blocks` are the earlier blocks' texts
    -->
    <!-- not run: REASON -->
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers.pages import BLOCKS, ROOT, inline_commands, is_mention, is_usage, tarsus_words

from tarsus import cli

SLOW = {  # pages whose blocks take more than two seconds of a processor
    "add_a_gait.md", "add_a_task.md", "add_a_terrain.md", "benchmarks.md", "c_code.md",
    "cheat_sheet.md",
    "choose_a_law.md", "collisions.md", "contact_truth.md", "controllers.md", "coordinates.md",
    "energy_ledger.md",
    "first_steps.md", "from_drake_pinocchio.md", "from_mujoco.md", "from_raisim.md", "gpu.md",
    "identification.md", "index.md", "judge.md", "laws_compared.md", "learning.md",
    "learning_results.md", "own_robot.md", "planning.md", "robots_tested.md", "snapshots.md",
    "steppers.md", "sweeps.md", "terrain.md", "tutorial.md", "watch.md",
}  # fmt: skip
SHORTER = {  # options for the tests, in place of the page's own
    "compare": {"--duration": "0.1", "--no-bars": "", "--no-search": ""},
    "identify": {"--laws": "moreau,linearized"},
    "learn": {"--rounds": "1"},
    "plan": {"--duration": "0.12", "--seeds": "1", "--push-at": "0.01"},
    "play": {"--trials": "2", "--duration": "0.2"},
    "render": {"--size": "96x72", "--rate": "2"},
}
FEWER = {"count = 10000": "count = 4", "window = 0.05 ": "window = 0.1\nwindows = 3\ntries = 1\n#"}
NOT_RUN = {
    "bench": "it measures an idle machine for minutes",
    "demo": "half a minute; tests/unit/commands/test_command_line.py runs it",
    "reproduce": "minutes; tests/experiments runs each paper",
    "robots": "ten seconds of each of many robots; tests/unit/commands/test_robots_command.py",
    "validate": "minutes; tests/physics/whole_robots/test_validation.py runs the scenes",
    "view": "it serves until it is stopped",
}
HISTORY = ROOT / "docs" / "decisions"  # of what was measured; its commands are read, not run
INPUT = re.compile(r"[\w./-]+\.(?:nc|npz|csv|toml|xml|urdf|sdf|py)")


def concrete(page: Path) -> list[list[str]]:
    """Return the commands in sentences of a page that can be run unchanged."""
    found = [tarsus_words(c) for c in inline_commands(page) if not is_usage(c)]
    return [w for w in found if HISTORY not in page.parents and not is_mention(w) and runs(w)]


def runs(words: list[str]) -> bool:
    """Return whether the tests run a Tarsus command with these arguments."""
    return bool(words) and words[0] not in NOT_RUN and "--view" not in words


def shortened(words: list[str]) -> list[str]:
    """Return the arguments with the options of `SHORTER` instead of the page's options."""
    for flag, value in SHORTER.get(words[0], {}).items():
        if flag in words:
            k = words.index(flag)
            words = words[:k] + words[k + (2 if value else 1) :]
        elif flag == "--laws":
            continue
        words = [*words, flag, *filter(None, [value])]
    return words


def run_command(words: list[str]) -> None:
    """Run a command for a short time; for one that is not run, check that its input files exist."""
    if not runs(words):
        missing = [w for w in words[1:] if INPUT.fullmatch(w) and not Path(w).exists()]
        assert not missing, f"the page makes no {', '.join(missing)}"
    else:
        assert cli.main(shortened(words)) == 0, words


RUN = [
    page
    for page, blocks in BLOCKS.items()
    if any(b.language == "python" or b.commands for b in blocks) or concrete(page)
]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=pytest.mark.slow if page.name in SLOW else (),
        )
        for page in RUN
    ],
)
def test_code_blocks_and_commands_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    room = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", room)
    names = vars(room)
    names["blocks"] = []
    done = list[list[str]]()
    for block in BLOCKS[page]:
        if not block.skipped:
            where = f"{page.name}:{block.line}"
            exec(compile(block.setup, f"{where} setup", "exec"), names)
            if block.language == "python":
                exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
            if block.language == "toml":
                write_specification(block.code)
            commands = [command for command in block.commands if not is_usage(command)]
            for words in filter(None, map(tarsus_words, commands)):
                run_command(words)
                done.append(words)
        names["blocks"].append(block.code)
    for words in concrete(page):
        if words not in done:
            run_command([*words, "--duration", "0.2"] if words[0] == "run" else words)


def write_specification(text: str) -> None:
    """Write the file that the first line of a block names, with fewer simulations."""
    for page_s, ours in FEWER.items():
        text = text.replace(page_s, ours)
    Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")


def test_skipped_code_blocks_have_a_reason() -> None:
    skipped = [block for blocks in BLOCKS.values() for block in blocks if block.skipped]
    assert all(len(block.remark) > len("not run: ") + 10 for block in skipped)
