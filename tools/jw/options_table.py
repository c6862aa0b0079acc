"""The tables of options in the documents, from src/config/options.def; `./jw options` prints the same rows."""

import re
import textwrap

from orders import ROOT

OPTIONS = ROOT / "src/config/options.def"
PARSER = ROOT / "src/config/options.c"
WIDTH = 120
ROW = re.compile(
    r'OPTION\((?P<kind>\w+), (?P<name>\w+), (?P<default>[^,]+), (?P<least>[^,]+), (?P<most>[^,]+), "(?P<unit>[^"]*)",'
    r'\s*"(?P<meaning>[^"]*)"\)'
)


def number(text: str) -> int:
    """Of a decimal, or one that is shifted left."""
    value, _, shift = re.sub(r"[ul]+\b", "", text).partition("<<")
    return int(value) << int(shift or 0)


def size(text: str) -> str:
    """With the largest suffix that leaves a whole number."""
    value, step = number(text), 0
    while value and value % 1024 == 0 and step < 4:
        value, step = value // 1024, step + 1
    return f"{value}{' KMGT'[step].strip()}"


def cells(row: re.Match) -> list[str]:
    """Name, default, range, unit, meaning."""
    kind, shown = row["kind"], size if row["kind"] == "SIZE" else str
    default, bounds, unit = shown(row["default"]), "", row["unit"]
    if kind == "BOOL":
        default, bounds, unit = ("false", "true")[number(row["default"])], "true|false", "-"
    elif kind == "CHOICE":  # its constant ends with the choice's name
        default, bounds, unit = row["default"].split("_")[-1].lower(), unit, "-"
        assert default in bounds.split("|"), f"{OPTIONS}: {row['name']} has the default {default}"
    else:
        bounds = f"{shown(str(number(row['least'])))}..{shown(str(number(row['most'])))}"
    return [row["name"], default, bounds, unit, row["meaning"]]


def rows() -> tuple[list[list[str]], list[list[str]]]:
    """Of the plain build, and of the hardened build only."""
    plain, _, hardened = OPTIONS.read_text().partition("\n#else\n")
    assert plain.count("#if ") == 1 and "\n#if !JW_SECURE\n" in plain, f"{OPTIONS}: one choice is known"
    path = re.search(r'"(where statistics[^"]*)\\n"', PARSER.read_text())[1]
    plain_rows = [cells(row) for row in ROW.finditer(plain)]
    plain_rows.append(["stats_file", "-", "a path", "-", path])
    return plain_rows, [cells(row) for row in ROW.finditer(hardened)]


def table(shown: list[list[str]]) -> str:
    """Aligned; a meaning that is too long for its line goes on in the next one."""
    shown = [["name", "default", "range", "unit", "meaning"], *shown]
    widths = [max(len(row[column]) for row in shown) + 2 for column in range(4)]
    indent, lines = 4 + sum(widths), []
    for row in shown:
        first, *others = textwrap.wrap(row[4], WIDTH - indent)
        lines.append(" " * 4 + "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + first)
        lines += [" " * indent + other for other in others]
    return "\n".join(lines)


def parts() -> tuple[str, str]:
    """Of docs/options.md, and of docs/hardening.md."""
    plain, hardened = rows()
    return table(plain), table(hardened)
