"""The stores behind the ports: SQL rows, sha-named files, and their in-memory twins.

Nothing is imported here, so that who opens files does not load a database's libraries.
"""
