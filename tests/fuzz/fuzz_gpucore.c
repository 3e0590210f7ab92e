// Any bytes as a GPU core dump. Seeds: the smaller dumps of tests/data/gpu-cores, unpacked.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/gpucore.h"
#include "limits.h"
#include "values/values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
	if (!ct_gpucore_open_bytes(data, size, &core, NULL))
		return;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	if (ct_gpucore_fill(core, incident, NULL))
		ct_values_of_dump(core, incident, NULL);
	ct_fuzz_limits_end(size);  // of reading; a writer's memory is its own
	// Writing takes ten times as long as reading: of some inputs only.
	if (size % 8 > 1)
		return;
	CT_AUTO(ct_auto_fclose) FILE *out = fopen("/dev/null", "w");
	if (out && size % 8 == 0)
		ct_gpucore_raw(core, out, NULL);
	else if (out)
		ct_incident_write_json(incident, out, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ct_fuzz_limits_begin();
	use(data, size);
	return 0;
}
