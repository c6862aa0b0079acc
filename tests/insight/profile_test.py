"""profile_test.py - what ./jw profile says of functions that allocate known numbers of known sizes (sites.c).

usage: profile_test.py BUILD SITES PLUGIN [LIBRARY]    with LIBRARY, an allocator, preloaded behind the profiler

Each object of s bytes is a sample with probability p = 1 - exp(-s / rate), and counts as 1 / p. So a sum over n of them
has the standard deviation sqrt(n (1 - p) / p) objects. The bound is six of these: one run in 10^9 is outside. Threads
that allocate in a fixed order also choose the same bytes each time, by --seed."""

import gzip
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD, SITES, PLUGIN, *LIBRARY = sys.argv[1:]

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: E402

import pprof  # noqa: E402

RATE = 4096
WITH = ["--lib", LIBRARY[0]] if LIBRARY else []
# pprof's messages, as its profile.proto numbers them: i int64, u uint64, b bool, capital letters: repeated.
PROTO = {
    "ValueType": "type=1i unit=2i",
    "Label": "key=1i str=2i num=3i num_unit=4i",
    "Sample": "location_id=1U value=2I label=3:Label",
    "Mapping": "id=1u memory_start=2u memory_limit=3u file_offset=4u filename=5i build_id=6i has_functions=7b",
    "Line": "function_id=1u line=2i",
    "Location": "id=1u mapping_id=2u address=3u line=4:Line",
    "Function": "id=1u name=2i system_name=3i filename=4i start_line=5i",
    "Profile": "sample_type=1:ValueType sample=2:Sample mapping=3:Mapping location=4:Location function=5:Function "
    "string_table=6S time_nanos=9i duration_nanos=10i period_type=11.ValueType period=12i comment=13I "
    "default_sample_type=14i",
}


def profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    kinds = {"i": "INT64", "u": "UINT64", "b": "BOOL", "s": "STRING"}
    for name, fields in PROTO.items():
        message = file.message_type.add(name=name)
        for text in fields.split():
            field, tag, kind = re.fullmatch(r"(\w+)=(\d+)(\w|[:.]\w+)", text).groups()
            said = message.field.add(name=field, number=int(tag))
            said.label = said.LABEL_REPEATED if kind[0] in ":IUS" else said.LABEL_OPTIONAL
            if len(kind) > 1:
                said.type, said.type_name = said.TYPE_MESSAGE, f".p.{kind[1:]}"
            else:
                said.type = getattr(said, f"TYPE_{kinds[kind.lower()]}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


@dataclass
class Read:
    """A profile by protobuf's parser: the sums by function, where each function counts once in a stack."""

    message: object
    functions: dict[str, Counter]  # of each sample type
    mappings: list

    def said(self, kind: str, site: str) -> int:
        return self.functions[kind][site]


def read(path: Path) -> Read:
    profile = profile_class().FromString(gzip.decompress(path.read_bytes()))
    text = profile.string_table
    kinds = [(text[kind.type], text[kind.unit]) for kind in profile.sample_type]
    assert kinds == list(pprof.TYPES), kinds
    assert (text[profile.period_type.type], text[profile.period_type.unit]) == ("space", "bytes")
    names = {function.id: text[function.name] for function in profile.function}
    locations = {place.id: [names[line.function_id] for line in place.line] for place in profile.location}
    sums = {kind: Counter() for kind, _ in kinds}
    for sample in profile.sample:
        inside = {name for location in sample.location_id for name in locations[location]} | {"all"}
        for (kind, _), value in zip(kinds, sample.value, strict=True):
            for name in inside:
                sums[kind][name] += value
    mappings = [(text[m.filename], text[m.build_id], m.memory_start, m.memory_limit) for m in profile.mapping]
    return Read(profile, sums, mappings)


def children_of(path: Path) -> list[Path]:
    return sorted(path.parent.glob("a.*.pb.gz"))


class Profiling(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.pb.gz"

    def command(self, *words: object) -> list[str]:
        return [str(word) for word in (sys.executable, "-B", TOOLS, "--build", BUILD, "profile", *words)]

    def jw(self, *words: object, status: int = 0) -> str:
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def options(self, rate: int = RATE) -> list[object]:
        return ["-o", self.path, "--symbolize", "--rate", rate, "--seed", 5, *WITH]

    def profile(self, *program: object, status: int = 0, rate: int = RATE) -> Read:
        self.said = self.jw(*self.options(rate), "--", SITES, *program, status=status)
        found = read(self.path)
        self.assertEqual(found.message.period, rate)
        return found

    def check(self, found: Read, kind: str, site: str, *objects: tuple[int, int]) -> None:
        """That many objects of that size, within six standard deviations."""
        for what, unit in (("objects", lambda size: 1), ("space", lambda size: size)):
            true = sum(count * unit(size) for count, size in objects)
            variance = sum(
                count * math.exp(-size / RATE) / -math.expm1(-size / RATE) * unit(size) ** 2 for count, size in objects
            )
            said = found.said(f"{kind}_{what}", site)
            self.assertLessEqual(abs(said - true), 6 * math.sqrt(variance) + 100 * (variance > 0), f"{site}: {said}")

    def test_sites(self) -> None:
        found = self.profile("plain")
        self.assertNotIn("dropped", self.said)
        self.check(found, "alloc", "site_small", (1000000, 16))
        for site in ("malloc", "calloc", "posix", "new"):
            self.check(found, "alloc", f"site_{site}", (50000, 1000))
        self.check(found, "alloc", "site_aligned", (50000, 1024))
        self.check(found, "alloc", "site_realloc", (50000, 1000), (50000, 2000))
        self.check(found, "alloc", "site_large", (300, 1000000))  # each one is a sample
        self.check(found, "alloc", "site_kept", (50000, 500))
        self.check(found, "inuse", "site_large", (200, 1000000))
        self.check(found, "inuse", "site_kept", (30000, 500))
        for site in ("small", "malloc", "calloc", "posix", "new", "aligned", "realloc"):
            self.assertEqual(found.said("alloc_space", f"site_{site}") > 0, True)
            self.assertEqual(found.said("inuse_space", f"site_{site}"), 0)
        self.assertEqual(found.said("alloc_space", "main"), found.said("alloc_space", "plain"))

    def test_a_program_whose_samples_are_all_a_librarys(self) -> None:
        """As Java's: its file is the first mapping all the same, because pprof names a profile by that."""
        library = pprof.Module(4096, 8192, 0, 4096, "ab", "/lib/l.so")
        process = pprof.Process(1, 0, 0, "/bin/program", {}, modules=[library])
        process.rows[64, ((5000, library),)][0] = 3
        self.path.write_bytes(gzip.compress(pprof.encode(process, RATE, {})))
        found = read(self.path)
        self.assertEqual([name for name, *_ in found.mappings], ["/bin/program", "/lib/l.so"])
        self.assertEqual([location.mapping_id for location in found.message.location], [2])

    def test_mappings_and_stacks(self) -> None:
        found = self.profile("plain")
        name, build_id, start, limit = found.mappings[0]
        self.assertEqual(Path(name).resolve(), Path(SITES).resolve())
        notes = subprocess.run(["readelf", "-n", SITES], capture_output=True, text=True, check=True).stdout
        self.assertEqual(build_id, re.search(r"Build ID: (\w+)", notes)[1])
        for location in found.message.location:
            if location.mapping_id == 1:
                self.assertTrue(start <= location.address < limit)
        self.assertFalse([name for name, *_ in found.mappings if "jwprofile" in name])

    def test_frames_of_changing_size(self) -> None:
        found = self.profile("holes")
        for site in ("site_even", "site_odd"):
            self.check(found, "alloc", site, (50000, 1000))
        self.check(found, "alloc", "main", (100000, 1000))

    @unittest.skipUnless(shutil.which("node"), "without node: no program whose parts have gaps between them")
    def test_a_program_with_gaps(self) -> None:
        work = "for (let i = 0; i < 200; i++) JSON.parse(JSON.stringify([...Array(1000).keys()]))"
        self.jw(*self.options()[:2], "--rate", RATE, *WITH, "--", "node", "-e", work)
        self.assertEqual(Path(read(self.path).mappings[0][0]).resolve(), Path(shutil.which("node")).resolve())

    @unittest.skipUnless(platform.machine() == "x86_64", "other processors' stacks are all unwound")
    def test_stacks_without_the_unwinder(self) -> None:
        """Those of functions that were seen before."""
        for mode in ("plain", "threads"):
            said = self.profile(mode).message
            (comment,) = (said.string_table[at] for at in said.comment if "unwinder" in said.string_table[at])
            self.assertIn(int(comment.split()[0]), range(1, 100))

    def test_threads(self) -> None:
        found = self.profile("threads")
        self.check(found, "alloc", "site_thread", (8 * 20000, 700))
        self.check(found, "inuse", "site_thread", (8 * 7500, 700))

    def check_child(self, how: str) -> None:
        found = self.profile(how)
        self.check(found, "alloc", "site_parent", (40000, 900))
        self.check(found, "inuse", "site_parent", (10000, 900))
        self.assertEqual(found.said("alloc_space", "site_child"), 0)
        (path,) = children_of(self.path)
        child = read(path)
        self.assertEqual(child.said("alloc_space", "site_parent"), 0)
        self.check(child, "inuse", "site_parent", (30000, 900))
        self.check(child, "alloc", "site_child", (40000, 900))
        self.check(child, "inuse", "site_child", (30000, 900))

    def test_fork(self) -> None:
        self.check_child("fork")

    def test_a_child_made_by_a_system_call(self) -> None:
        self.check_child("clone")

    def test_children_while_threads_take_samples(self) -> None:
        self.profile("crowd")
        children = [read(path) for path in children_of(self.path)]
        self.assertEqual(len(children), 10)
        for child in children:
            self.check(child, "alloc", "site_child", (1000, 900))
            self.assertEqual(child.said("inuse_space", "site_child"), 0)

    def test_exec_and_a_killed_program(self) -> None:
        """The last program has the name asked for, and what it had when it was killed is there."""
        last = self.profile("exec", status=137)
        self.check(last, "alloc", "site_kept", (50000, 500))
        self.check(last, "inuse", "site_kept", (30000, 500))
        self.assertEqual(last.said("alloc_space", "site_first"), 0)
        (path,) = children_of(self.path)
        self.check(read(path), "inuse", "site_first", (30000, 800))

    def test_a_program_that_ends_before_its_child(self) -> None:
        """The child has no sample yet when its parent ends."""
        script = f"(sleep 0.5; exec {SITES} killed) & exit 0"
        said = self.jw(*self.options(), "--", "sh", "-c", script)
        self.assertIn("further processes", said)
        found = [read(path) for path in children_of(self.path)]
        (child,) = (one for one in found if one.said("alloc_space", "site_kept"))
        self.check(child, "inuse", "site_kept", (30000, 500))

    def test_libraries_that_are_unloaded(self) -> None:
        paths = [self.folder / "one.so", self.folder / "two.so"]
        for path in paths:
            shutil.copy(PLUGIN, path)
            os.utime(path, (0, 0))
        with paths[1].open("ab") as file:
            file.write(b"\0")
        os.utime(paths[1], (0, 0))
        found = self.profile("plugins", *paths)
        self.check(found, "alloc", "plugin_work", (2 * 40000, 600))
        by_mapping = Counter()
        mapping_of = {location.id: location.mapping_id for location in found.message.location}
        for sample in found.message.sample:
            by_mapping[found.mappings[mapping_of[sample.location_id[0]] - 1][0]] += sample.value[0]
        deviation = math.sqrt(40000 * math.exp(-600 / RATE) / -math.expm1(-600 / RATE))
        for path in paths:
            self.assertLess(abs(by_mapping[str(path)] - 40000), 6 * deviation)

    def phases(self, *options: object):
        """A program that waits between its phases; gives a function that lets it go on to the next one."""
        command = self.command(*self.options(), *options, "--", SITES, "phases")
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        pid, phase = program.stdout.readline().split()
        self.assertEqual(phase, "begin")

        def go_on(phase: str) -> None:
            program.stdin.write("\n")
            program.stdin.flush()
            if phase:
                self.assertEqual(program.stdout.readline().split(), [pid, phase])
            else:
                self.assertEqual(program.wait(100), 0)

        return pid, go_on

    def test_off_and_on(self) -> None:
        pid, go_on = self.phases()
        go_on("first")
        self.jw("--off", pid)
        go_on("second")
        self.jw("--on", pid)
        go_on("third")
        go_on("")
        found = read(self.path)
        self.check(found, "alloc", "site_first", (40000, 800))
        self.assertEqual(found.said("inuse_space", "site_first"), 0)
        self.assertLessEqual(found.said("alloc_objects", "site_second"), 0)
        self.check(found, "alloc", "site_third", (40000, 800))
        self.check(found, "inuse", "site_third", (30000, 800))

    def test_begin_off(self) -> None:
        pid, go_on = self.phases("--begin-off")
        go_on("first")
        self.jw("--on", pid)
        go_on("second")
        self.jw("--off", pid)  # what was freed is seen, though
        go_on("third")
        go_on("")
        found = read(self.path)
        for site in ("site_first", "site_third"):
            self.assertEqual(found.said("alloc_space", site), 0)
        self.check(found, "inuse", "site_second", (30000, 800))

    def test_growth_between_two_moments(self) -> None:
        pid, go_on = self.phases()
        go_on("first")
        go_on("second")
        before, after = self.folder / "before.pb.gz", self.folder / "after.pb.gz"
        self.jw("--dump", pid, "-o", before, "--symbolize")
        go_on("third")
        self.jw("--dump", pid, "-o", after, "--symbolize")
        go_on("")
        self.check(read(before), "inuse", "site_first", (30000, 800))
        self.assertEqual(read(before).said("alloc_space", "site_third"), 0)
        self.check(read(after), "inuse", "site_third", (30000, 800))
        if not shutil.which("go"):
            self.skipTest("without go: pprof's own subtraction was not tested")
        top = self.pprof("-base", before, after)
        self.assertEqual(set(top), {"site_first", "site_third"})  # what did not change is not there
        self.assertLess(top["site_first"], 0)
        self.assertEqual(top["site_third"], read(after).said("inuse_space", "site_third"))

    def pprof(self, *words: object, kind: str = "inuse_space") -> dict[str, int]:
        """What pprof says of the program's functions, in bytes."""
        command = ["go", "tool", "pprof", "-top", "-unit=B", f"-sample_index={kind}", *words]
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=100,
            env=os.environ | {"PPROF_TMPDIR": str(self.folder)},
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines() if "site_" in line]
        return {line[5]: int(line[0].removesuffix("B")) for line in lines}

    @unittest.skipUnless(shutil.which("go"), "without go: pprof has not read a file")
    def test_pprof_finds_the_names_itself(self) -> None:
        command = ["-o", self.path, "--rate", RATE, "--seed", 5, *WITH, "--", SITES, "killed"]
        self.jw(*command, status=137)
        found = read(self.path)
        self.assertFalse(found.message.function)
        for kind in ("alloc_space", "inuse_space"):
            self.assertEqual(self.pprof(self.path, kind=kind), {"site_kept": found.said(kind, "all")})

    def test_the_default_interval_and_few_bytes(self) -> None:
        found = self.profile("killed", status=137, rate=512 << 10)
        self.assertLess(len(found.message.sample), 100)
        command = self.command("-o", self.path, "--", "true")
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, len(read(self.path).message.sample)), (0, 0))
        self.assertIn("no samples of the program itself", done.stderr)

    def test_messages(self) -> None:
        for words, said in (
            (["--dump", os.getpid(), "-o", self.path], "was not started by jw profile"),
            (["--rate", 0, "--", "true"], "--rate is from 1"),
            (["-o", self.folder / "no/a.pb.gz", "--", SITES, "killed"], "cannot be written: No such file"),
            (["-o", self.path, "--", "/no/program"], "/no/program: cannot be run"),
        ):
            self.assertIn(said, self.jw(*words, status=1))
        with subprocess.Popen(self.command("-o", self.path, "--", "true"), stderr=subprocess.DEVNULL) as program:
            self.assertEqual(program.wait(100), 0)
        self.assertEqual(list(Path("/dev/shm").glob(f"jw-profile-{program.pid}-*")), [])


unittest.main(argv=sys.argv[:1])
