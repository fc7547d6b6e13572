"""The foundation of all packages: argument checks, seeds, threads, devices, files and locks, each implemented once.

Nothing here knows about bits or classes. It is for the package itself; users only see its error messages.
"""
