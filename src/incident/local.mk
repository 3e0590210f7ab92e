# Sources of incident/.
libcudatrap_a_SOURCES += \
	src/incident/coordinates.h src/incident/fields.c src/incident/frame.c src/incident/frame.h src/incident/incident.h \
	src/incident/incident_priv.h src/incident/json_read.c src/incident/json_values.c \
	src/incident/json_values.h src/incident/json_write.c src/incident/launch.h src/incident/model.c src/incident/runs.c src/incident/signature.c
