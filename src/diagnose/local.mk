# Sources of diagnose/.
libcudatrap_a_SOURCES += \
	src/diagnose/assertdsa.c src/diagnose/asserthead.c src/diagnose/assertline.c src/diagnose/diagnose.h src/diagnose/diagnose_priv.h src/diagnose/logprefix.c
