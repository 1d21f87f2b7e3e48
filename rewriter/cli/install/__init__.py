"""How retune is built and installed: pages and compiled modules as files of a wheel.

backend    The build backend of pyproject.toml: setuptools, which finds them made
compiling  Compiles the hottest modules, where a compiler and Python's headers are
"""
