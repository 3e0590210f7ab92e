# Sources of diagnose/.
