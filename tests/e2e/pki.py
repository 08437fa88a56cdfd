# SPDX-License-Identifier: Apache-2.0
"""Certificates, made by the openssl command: a CA, what it signs, and the key pair for service-account tokens."""
import os
import ssl
import subprocess


def _openssl(*args):
    done = subprocess.run(["openssl", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(args)}: {done.stderr}")


class Authority:
    """A CA in its own folder. It and what it signs are valid for so many days; `more` are further extensions of its own, `key` is
    how its key is made."""

    def __init__(self, folder, days=2, more=(), key=("ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
        self.folder, self.days = folder, str(days)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.certificate, self.key = self.path("ca.crt"), self.path("ca.key")
        _openssl("req", "-x509", "-newkey", *key, "-nodes", "-days", self.days,
                 "-subj", "/CN=e2e-ca", "-keyout", self.key, "-out", self.certificate,
                 *(part for each in ("keyUsage=critical,keyCertSign,cRLSign", *more) for part in ("-addext", each)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def key_in_pkcs1(self):
        """The path of its RSA key in the form that some programs expect."""
        _openssl("rsa", "-traditional", "-in", self.key, "-out", self.path("ca.pkcs1.key"))
        return self.path("ca.pkcs1.key")

    def issue(self, name, subject, extensions):
        """Makes <name>.crt and <name>.key."""
        config = self.path(name + ".ext")
        with open(config, "w", encoding="ascii") as file:
            file.write("\n".join(("basicConstraints=CA:FALSE", "keyUsage=critical,digitalSignature", *extensions)))
        key, request, certificate = (self.path(name + end) for end in (".key", ".csr", ".crt"))
        _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-subj", subject, "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-days", self.days,
                 "-set_serial", str(int.from_bytes(os.urandom(8), "big") >> 1), "-extfile", config,
                 "-out", certificate)
        return certificate, key

    def server(self, name="server"):
        return self.issue(name, "/CN=kube-apiserver", (
            "extendedKeyUsage=serverAuth", "subjectAltName=IP:127.0.0.1,DNS:localhost"))

    def server_context(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server(name))
        return context

    def client(self, name, user, group=None):
        subject = f"/O={group}/CN={user}" if group else f"/CN={user}"
        return self.issue(name, subject, ("extendedKeyUsage=clientAuth",))

    def token_keys(self):
        """The key pair that signs and checks service-account tokens."""
        private, public = self.path("sa.key"), self.path("sa.pub")
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private)
        _openssl("pkey", "-in", private, "-pubout", "-out", public)
        return private, public
