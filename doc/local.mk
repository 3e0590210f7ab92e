# Manual pages, schema, recipes.
dist_man_MANS += doc/cudatrap.1 doc/cudatrap-shell.1 doc/cudatrap-gdb.7
dist_doc_DATA += doc/ARCHITECTURE.md doc/tutorial.md
dist_doc_DATA += doc/signature.md
dist_doc_DATA += doc/performance.md
dist_pkgdata_DATA += doc/incident.schema.json

recipesdir = $(docdir)/recipes
dist_recipes_DATA = doc/recipes/ci-github.md doc/recipes/ci-gitlab.md doc/recipes/jupyter.md doc/recipes/kubernetes.md doc/recipes/lightning.md doc/recipes/pytest.md doc/recipes/ray.md doc/recipes/slurm.md doc/recipes/torchrun.md
