// The report folder: incident.json, report.txt, log.txt, summary.json. 0700, files 0600; a reader sees the whole folder or none.
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

// Creates base_dir (0700) when missing, writes the files into a hidden folder in it and renames that to base_dir/incident->id. No locks:
// any number of processes and machines may share base_dir, on NFS too. *ret_path is in the incident's
// arena; it is relative when base_dir is. base_dir may be a symbolic link to a folder. An incident->id that is missing, unsafe as a
// name or taken is replaced. On failure nothing half-written stays, the incident is as it was, err says why (not writable, disk full).
// The caller ignores SIGXFSZ, or a file-size limit ends the process instead.
bool ct_report_write(struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path, struct ct_error *err);

// Writes the files of the report base_dir/incident->id anew, each all at once. CT_NOT_FOUND when the folder has gone.
bool ct_report_update(struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path, struct ct_error *err);

// Before an incident is shown or written: the values of environment variables, of the command's options and of notes become "[redacted]" when their name is
// that of a secret (*SECRET*, *PASSWORD*, AWS_*, ...-token, ...-key, ...) or matches one of the patterns (fnmatch, case does not count); so do the
// credentials in URLs and words of the form of well-known keys. A pattern also takes words of the command that it matches. Python's
// locals are treated as variables, texts as the options are; source lines lose
// such words and credentials, and the strings that they give to names of secrets.
void ct_report_redact(struct ct_incident *incident, const char *const *patterns, size_t n_patterns);

// Removes the oldest reports in base_dir until keep are left (0: all may stay), and those older than keep_days (0: of any age), but never
// newest_id. Only folders directly in it, that are the caller's, have a name as ct_report_id() makes it and hold nothing but a report's files;
// links are not followed. The first that cannot be removed ends it with an error.
bool ct_report_prune(const char *base_dir, const char *newest_id, unsigned keep, unsigned keep_days, int64_t now_us, size_t *ret_removed, struct ct_error *err);

// The files of a report; beside report.txt there may be other forms of it (report.html).
#define CT_REPORT_INCIDENT "incident.json"
#define CT_REPORT_SUMMARY "summary.json"
#define CT_REPORT_TEXT "report.txt"
#define CT_REPORT_LOG "log.txt"
#define CT_REPORT_DUMP "gpu.nvcore"  // --keep-dump
#define CT_REPORT_RECORD "launches.record"  // --keep-record

// What a list of thousands of reports needs of each: summary.json, one flat object in a few hundred bytes. Texts are clean single lines
// of at most 500 bytes, NULL when not known.
struct ct_summary {
	const char *signature;  // of ct_incident_signature(); never NULL
	int64_t time_us, monotonic_us, pid;
	const char *host, *boot_id;
	enum ct_fault_kind kind;
	const char *kernel;    // its short name
	const char *detail;    // assert's expression, exception or error text
	const char *command;   // as given to cudatrap, words joined by blanks
	const char *follower;  // the first line of output that speaks of somebody else's fault
	bool own_fault;        // something was read from the GPU, or an assert line was seen
	struct ct_rank rank;
};

// Everything is copied into arena.
void ct_summary_of(struct ct_incident *incident, struct ct_arena *arena, struct ct_summary *ret_summary);
// Speaks of somebody else's fault and has none of its own: a consequence.
bool ct_summary_is_follower(const struct ct_summary *summary);
// To be freed; NULL when memory is out.
char *ct_summary_json(const struct ct_summary *summary);
// CT_FORMAT for what is no summary, CT_UNAVAILABLE for one whose signature was computed by other rules: read the incident then.
bool ct_summary_read(const char *text, size_t length, struct ct_arena *arena, struct ct_summary *ret_summary, struct ct_error *err);
// 16 lower-case hexadecimal digits.
bool ct_signature_is_valid(const char *text);

#define CT_MARKER_FOLDER "ranks"

// With --job-dir each rank's cudatrap writes a file into DIR/ranks/ when it starts, and again when its command has ended.
struct ct_marker {
	struct ct_rank rank;  // has_rank
	int64_t pid;          // of cudatrap
	const char *host, *boot_id;
	int64_t time_us, monotonic_us;          // of the start
	bool ended;
	int status, signal;                     // of the command: one of them, the other is 0
	int64_t end_time_us, end_monotonic_us;  // when ended
	const char *report;    // id of the report that this rank wrote; NULL: none
	const char *follower;  // a line of its output that speaks of somebody else's fault
};

// Makes job_dir and its folder of markers (0700) when they are missing; all or nothing is seen.
bool ct_marker_write(const char *job_dir, const struct ct_marker *marker, struct ct_error *err);
bool ct_marker_read(const char *text, size_t length, struct ct_arena *arena, struct ct_marker *ret_marker, struct ct_error *err);
// Formats by name, separated by commas: "html,junit". CT_USAGE names the first that does not exist and lists those that do.
bool ct_report_check_formats(const char *formats, struct ct_error *err);
// Writes report.EXTENSION for each of them into the folder at path. A file that fails does not keep the others from being written; err has the
// first failure.
bool ct_report_write_also(const struct ct_incident *incident, const char *path, const char *formats, struct ct_error *err);

#endif
