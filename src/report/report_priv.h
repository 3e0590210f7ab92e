// What the files of report/ share.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_REPORT_PRIV_H
#define CT_REPORT_PRIV_H

#include <stdbool.h>

enum {
	CT_ID_LENGTH = 100,      // of a folder name, its "-2" included
	CT_ID_SUFFIX_LENGTH = 5  // "-9999"
};

// A folder name that ct_report_id() could have made: it may come from a file.
bool ct_report_id_is_safe(const char *id);

#endif
