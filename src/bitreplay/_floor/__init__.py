"""The floor that every room stands on: checks of arguments, seeds, threads, devices, files and locks, each once.

Nothing here knows of bits or classes. It is for the package itself; users meet it as error messages.
"""
