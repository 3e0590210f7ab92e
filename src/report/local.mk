# Sources of report/.
