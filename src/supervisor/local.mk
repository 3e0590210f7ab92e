# Sources of supervisor/.
