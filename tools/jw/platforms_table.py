"""What ./jw docs writes into docs/platforms.md: the contracts of Android and OpenHarmony, from the tables in src."""

import re
import textwrap

import orders

PARAMETERS = orders.ROOT / "src/api/mallopt.def"
DISPATCH = orders.ROOT / "src/api/dispatch.def"
CONTROLS = orders.ROOT / "src/core/host_controls.def"
COLUMNS = 120


def values(text: str) -> str:
    """Of VALUES(from, to), or NEVER."""
    if text == "NEVER":
        return "none"
    least, most = re.fullmatch(r"VALUES\((\w+), (\w+)\)", text).groups()
    if most == "INT_MAX":
        return f"{least} and above"
    return least if least == most else f"{least} to {most}"


def parameters() -> str:
    text = re.sub(r"/\*.*?\*/", "", PARAMETERS.read_text(), flags=re.S)
    accepted = r"(NEVER|VALUES\([^)]*\))"
    form = rf'(ACTS|SAYS)\((\w+), (\w+), (-\d+), (?:{accepted}, {accepted}, )?"([^"]*)",\s*"([^"]*)"\)'
    rows = []
    for _, platform, name, code, plain, hardened, meaning, ours in re.findall(form, text):
        answers = f"{values(plain)}; hardened: {values(hardened)}" if plain else "done"
        row = f"- {platform}, {code}, `{name}`: {meaning}. *Here*: {ours}. *1 for*: {answers}."
        rows += textwrap.wrap(row, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(rows)


def dispatch() -> str:
    text = re.sub(r"/\*.*?\*/", "", DISPATCH.read_text(), flags=re.S)
    rows = ["| platform | entry | served by | remark |", "| --- | --- | --- | --- |"]
    for _, platform, name, ours, remark in re.findall(r'(ENTRY|LACKS)\((\w+), (\w+), (?:(\w+), )?"([^"]*)"\)', text):
        end = f" | {f'`{ours}`' if ours else 'no function'} | {remark} |"
        joined = rows[-1].removesuffix(end) + f", `{name}`" + end
        if not ours and rows[-1].endswith(end) and len(joined) <= COLUMNS:
            rows[-1] = joined  # with those before it, which nothing serves either
        else:
            rows.append(f"| {platform} | `{name}`{end}")
    return "\n".join(rows)


def controls() -> str:
    text = re.sub(r"/\*.*?\*/", "", CONTROLS.read_text(), flags=re.S)
    rows = []
    form = r'(CONTROL|WITHOUT)\((\w+), (?:(\w+),\s*)?"([^"]*)",\s*"([^"]*)"(?:,\s*"([^"]*)")?\)'
    for _, name, ours, meaning, plain, hardened in re.findall(form, text):
        answers = f"`{ours}`. *Plain core*: {plain}. *Hardened*: {hardened}."
        served = answers if ours else f"not there. *Instead*: {plain}."
        row = f"- `{name}`: {meaning}. *Here*: {served}"
        rows += textwrap.wrap(row, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(rows)


def parts() -> dict[str, str]:
    return {"parameters": parameters(), "dispatch": dispatch(), "controls": controls()}
