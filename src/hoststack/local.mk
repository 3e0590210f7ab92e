# Sources of hoststack/.
