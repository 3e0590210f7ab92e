// The report folder: incident.json, report.txt, log.txt. 0700, files 0600, written so that a reader sees whole files.
// And in further formats, for those who want them: report.html, report.junit.xml.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_REPORT_H
#define CT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "incident/incident.h"

// A unique folder name for the incident: YYYYMMDD-HHMMSS-HOST-PID-KIND-KERNEL, safe characters only, at most 100 long.
const char *ct_report_id(struct ct_incident *incident);

// Creates base_dir (0700) when missing and base_dir/incident->id, and writes the three files. *ret_path is in the incident's
// arena; it is relative when base_dir is. base_dir may be a symbolic link to a folder. An incident->id that is missing, unsafe as a
// name or taken is replaced. On failure nothing half-written stays, the incident is as it was, err says why (not writable, disk full).
// The caller ignores SIGXFSZ, or a file-size limit ends the process instead.
bool ct_report_write(struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path, struct ct_error *err);

// Formats by name, separated by commas: "html,junit". CT_USAGE names the first that does not exist and lists those that do.
bool ct_report_check_formats(const char *formats, struct ct_error *err);
// Writes report.EXTENSION for each of them into the folder at path. A file that fails does not keep the others from being written; err has the
// first failure.
bool ct_report_write_also(const struct ct_incident *incident, const char *path, const char *formats, struct ct_error *err);

#endif
