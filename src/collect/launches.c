// The failing kernel's launch, from the record that the agent keeps.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "collect/collect_priv.h"
#include "hoststack/hoststack.h"
#include "matching/matching.h"

static void add_row(struct ct_incident *incident, enum ct_collector_status status, int64_t start_us, const char *detail)
{
	ct_incident_add_collector(incident, "launches", status, (double)(ct_now_us() - start_us) / 1000, detail);
}

void ct_collect_launches(const struct ct_collect_job *job, struct ct_incident *incident)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	struct ct_launches *record = NULL;
	if (job->record_missing)
		add_row(incident, CT_COLLECTOR_SKIPPED, start, job->record_missing);
	if (!job->record_dir)
		return;
	if (!ct_launches_open_at(job->record_dir, job->pid, &record, &err)) {
		bool none = err.code == CT_NOT_FOUND;
		add_row(incident, none ? CT_COLLECTOR_SKIPPED : CT_COLLECTOR_FAILED, start,
			none ? "the process launched nothing that the agent saw: it is linked statically, launches past the driver's entries, or had no room for its record" : err.text);
		return;
	}
	ct_matching_grid(record, incident->monotonic_us * 1000, job->history, incident);
	ct_matching_refused_launch(record, incident);
	ct_launches_free(record);
	ct_hoststack_add_sources(incident, job->pid, ct_hoststack_began_us(job->pid));
	bool found = incident->launch.certainty != CT_CERTAINTY_NONE;
	add_row(incident, found ? CT_COLLECTOR_OK : CT_COLLECTOR_PARTIAL, start, found ? NULL : incident->launch.why);
}
