# Sources of agent/.
