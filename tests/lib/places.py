# SPDX-License-Identifier: Apache-2.0
"""Where transfers come from and go to: files, pipes, a web server, an S3 store."""

import os
import shutil

BUCKET = "images"
# How a source says where the file is; see Places.offer().
SOURCES = ("file", "pipe", "http", "http-whole", "https", "s3")
SINKS = ("file", "pipe", "http", "https", "s3")


class Places:

    def __init__(self, s3, nginx):
        self.s3 = s3
        self.nginx = nginx

    def offer(self, kind, path):
        """Puts a file where `kind` of source finds it: the URL, and flags. A pipe reads from the path."""
        name = os.path.basename(path)
        if kind == "file":
            return path, []
        if kind == "pipe":
            return "-", []
        if kind == "s3":
            self.s3.upload_file(str(path), BUCKET, name)
            return f"s3://{BUCKET}/{name}", ["--allow-local-addresses"]
        target = os.path.join(self.nginx.dir, "www", name)
        shutil.copyfile(path, target)
        return self._web(kind, f"/whole/{name}" if kind == "http-whole" else f"/{name}")

    def take_back(self, kind, path):
        name = os.path.basename(path)
        if kind == "s3":
            self.s3.delete_object(Bucket=BUCKET, Key=name)
        elif kind.startswith("http"):
            os.unlink(os.path.join(self.nginx.dir, "www", name))

    def destination(self, kind, path):
        """The URL of a destination, and flags; collect() brings what came there to the path."""
        name = os.path.basename(path)
        if kind == "file":
            return path, []
        if kind == "pipe":
            return "-", []
        if kind == "s3":
            return f"s3://{BUCKET}/{name}", ["--allow-local-addresses"]
        return self._web(kind, f"/put/{name}")

    def collect(self, kind, path):
        name = os.path.basename(path)
        if kind == "s3":
            self.s3.download_file(BUCKET, name, str(path))
            self.s3.delete_object(Bucket=BUCKET, Key=name)
        elif kind.startswith("http"):
            shutil.move(self.nginx.put_path(name), path)
        return path

    def _web(self, kind, path):
        is_tls = kind == "https"
        flags = ["--allow-local-addresses"]
        if is_tls:
            flags += ["--ca-bundle", self.nginx.authority.bundle]
        return self.nginx.url(path, tls=is_tls), flags
