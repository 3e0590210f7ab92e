# Sources of shell/.
