# The Python package: a copy that `pip install PREFIX/share/cudatrap/python` takes, and that PYTHONPATH may name. It is put into no
# Python's own folder: which of several Pythons is the one that trains is not known here.
pythonpackagedir = $(pkgdatadir)/python/cudatrap
dist_pythonpackage_DATA = \
	python/cudatrap/__init__.py python/cudatrap/huggingface.py python/cudatrap/kernel.py python/cudatrap/lightning.py python/cudatrap/notebook.py \
	python/cudatrap/notes.py python/cudatrap/progress.py python/cudatrap/py.typed python/cudatrap/pytest_plugin.py
pythonprojectdir = $(pkgdatadir)/python
dist_pythonproject_DATA = python/build_wheel.py python/pyproject.toml
