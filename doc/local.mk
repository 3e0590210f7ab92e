# Manual pages, schema, recipes.
