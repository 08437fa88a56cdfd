#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion of command lines. completion_test.py BUILD_FOLDER [unittest arguments]; needs BUILD_FOLDER/wharf."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def run(*arguments, program=WHARF, env=None):
    done = subprocess.run([program, *arguments], env={**ENV, **(env or {})}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


def complete(*words, **more):
    code, lines, errors = run("__complete", *words, **more)
    if code or errors:
        raise AssertionError(f"{words}: exit {code}: {errors}")
    return [line.split("\t")[0] for line in lines]


class Completion(unittest.TestCase):
    def test_commands_flags_and_words_are_completed(self):
        self.assertEqual(complete("unc"), ["uncordon"])
        self.assertEqual(complete("status", "work"), ["workers", "workloads"])
        self.assertEqual(complete("status", "--out"), ["--output"])
        self.assertEqual(complete("status", "-o", ""), ["wide", "json", "yaml"])
        self.assertEqual(complete("explain", "-o", ""), ["json", "yaml"])
        self.assertEqual(complete("drain", "--policy", ""), ["finish", "move"])
        self.assertEqual(complete("help", "comp"), ["completion"])
        self.assertEqual(complete("help", "conf"), ["configuration"])
        self.assertEqual(complete("help", "configuration", "serve"), ["serve", "serve.address", "serve.socket", "serve.socketGroup", "serve.tls", "serve.tls.certFile", "serve.tls.keyFile"])
        self.assertEqual(complete("status", "--phase", "S"), ["Suspended", "Succeeded"])
        self.assertEqual(complete("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(complete("check", "--config", ""), [":files"])
        self.assertEqual(complete("adapter", ""), ["new", "test"])
        self.assertEqual(complete("adapter", "n"), ["new"])
        self.assertEqual(complete("adapter", "new", "sample", "--language", ""), ["c", "cpp", "rust"])
        self.assertEqual(complete("adapter", "new", "sample", "--crd", ""), [":files"])
        self.assertEqual(complete("adapter", "new", "--gen"), ["--generic"])
        self.assertEqual(complete("adapter", "test", "--obj"), ["--objects"])
        self.assertEqual(complete("adapter", "nothing", ""), [])
        self.assertEqual(complete("no-such-command", ""), [])

    def test_contexts_come_from_the_kubeconfig(self):
        with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as file:
            file.write("{contexts: [{name: kind-w1, context: {}}, {name: kind-w2, context: {}}, {name: prod, context: {}}]}")
            file.flush()
            self.assertEqual(complete("status", "--kubeconfig", file.name, "--context", "kind"), ["kind-w1", "kind-w2"])
            self.assertEqual(complete("status", "--context", "p", env={"KUBECONFIG": file.name}), ["prod"])

    def test_a_host_that_is_not_there_completes_nothing_and_says_nothing(self):
        for words in (["explain", "--server", "http://127.0.0.1:1", "job/"], ["cordon", "--server", "http://127.0.0.1:1", ""]):
            self.assertEqual(complete(*words), [])

    def test_kubectl_gets_its_directive(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "kubectl_complete-wharf")
            os.symlink(WHARF, program)
            self.assertEqual(run("unc", program=program)[1][-1], ":4")
            self.assertEqual(run("check", "--config", "", program=program)[1], [":0"])

    def test_each_shell_offers_what_wharf_offers(self):
        scripts = {
            "bash": 'source <(wharf completion bash); COMP_LINE="wharf unc"; COMP_POINT=9; COMP_WORDS=(wharf unc); COMP_CWORD=1; '
                    '_wharf; echo "${COMPREPLY[@]}"',
            "zsh": 'autoload -U compinit; compinit -D; source <(wharf completion zsh); '
                   '_describe() { print -r -- "${(P@)3}" }; words=(wharf unc); CURRENT=2; _wharf',
            "fish": "wharf completion fish | source; complete -C 'wharf unc'",
        }
        with tempfile.TemporaryDirectory() as home:
            env = {"PATH": f"{BUILD}:{ENV['PATH']}", "HOME": home}
            for shell, script in scripts.items():
                with self.subTest(shell=shell):
                    if not shutil.which(shell):
                        self.skipTest(f"{shell} is not installed")
                    code, lines, errors = run("-c", script, program=shutil.which(shell), env=env)
                    self.assertEqual(code, 0, errors)
                    self.assertIn("uncordon", " ".join(lines), errors)

    def test_an_unknown_shell_is_an_error_that_names_those_there_are(self):
        code, _, errors = run("completion", "tcsh")
        self.assertEqual(code, 2)
        self.assertIn('found "tcsh", expected bash, zsh or fish', errors)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
