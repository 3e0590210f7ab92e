# Sources of diagnose/.
libcudatrap_a_SOURCES += \
	src/diagnose/assertdsa.c src/diagnose/asserthead.c src/diagnose/assertline.c src/diagnose/diagnose.c \
	src/diagnose/diagnose.h src/diagnose/diagnose_priv.h src/diagnose/faulthandler.c src/diagnose/logbook.c src/diagnose/loglines.c \
	src/diagnose/logprefix.c src/diagnose/logscan.c src/diagnose/positions.c src/diagnose/waiting.c \
	src/diagnose/catalog.c src/diagnose/catalog.h src/diagnose/cause.c src/diagnose/rules.c src/diagnose/rules.h src/diagnose/labels.c src/diagnose/explain.c src/diagnose/match.c \
	src/diagnose/address.c src/diagnose/evidence.c src/diagnose/faults.c src/diagnose/pointers.c src/diagnose/values.c src/diagnose/checks.c src/diagnose/checks.h src/diagnose/checks_call.c
