# SPDX-License-Identifier: Apache-2.0
"""A real registry (Debian's docker-registry, by tests/env/registry.sh), and the programs that talk to
it: ours, skopeo and buildah. The foreign ones get a configuration of their own: nothing of this
machine's is read or written."""

import os
import subprocess
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
REGISTRY_SH = os.path.join(ROOT, "tests", "env", "registry.sh")
USER, PASSWORD = "tester", "wonder land"  # as registry.sh sets them
SERVICE, ISSUER = "imprint-test", "imprint-token"


class Failure(Exception):
    """A program that failed; the text is what it said."""


def run(*command, env=None, timeout_s=120):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise Failure(done.stderr.decode(errors="replace").strip())
    return done.stdout


class Registry:
    """A running registry in a folder of its own; `wishes` as registry.sh takes them."""

    def __init__(self, folder, *wishes):
        self.folder = str(folder)
        self.is_tls = "tls" in wishes
        run(REGISTRY_SH, "registry_up", self.folder, *wishes)
        with open(os.path.join(self.folder, "host"), encoding="ascii") as file:
            self.host = file.read().strip()

    @property
    def ca(self):
        return os.path.join(self.folder, "ca.pem")

    def url(self, name):
        return f"docker://{self.host}/{name}"

    def close(self):
        run(REGISTRY_SH, "registry_down", self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tool(command, *arguments, insecure=True, **options):
    """Runs registry_tool; options are its flags with '_' for '-'. Returns what it printed, raises
    Failure with what it complained of."""
    program = os.path.join(ROOT, "build", os.environ.get("PRESET", "asan"), "tests", "registry",
                           "registry_tool")
    flags = ["--insecure"] if insecure else []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        flags += [flag] if value is True else [flag, str(value)]
    return run(program, *flags, command, *arguments)


def info(url, **options):
    """What `registry_tool info` says, as a dict; the environment as a dict in it."""
    facts = {"env": {}}
    for line in tool("info", url, **options).decode().splitlines():
        name, value = line.split(" ", 1)
        if name == "env":
            key, text = value.split("=", 1)
            facts["env"][key] = text
        else:
            facts[name] = int(value) if value.isdigit() else value
    return facts


def read_in_steps(url, tmp_path, step, **options):
    """The disk, read by one process after the other, each from where the last one stopped."""
    state = tmp_path / "state"
    pieces = []
    while (not pieces or pieces[-1]) and len(pieces) < 100:
        pieces.append(tool("cat", url, stop_after=step, state=state, **options))
    return b"".join(pieces), len(pieces)


class Foreign:
    """skopeo and buildah with all their files below one folder."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.makedirs(os.path.join(self.folder, "home"), exist_ok=True)
        os.makedirs(os.path.join(self.folder, "tmp"), exist_ok=True)
        self.policy = self._write("policy.json",
                                  '{"default": [{"type": "insecureAcceptAnything"}]}')
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.path.join(self.folder, "home"),
            "TMPDIR": os.path.join(self.folder, "tmp"),
            "XDG_RUNTIME_DIR": os.path.join(self.folder, "tmp"),
            "REGISTRY_AUTH_FILE": self._write("auth.json", "{}"),
            "CONTAINERS_REGISTRIES_CONF": self._write("registries.conf", ""),
            "CONTAINERS_CONF": self._write("containers.conf", ""),
            "BUILDAH_ISOLATION": "chroot",
            "XDG_DATA_HOME": os.path.join(self.folder, "data"),
            "_CONTAINERS_ROOTLESS_UID": "1000",  # or root's caches would be the system's
        }

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def skopeo(self, *arguments):
        """Each run with an empty cache of its own: else what an earlier one pushed is used again,
        however it was compressed."""
        with tempfile.TemporaryDirectory(dir=self.folder) as cache:
            return run("skopeo", "--policy", self.policy, *arguments,
                       env={**self.env, "XDG_DATA_HOME": cache})

    def copy(self, source, destination, *flags):
        return self.skopeo("copy", "--quiet", "--src-tls-verify=false", "--dest-tls-verify=false",
                           *flags, source, destination)

    def buildah(self, command, *arguments):
        policy = ["--signature-policy", self.policy] if command in ("from", "commit", "push") else []
        return run("buildah", "--root", os.path.join(self.folder, "storage"), "--runroot",
                   os.path.join(self.folder, "run"), "--storage-driver", "vfs", command, *policy,
                   *arguments, env=self.env).decode().strip()
