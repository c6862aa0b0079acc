"""./jw options: the allocator's options, printed by the library itself from the table that its parser uses."""

import ctypes
import os

import flavours


def run(_arguments) -> int:
    library = ctypes.CDLL(str(flavours.build("release") / "libjwmalloc.so"))
    writer = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
    library.jw_options_print(writer(lambda _, text, length: os.write(1, text[:length]) and None), None)
    return 0


def add_command(commands) -> None:
    text = "list the allocator's options with their meaning, unit, default and range"
    commands.add_parser("options", help=text, description=text[0].upper() + text[1:] + ".").set_defaults(run=run)
