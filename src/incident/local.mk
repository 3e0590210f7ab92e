# Sources of incident/.
libcudatrap_a_SOURCES += src/incident/incident.h
