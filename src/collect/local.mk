# Sources of collect/.
