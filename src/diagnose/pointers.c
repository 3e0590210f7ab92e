// Which tensor a pointer argument points into, by the storage ranges that Python told.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"

uint64_t ct_explain_address_of(const struct ct_argument *a)
{
	const char *text = a->value;
	if (!text)
		return 0;
	if (a->kind == CT_ARGUMENT_STRUCT)
		text = ct_starts_with(text, "data ") ? text + strlen("data ") : "";
	else if (a->kind != CT_ARGUMENT_POINTER)
		return 0;
	return strtoull(text, NULL, 16);
}

bool ct_explain_on_gpu(const struct ct_tensor *t)
{
	return t->device && !ct_starts_with(t->device, "cpu") && !ct_starts_with(t->device, "meta");
}

static bool holds(const struct ct_tensor *t, uint64_t address)
{
	uint64_t start = t->has_storage_ptr ? t->storage_ptr : t->data_ptr;
	return ct_explain_on_gpu(t) && t->has_data_ptr && t->has_storage_bytes && address >= start && address - start < t->storage_bytes && address >= t->data_ptr;
}

// A plain name in an inner frame says more to the reader than an attribute far out.
static bool is_better(const struct ct_tensor *t, const struct ct_tensor *best, uint64_t address)
{
	if (!best)
		return true;
	if ((t->data_ptr == address) != (best->data_ptr == address))
		return t->data_ptr == address;
	if (t->data_ptr != best->data_ptr)
		return t->data_ptr > best->data_ptr;
	if (t->has_depth && best->has_depth && t->depth != best->depth)
		return t->depth < best->depth;
	return strlen(t->name) < strlen(best->name);
}

const struct ct_tensor *ct_explain_tensor_at(const struct ct_incident *incident, uint64_t address)
{
	const struct ct_tensor *best = NULL;
	for (size_t i = 0; address && i < incident->n_tensors; i++)
		if (incident->tensors[i].name && holds(&incident->tensors[i], address) && is_better(&incident->tensors[i], best, address))
			best = &incident->tensors[i];
	return best;
}

void ct_explain_pointers(struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->gpu.n_arguments; i++) {
		struct ct_argument *a = &incident->gpu.arguments[i];
		const struct ct_tensor *t = a->tensor ? NULL : ct_explain_tensor_at(incident, ct_explain_address_of(a));
		if (!t)
			continue;
		a->tensor = t->name;
		a->has_tensor_offset = true;
		a->tensor_offset = ct_explain_address_of(a) - t->data_ptr;
	}
}
