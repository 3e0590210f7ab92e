# Sources of engine/.
