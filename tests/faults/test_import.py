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
from fault_server import File, FaultServer
from imprint import Imprint
from tenancy import Tenancy
from volumes import MIB

SIZE = 8 * MIB
NAME = "disk"
FEWEST = 15  # a scenario with fewer places to die at has not been tested
UNTOLD = "imprint.import.untold"  # on an image whose import has not told its result
# The first call behind the one that makes an import's image ready: its checkpoint goes.
BEHIND_THE_END = {"IMPRINT_FAULT_ONLY": "rados_remove("}


def content_of(seed):
    return random.Random(seed).randbytes(MIB)


def has_told(done):
    return any(event["event"] == "done" for event in done.events)


class Scenario:
    """prepare() makes what is there before; `ends` is how the import ends, with what in the image."""

    arguments = ()
    snapshots = []
    ends = command.DONE

    def __init__(self, cluster, pool, folder):
        self.cluster = cluster
        self.pool = pool
        self.source = folder / "disk.raw"
        self.source.write_bytes(content_of("new") + bytes(SIZE - MIB))
        self.fault_file = folder / "fault"
        self.trace_file = folder / "trace"
        self.imprint = Imprint(cluster, {
            "IMPRINT_FAULT_FILE": str(self.fault_file),
            "IMPRINT_FAULT_TRACE": str(self.trace_file),
        }, has_sandbox=False, preset="faults")

    def run(self, number=0, name=NAME, source=None, arguments=None, **options):
        """The import, killed behind its Nth call; how it ended, and the calls that it made."""
        arguments = self.arguments if arguments is None else arguments
        self.trace_file.unlink(missing_ok=True)
        self.fault_file.write_text(f"{number}\n", encoding="ascii")
        done = self.imprint.run("import", source or self.source, f"{self.pool}/{name}", "--json", *arguments,
                                **options)
        calls = self.trace_file.read_text(encoding="utf-8").splitlines() if number else []
        return done, calls

    def prepare(self):
        pass

    def close(self):
        pass

    def keys(self, name=NAME):
        with self.cluster.image(self.pool, name, read_only=True) as image:
            return dict(image.metadata_list())

    def verify(self):
        with self.cluster.image(self.pool, NAME, read_only=True) as image:
            keys = dict(image.metadata_list())
            assert keys["imprint.ready"] == image.id() and "imprint.importing" not in keys
            assert UNTOLD not in keys
            assert [snap["name"] for snap in image.list_snaps()] == self.snapshots
            assert image.size() == SIZE
            content = image.read(0, SIZE)
        assert content[:MIB] == content_of("new") and not any(content[MIB:])


class Fresh(Scenario):
    arguments = ("--snapshot", "base")
    snapshots = ["base"]


class OverHttp(Fresh):
    arguments = (*Fresh.arguments, "--allow-local-addresses")

    def __init__(self, cluster, pool, folder):
        super().__init__(cluster, pool, folder)
        self.served = File()
        self.served.data = self.source.read_bytes()
        self.server = FaultServer(self.served.serve)
        self.server.connections_max = 10_000
        self.source = self.server.url()

    def close(self):
        self.server.stop()


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


SCENARIOS = [Fresh, OverHttp, Mismatch, AnotherSource]


def survive(scenario, number):
    """Kills behind the Nth call. Whether the process lived to the end, and its calls. The last call is
    behind the result, and makes it the last word: whoever has that has no reason to ask again."""
    scenario.prepare()
    done, calls = scenario.run(number)
    assert done.status in (scenario.ends, -9), done
    lives = done.status != -9
    if not lives:
        again, _ = scenario.run()
        assert again.status == (command.EXISTS if has_told(done) else scenario.ends), again
        if again.status == command.DONE:
            assert (again.result["format"], again.result["virtualSize"]) == ("raw", SIZE)
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
    for scenario in made:
        scenario.close()


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


# ---- killed when all is done but its farewell


@pytest.fixture(scope="module")
def place(cluster, tmp_path_factory):
    return Tenancy(cluster, "import-untold", tmp_path_factory.mktemp("untold"))


@pytest.fixture
def untold(cluster, place, tmp_path):
    """An import over HTTP that has made its image, and has not said so."""
    with contextlib.closing(OverHttp(cluster, place.pool, tmp_path)) as scenario:
        try:
            assert scenario.run(1, environment=BEHIND_THE_END)[0].status == -9
            assert UNTOLD in scenario.keys()
            yield scenario
        finally:
            volumes.scrub(cluster, place.pool)


def test_it_is_told_once(untold):
    told, _ = untold.run()
    assert told.status == command.DONE and told.result["fetched"] <= MIB, told
    assert (told.result["format"], told.result["virtualSize"]) == ("raw", SIZE)
    untold.verify()
    refused, _ = untold.run()
    assert refused.status == command.EXISTS and "exists already" in refused.stderr, refused
    untold.verify()


def check_refused(untold, **options):
    refused, _ = untold.run(**options)
    assert refused.status == command.EXISTS and "exists already" in refused.stderr, refused
    assert UNTOLD in untold.keys()


@pytest.mark.parametrize("asked", [
    (),
    ("--snapshot", "other"),
    ("--snapshot", "base", "--size", "16Mi"),
    ("--snapshot", "base", "--format", "raw"),
    ("--snapshot", "base", "--data-pool", "import-untold-data"),
    ("--snapshot", "base", "--digest"),
], ids=" ".join)
def test_who_asks_for_something_else_is_refused(untold, asked):
    """And whoever has not been told still is."""
    check_refused(untold, arguments=("--allow-local-addresses", *asked))
    assert untold.run()[0].status == command.DONE
    untold.verify()


def test_another_source_is_refused(untold):
    """Be it another file, or another version of the same."""
    check_refused(untold, source=untold.server.url("/other.img"))
    untold.served.etag = '"v2"'
    check_refused(untold)
    untold.served.etag = '"v1"'
    assert untold.run()[0].status == command.DONE
    untold.verify()


def test_a_clone_is_not_taken_for_its_parent(cluster, untold):
    """It has its parent's mark."""
    cluster.rbd("clone", "--rbd-default-clone-format", "2", f"{untold.pool}/{NAME}@base", f"{untold.pool}/clone")
    assert untold.keys("clone")[UNTOLD] == untold.keys()[UNTOLD]
    refused, _ = untold.run(name="clone")
    assert refused.status == command.EXISTS, refused
    cluster.remove_image(untold.pool, "clone")


def test_what_is_told_to_the_end_leaves_no_mark(cluster, place, tmp_path):
    """Nor does an import into an image that has one."""
    scenario = Fresh(cluster, place.pool, tmp_path)
    assert scenario.run()[0].status == command.DONE
    scenario.verify()
    assert scenario.run()[0].status == command.EXISTS
    with cluster.image(place.pool, NAME) as image:
        image.metadata_set(UNTOLD, f"{image.id()} of somebody else")
    assert scenario.run(arguments=("--existing",))[0].status == command.DONE
    scenario.verify()
    volumes.scrub(cluster, place.pool)


def test_a_pipe_is_not_known_again(cluster, place, tmp_path):
    scenario = Scenario(cluster, place.pool, tmp_path)
    content = scenario.source.read_bytes()
    assert scenario.run(1, source="-", input=content, environment=BEHIND_THE_END)[0].status == -9
    assert scenario.run(source="-", input=content)[0].status == command.EXISTS
    scenario.verify()
    volumes.scrub(cluster, place.pool)
