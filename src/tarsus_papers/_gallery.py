"""The documentation's page of experiments, made from the experiments themselves."""

from __future__ import annotations

from collections.abc import Mapping

from tarsus_papers.base import Experiment

HEAD = """# Gallery: the papers, measured again

Each experiment measures a paper's tables and figures again and writes one page, \
NAME.html, that needs nothing else,
and its numbers as NAME.json.

```
tarsus reproduce NAME [--out DIR] [--parts PART,PART] [--quick]
tarsus list experiments
```

A full run takes up to half an hour on two cores; `--quick`, the reduced version that \
the tests run, a minute or two. The exit
code is 1 if something that must hold does not.
Two controllers made from the parts of the equation of motion, legs without weight and a foot that \
pushes with 20 N, are in [controllers](controllers.md); films and pictures, of one robot and of a \
thousand, in [watch](watch.md#many-worlds).
To add an experiment, see `src/tarsus_papers/base.py`. \
This page is made by `tarsus_papers.gallery()`.
"""


def gallery(experiments: Mapping[str, Experiment]) -> str:
    """Markdown: every experiment with its parts and how to make its page."""
    return HEAD + "".join(_entry(name, experiment) for name, experiment in experiments.items())


def _entry(name: str, experiment: Experiment) -> str:
    """One experiment."""
    rows = "\n".join(
        f"| `{part.name}` | {part.title} | {part.where or 'beyond it'} |"
        for part in experiment.parts
    )
    return (
        f"\n## `{name}`: {experiment.title}\n\n{experiment.paper.text()}\n\n{experiment.about}\n\n"
        f"```\ntarsus reproduce {name} --out {name}\n```\n\n"
        f"| part | what | in the paper |\n|---|---|---|\n{rows}\n"
    )
