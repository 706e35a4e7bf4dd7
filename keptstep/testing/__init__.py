"""Tools for tests of keptstep and of what others build on it.

``crash`` kills a tool or workflow at every boundary and judges what became of it. The modules
``conformance_*`` hold what every store has to do, ``invariants`` what holds at every moment.
``builders`` makes records, ``clock`` time that moves only when told to, ``damage`` broken
payloads. ``killpoints`` ends this process at a named point of the step protocol, and
``synctrace`` reads from a trace of system calls what a power cut would have lost.
"""
