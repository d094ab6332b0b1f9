"""Nodes train user sources that lie in a different folder on each node; nodes whose texts differ are refused by
name."""

import sys

import cluster
from programs import sets
from runs import begun_run, finish, on_one_machine, same, start_node, without
from sources import PATIENCE, SETS, keep_compiled_in, write_sources

cluster.isolate()


def start_apart(c, *words):
    """Two nodes; the second one does not see the first one's folder."""
    return [start_node(c, 0, *words), start_node(c, 1, *words, program=without(c.hosts[0].folder))]


def both_refuse(nodes, *words):
    """Both nodes end with exit code 2 and these words."""
    for ended in [node.finish(PATIENCE) for node in nodes]:
        assert ended.code == 2, ended
        for text in words:
            assert text in ended.err, f"no \"{text}\" in {ended}"


def other_folders(c):
    """nodes whose sources lie in different folders train and resume to the bits of one machine"""
    keep_compiled_in(c.folder)
    for folder in (*(host.folder for host in c.hosts), c.folder / "alone"):
        write_sources(folder)
    alone = on_one_machine(c.folder / "alone", *SETS)
    finish(start_apart(c, "run", *SETS, "--set", "epochs=2"))
    finish(start_apart(c, "resume", "small", *sets(epochs=4, sources='["own.cpp"]')))
    same(begun_run(c.hosts[0].folder), alone)


def other_texts(c):
    """a node whose source includes another text is refused and both nodes name the file, also when the run is
    resumed"""
    keep_compiled_in(c.folder)
    write_sources(c.hosts[0].folder)
    write_sources(c.hosts[1].folder, "// of host 2")
    both_refuse(start_apart(c, "run", *SETS), "source_texts.own.h is ")
    assert not (c.hosts[0].folder / "results").exists()
    header = c.hosts[1].folder / "own.h"
    other = header.read_text()
    header.write_text((c.hosts[0].folder / "own.h").read_text())
    finish(start_apart(c, "run", *SETS, "--set", "epochs=2"))
    header.write_text(other)
    resumed = start_apart(c, "resume", "small", *sets(epochs=4, sources='["own.cpp"]'))
    both_refuse(resumed, "own.h: differs on this machine from the one on node 0")
    run = begun_run(c.hosts[0].folder)
    assert run.summary()["status"] == "completed" and len(run.epochs()) == 2, run.summary()


sys.exit(cluster.check([other_folders, other_texts]))
