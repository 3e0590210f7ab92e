# Sources of render/.
