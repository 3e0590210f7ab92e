# Sources of recorder/: the reader. What writes the record is the agent's.
libcudatrap_a_SOURCES += src/recorder/index.c src/recorder/names.c src/recorder/open.c src/recorder/recorder.h src/recorder/recorder_priv.h
