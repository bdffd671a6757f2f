# SPDX-License-Identifier: Apache-2.0
"""kill -9 behind every single Ceph call of `imprint import`, with nobody else around to tidy up; then the
same import again: it ends as it would have, and leaves nothing of what was begun before.

As in test_every_call.py, the N in "killed behind the Nth call" grows until the process outlives it."""

import concurrent.futures
import contextlib
import random

import pytest
import rbd

import imprint as command
import volumes
from imprint import Imprint
from tenancy import Tenancy
from volumes import MIB

SIZE = 8 * MIB
NAME = "disk"
FEWEST = 15  # a scenario with fewer places to die at has not been tested


def content_of(seed):
    return random.Random(seed).randbytes(MIB)


class Scenario:
    """prepare() makes what is there before; `ends` is how the import ends, with what in the image."""

    arguments = ()
    ends = command.DONE

    def __init__(self, cluster, pool, folder):
        self.cluster = cluster
        self.pool = pool
        self.file = folder / "disk.raw"
        self.file.write_bytes(content_of("new") + bytes(SIZE - MIB))
        self.fault_file = folder / "fault"
        self.trace_file = folder / "trace"
        self.imprint = Imprint(cluster, {
            "IMPRINT_FAULT_FILE": str(self.fault_file),
            "IMPRINT_FAULT_TRACE": str(self.trace_file),
        }, has_sandbox=False, preset="faults")

    def run(self, number=0):
        """The import, killed behind its Nth call; how it ended, and the calls that it made."""
        self.trace_file.unlink(missing_ok=True)
        self.fault_file.write_text(f"{number}\n", encoding="ascii")
        done = self.imprint.run("import", self.file, f"{self.pool}/{NAME}", *self.arguments)
        calls = self.trace_file.read_text(encoding="utf-8").splitlines() if number else []
        return done, calls

    def prepare(self):
        pass

    def verify(self):
        with self.cluster.image(self.pool, NAME, read_only=True) as image:
            keys = dict(image.metadata_list())
            assert keys["imprint.ready"] == image.id() and "imprint.importing" not in keys
            assert image.size() == SIZE
            content = image.read(0, SIZE)
        assert content[:MIB] == content_of("new") and not any(content[MIB:])


class Fresh(Scenario):
    arguments = ("--snapshot", "base")


class Mismatch(Scenario):
    """What was written must go."""

    arguments = ("--checksum", "sha256:" + 64 * "0")
    ends = command.DAMAGED

    def verify(self):
        assert NAME not in self.cluster.images(self.pool)


class AnotherSource(Scenario):
    """An import of something else was killed before its last step: there is a temporary image, and even
    a snapshot."""

    def prepare(self):
        with contextlib.closing(self.begin(NAME)) as image:
            self.begin(f"imprint.spool.{image.id()}").close()

    def begin(self, name):
        """As the other import left it; open."""
        with self.cluster.ioctx(self.pool) as ioctx:
            rbd.RBD().create(ioctx, name, SIZE)
            image = rbd.Image(ioctx, name)
            image.write(content_of("old"), MIB)
            image.create_snap("base")
            image.metadata_set("imprint.importing", image.id())
            ioctx.write_full(f"imprint.checkpoint.{image.id()}", b"of another release")
        return image


SCENARIOS = [Fresh, Mismatch, AnotherSource]


def survive(scenario, number):
    """Kills behind the Nth call. Whether the process lived to the end, and its calls."""
    scenario.prepare()
    done, calls = scenario.run(number)
    assert done.status in (scenario.ends, -9), done
    lives = done.status != -9
    if not lives:
        again, _ = scenario.run()
        # it may be killed when all is done but its farewell
        is_there = again.status == command.EXISTS and scenario.ends == command.DONE
        assert again.status == scenario.ends or is_there, again
    scenario.verify()
    scenario.cluster.remove_image(scenario.pool, NAME)
    assert scenario.cluster.leftovers(scenario.pool) == []
    return lives, calls


def die_everywhere(scenario):
    deaths = []
    while True:
        number = len(deaths) + 1
        assert number < 300, "it does not come to an end"
        try:
            lives, calls = survive(scenario, number)
        except Exception as error:
            volumes.scrub(scenario.cluster, scenario.pool)
            raise AssertionError(f"killed behind call {number}, that after {deaths[-1:]}: {error}") from error
        if lives:
            return deaths
        deaths.append(calls[-1])


@pytest.fixture(scope="module")
def running(cluster, tmp_path_factory):
    """All scenarios side by side: what becomes of each."""
    made = []
    for number, kind in enumerate(SCENARIOS):
        folder = tmp_path_factory.mktemp(kind.__name__)
        place = Tenancy(cluster, f"import-{number}", folder)
        made.append(kind(cluster, place.pool, folder))
    threads = concurrent.futures.ThreadPoolExecutor(len(made))
    yield {type(scenario): threads.submit(die_everywhere, scenario) for scenario in made}
    threads.shutdown(cancel_futures=True)


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.__name__)
def test_killed_behind_every_call(running, kind):
    deaths = running[kind].result()
    print(f"{kind.__name__}: {len(deaths)} places, the last {deaths[-1:]}")
    assert len(deaths) >= FEWEST


def test_a_temporary_image_that_was_never_given_its_name(cluster, tmp_path):
    """Killed between the two steps of that."""
    place = Tenancy(cluster, "import-name", tmp_path)
    scenario = AnotherSource(cluster, place.pool, tmp_path)
    with contextlib.closing(scenario.begin(NAME)) as image:
        spool = f"imprint.spool.{image.id()}"
    with contextlib.closing(scenario.begin(f"imprint.begin.{spool}")) as image:
        image_id = image.id()
    with cluster.ioctx(place.pool) as ioctx:
        ioctx.write_full(f"rbd_id.{spool}", len(image_id).to_bytes(4, "little") + image_id.encode())
    assert scenario.run()[0].status == command.DONE
    scenario.verify()
    cluster.remove_image(place.pool, NAME)
    assert cluster.leftovers(place.pool) == []


def test_what_people_put_into_the_trash_stays_there(cluster, tmp_path):
    """An image of the same name that somebody may want back."""
    place = Tenancy(cluster, "import-trash", tmp_path)
    scenario = Fresh(cluster, place.pool, tmp_path)
    with cluster.ioctx(place.pool) as ioctx:
        rbd.RBD().create(ioctx, NAME, SIZE)
        rbd.RBD().trash_move(ioctx, NAME)
        assert scenario.run()[0].status == command.DONE
        assert [entry["name"] for entry in cluster.trash(place.pool)] == [NAME]
    scenario.verify()
    volumes.scrub(cluster, place.pool)
