# Sources of cudagdb/.
