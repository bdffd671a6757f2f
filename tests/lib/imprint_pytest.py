# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin of every Python test: a live report of each case, and the shared fixtures.

File descriptor 3 is the person's screen; pytest's own output goes to a log."""

import faulthandler
import os
import tempfile
import threading

import pytest

import results
from ceph import Cluster
from controller import Controller

# A case that takes longer hangs, most likely in a call to Ceph, which no signal ends.
CASE_SECONDS = int(os.environ.get("CASE_SECONDS", "300"))


def pytest_configure(config):
    try:
        config.imprint_screen = os.fdopen(3, "w", encoding="utf-8")
    except OSError:  # pytest was run by hand
        config.imprint_screen = None


class Reporter:
    """Collects the phases of a case (setup, call, teardown) into one outcome."""

    def __init__(self, screen):
        self.screen = screen
        self.reports = []
        self.missed = None  # the first try of the case under way

    def pytest_runtest_logreport(self, report):
        self.reports.append(report)

    def pytest_runtest_logfinish(self, nodeid):
        reports, self.reports = self.reports, []
        failed = next((r for r in reports if r.failed), None)
        skipped = next((r for r in reports if r.skipped), None)
        missed = next((r for r in reports if r.outcome == "rerun"), None)
        if missed:  # there will be another try
            self.missed = missed
            return
        again, self.missed = self.missed, None
        seconds = sum(r.duration for r in reports)
        name = name_of(nodeid)
        if failed:
            first = f"--- the first try\n{output_of(again)}\n--- the second\n" if again else ""
            results.report("fail", name, seconds, reason_of(failed), first + output_of(failed), self.screen)
        elif skipped:
            reason = skipped.longrepr[2] if isinstance(skipped.longrepr, tuple) else ""
            results.report("skip", name, seconds, reason, "", self.screen)
        else:
            reason = f"at the second try; the first: {reason_of(again)}" if again else ""
            results.report("pass", name, seconds, reason, stream=self.screen)

    def pytest_collectreport(self, report):
        if report.failed:  # a file that does not even import
            results.report("fail", report.nodeid, None, "cannot be collected", str(report.longrepr),
                           self.screen)


def name_of(nodeid):
    return nodeid.removeprefix("tests/").replace(".py::", "::")


def reason_of(failed):
    crash = getattr(failed.longrepr, "reprcrash", None)
    return crash.message.splitlines()[0] if crash and crash.message else failed.when


def output_of(failed):
    sections = [f"--- {title}\n{text}" for title, text in failed.sections if text.strip()]
    return "\n".join([*sections, str(failed.longrepr)])


def pytest_collection_modifyitems(config, items):
    """Chooses those that the file $ONLY_CASES names, as they were reported."""
    if not os.environ.get("ONLY_CASES"):
        return
    with open(os.environ["ONLY_CASES"], encoding="utf-8") as file:
        wanted = set(file.read().split())
    others = [item for item in items if results.key_of(name_of(item.nodeid)) not in wanted]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)


def give_up(nodeid, screen):
    """Ends all of it: whatever hangs holds what the other cases need."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stacks:
        faulthandler.dump_traceback(file=stacks)
        stacks.seek(0)
        results.report("fail", name_of(nodeid), CASE_SECONDS, f"hangs: not over after {CASE_SECONDS} s",
                       stacks.read(), screen)
    os._exit(1)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    timer = threading.Timer(CASE_SECONDS, give_up, [item.nodeid, item.config.imprint_screen])
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    if session.config.imprint_screen:
        session.config.pluginmanager.register(Reporter(session.config.imprint_screen))


@pytest.fixture(scope="session")
def cluster():
    """The private Ceph that the group started; $CEPH_DIR is its folder."""
    with Cluster(os.environ["CEPH_DIR"]) as connected:
        yield connected


@pytest.fixture(scope="session")
def pool(cluster):
    """The pool that the group made for tests."""
    return os.environ.get("POOL", "imprint")


@pytest.fixture
def controller(cluster, tmp_path):
    """A running controller of this test's own, stopped after it."""
    with Controller(cluster.dir, workdir=tmp_path) as running:
        yield running


@pytest.fixture
def client(controller):
    """A CSI client of that controller."""
    with controller.client() as connected:
        yield connected
