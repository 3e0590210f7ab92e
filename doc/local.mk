# Manual pages, schema, recipes.
dist_pkgdata_DATA += doc/incident.schema.json
