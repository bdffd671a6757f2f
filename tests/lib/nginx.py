# SPDX-License-Identifier: Apache-2.0
"""A private nginx: plain and TLS, with and without a password.

    with Nginx(tmp_path, certificate) as nginx:
        nginx.write("disk.img", data)
        probe(nginx.url("/disk.img"))

/            the folder, with ranges
/private/    the same for user "me", password "s3cret:ü"
/packed/     the same, packed by gzip whether or not it was asked for
/whole/      the same, without ranges
/dated/      the same, with Last-Modified and without ETag
/undated/    the same, with neither
/put/        takes files by PUT, also from user "me" only: /put/private/
"""

import os
import socket
import subprocess
import time

import process

USER, PASSWORD = "me", "s3cret:ü"

CONFIG = """
daemon off;
master_process off;
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/error.log info;
events {{ worker_connections 256; }}
http {{
  access_log {dir}/access.log;
  client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  default_type application/octet-stream;
  sendfile on;
  server {{
    listen 127.0.0.1:{plain};
    listen 127.0.0.1:{tls} ssl;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    root {dir}/www;
    location /private/ {{
      alias {dir}/www/;
      auth_basic private;
      auth_basic_user_file {dir}/htpasswd;
    }}
    location /packed/ {{
      alias {dir}/www/;
      gzip on;
      gzip_types *;
      gzip_http_version 1.0;
      gzip_proxied any;
    }}
    location /dated/ {{
      alias {dir}/www/;
      etag off;
    }}
    location /undated/ {{
      alias {dir}/www/;
      etag off;
      add_header Last-Modified "";
    }}
    location /whole/ {{
      alias {dir}/www/;
      max_ranges 0;
    }}
    location /put/ {{
      alias {dir}/put/;
      dav_methods PUT DELETE;
      create_full_put_path on;
      client_max_body_size 0;
      location /put/private/ {{
        alias {dir}/put/private/;
        auth_basic private;
        auth_basic_user_file {dir}/htpasswd;
      }}
    }}
  }}
}}
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [made.getsockname()[1] for made in sockets]
    for made in sockets:
        made.close()
    return ports


class Nginx:

    def __init__(self, folder, certificate):
        self.dir = str(folder)
        self.plain, self.tls = free_ports(2)
        os.makedirs(os.path.join(self.dir, "www"))
        os.makedirs(os.path.join(self.dir, "put"))
        with open(self._path("nginx.conf"), "w", encoding="utf-8") as config:
            config.write(
                CONFIG.format(dir=self.dir,
                              plain=self.plain,
                              tls=self.tls,
                              certificate=certificate[0],
                              key=certificate[1]))
        hashed = subprocess.run(["openssl", "passwd", "-apr1", PASSWORD],
                                check=True,
                                capture_output=True,
                                text=True)
        with open(self._path("htpasswd"), "w", encoding="utf-8") as passwords:
            passwords.write(f"{USER}:{hashed.stdout.strip()}\n")
        with open(self._path("nginx.out"), "wb") as log:
            self.process = subprocess.Popen(
                ["nginx", "-c", self._path("nginx.conf"), "-p", self.dir],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True)
        self.pid_file = process.record(f"nginx.{self.process.pid}", self.process.pid)
        self._wait()

    def _path(self, name):
        return os.path.join(self.dir, name)

    def _wait(self):
        deadline = time.monotonic() + 20
        while True:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", self.plain)) == 0:
                    return
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                with open(self._path("nginx.out"), encoding="utf-8") as log:
                    raise RuntimeError(f"nginx did not start: {log.read()}")
            time.sleep(0.02)

    def url(self, path, tls=False, host="127.0.0.1"):
        return f"https://{host}:{self.tls}{path}" if tls else f"http://{host}:{self.plain}{path}"

    def write(self, name, data, modified_s=None):
        """modified_s: what its date is to be."""
        path = os.path.join(self.dir, "www", name)
        with open(path, "wb") as file:
            file.write(data)
        if modified_s is not None:
            os.utime(path, (modified_s, modified_s))

    def put_path(self, name):
        """Where a file that was put to /put/ lies."""
        return os.path.join(self.dir, "put", name)

    def stop(self):
        self.process.kill()
        self.process.wait()
        process.forget(self.pid_file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
