# Sources of cli/.
