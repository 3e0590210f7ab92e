// Any bytes as a GPU core dump. Seeds: the smaller dumps of tests/data/gpu-cores, unpacked.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/gpucore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
	if (!ct_gpucore_open_bytes(data, size, &core, NULL))
		return 0;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	CT_AUTO(ct_auto_fclose) FILE *out = fopen("/dev/null", "w");
	ct_gpucore_fill(core, incident, NULL);
	if (out) {
		ct_gpucore_raw(core, out, NULL);
		ct_incident_write_json(incident, out, NULL);
	}
	return 0;
}
