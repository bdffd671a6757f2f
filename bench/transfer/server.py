# SPDX-License-Identifier: Apache-2.0
"""nginx, set as Debian sets it, serving the images on 127.0.0.1; to clients of registries it looks like one."""

import os
import socket
import subprocess
import time

import process

CONFIG = """
daemon off;
user root;
worker_processes auto;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  default_type application/octet-stream;
  server {{
    listen 127.0.0.1:{port};
    root {root};
    location = /v2/ {{ return 200 "{{}}"; }}
    location ~ ^/v2/.*/manifests/ {{ default_type application/vnd.oci.image.manifest.v1+json; }}
  }}
}}
"""
START_S = 20


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as made:
        return made.getsockname()[1]


class Server:

    def __init__(self, folder, root):
        self.port = free_port()
        os.makedirs(folder)
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(dir=folder, port=self.port, root=root))
        self.process = subprocess.Popen(["nginx", "-c", config, "-e", f"{folder}/error.log"],
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        self.pid_file = process.record("nginx", self.process.pid)
        self._wait()

    def _wait(self):
        deadline = time.monotonic() + START_S
        while True:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("nginx did not start")
            time.sleep(0.02)

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def reference(self, repository):
        return f"docker://127.0.0.1:{self.port}/{repository}:latest"

    def stop(self):
        self.process.terminate()
        self.process.wait()
        process.forget(self.pid_file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
