# Sources of cubin/.
