import durable, remote
from lib import commit


def run():
    durable.run()
    remote.run()
    commit("Move journals and remote calls to targets of their own", """
ProcedureKitDurable has journals, remembered procedures and durable graphs, and
ProcedureKitRemote has calls, workers and LocalEngine, each with its guide and its
tests. Most programs need neither, and the compiler now checks that the core does not.

What these targets take of the core is `package`; nothing becomes public. ProcedureCoder
and SHA256 move to ProcedureKitFoundation, which has the coder for JSON.""")
