# Manual pages, schema, recipes.
dist_man_MANS += doc/cudatrap.1 doc/cudatrap-shell.1 doc/cudatrap-gdb.7
dist_doc_DATA += doc/ARCHITECTURE.md
dist_pkgdata_DATA += doc/incident.schema.json
