# Sources of store/.
libcudatrap_a_SOURCES += \
	src/store/dates.c src/store/groups.c src/store/known.c src/store/merge.c src/store/order.c src/store/read.c src/store/store.h \
	src/store/store_priv.h src/store/vanished.c
