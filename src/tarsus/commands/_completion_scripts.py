"""Shell scripts of `tarsus completion`; they contain all names, so that completion is fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tarsus.commands._options import Argument


@dataclass(frozen=True)
class CommandWords:
    """Name, summary and options of a command."""

    name: str
    summary: str
    options: tuple[Argument, ...]


def bash_script(commands: Sequence[CommandWords]) -> str:
    """Build a bash function that completes the word at the cursor."""
    names = " ".join(known.name for known in commands)
    cases = "\n".join(_build_bash_case(known) for known in commands)
    return f"""\
_tarsus() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" values="" flags=""
    [[ $cur == "=" ]] && cur=""
    [[ $prev == "=" ]] && prev="${{COMP_WORDS[COMP_CWORD-2]}}"
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    if [[ $cur == -* ]]; then values="$flags"; fi
    local head=""
    if [[ $cur == *,* ]]; then head="${{cur%,*}},"; fi
    COMPREPLY=($(compgen -P "$head" -W "$values" -- "${{cur#"$head"}}"))
}}
complete -o bashdefault -o default -F _tarsus tarsus
"""


def _build_bash_case(known: CommandWords) -> str:
    """Build the case of one command: values of the option before the cursor, or of positionals."""
    flags = " ".join([*(flag for option in known.options for flag in option.flags), "--help"])
    rows = [f'    {known.name}) flags="{flags}"', '        case "$prev" in']
    for option in known.options:
        if option.flags and option.value:
            values = " ".join(option.choices)
            rows.append(f'            {"|".join(option.flags)}) values="{values}" ;;')
    positional = [name for option in known.options if not option.flags for name in option.choices]
    rows += [f'            *) values="{" ".join(positional)}" ;;', "        esac ;;"]
    return "\n".join(rows)


def zsh_script(commands: Sequence[CommandWords]) -> str:
    """Build a function for zsh's completion system, with the help text of every option."""
    described = "\n".join(f"        {_quote(_colon_pair(k.name, k.summary))}" for k in commands)
    cases = "\n".join(
        "\n".join([f"    {k.name})", "        _arguments -s \\", *_build_zsh_rows(k), "        ;;"])
        for k in commands
    )
    return f"""\
#compdef tarsus
_tarsus() {{
    local -a commands
    commands=(
{described}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{cases}
    esac
}}
if [[ "$funcstack[1]" == "_tarsus" ]]; then
    _tarsus "$@"
else
    compdef _tarsus tarsus
fi
"""


def _build_zsh_rows(known: CommandWords) -> list[str]:
    """Build the arguments of zsh's `_arguments` for one command."""
    rows = []
    for option in known.options:
        action = f"({' '.join(option.choices)})" if option.choices else ""
        if option.file or not action:
            action = "_files" if option.file else " "
            if option.choices:
                names = " ".join(option.choices)
                action = f"{{_alternative 'names:name:({names})' 'files:file:_files'}}"
        value = f":{_colon_pair(option.value, '')[:-1]}:{action}" if option.value else ""
        if not option.flags:
            rows.append(_quote(f"*{value}"))
        rows += [
            _quote(f"*{flag}[{_remove_special(option.about)}]{value}") for flag in option.flags
        ]
    rows.append(_quote("--help[Show the help.]"))
    return [f"            {row} \\" for row in rows[:-1]] + [f"            {rows[-1]}"]


def fish_script(commands: Sequence[CommandWords]) -> str:
    """Build one fish line for every command and option."""
    rows = ["complete -c tarsus -f"]
    for known in commands:
        about = _quote(known.summary)
        rows.append(f"complete -c tarsus -n __fish_use_subcommand -a {known.name} -d {about}")
    for known in commands:
        start = f"complete -c tarsus -n '__fish_seen_subcommand_from {known.name}'"
        for option in known.options:
            names = "".join(
                f" -{'l' if flag.startswith('--') else 's'} {flag.lstrip('-')}"
                for flag in option.flags
            )
            takes = "" if not option.value else " -r" if option.flags else ""
            files = " -F" if option.file else ""
            values = f" -a '{' '.join(option.choices)}'" if option.choices else ""
            about = f" -d {_quote(_remove_special(option.about))}" if option.flags else ""
            rows.append(f"{start}{names}{takes}{files}{values}{about}")
    return "\n".join(rows) + "\n"


def _quote(text: str) -> str:
    """Quote a text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _colon_pair(name: str, about: str) -> str:
    return f"{name.replace(':', chr(92) + ':')}:{about}"


def _remove_special(text: str) -> str:
    """Remove the characters that are special in zsh from a description."""
    return text.replace("[", "(").replace("]", ")").replace(":", ";").replace("'", "")


SCRIPTS: dict[str, Callable[[Sequence[CommandWords]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
