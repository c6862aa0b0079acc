"""./jw options: the allocator's options, printed by the library itself from the table that its parser uses."""

import ctypes

import flavours


def run(_arguments) -> int:
    library = ctypes.CDLL(str(flavours.build("release") / "libjwmalloc.so"))
    library.jw_options_print(1)
    return 0


def add_command(commands) -> None:
    text = "list the allocator's options with their meaning, unit, default and range"
    commands.add_parser("options", help=text, description=text[0].upper() + text[1:] + ".").set_defaults(run=run)
