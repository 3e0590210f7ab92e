// The file format: section types, row layouts. Numbers are those of cudacoredump.h, CUDA 13.0, which also tells the driver that introduced
// each field. Newer drivers append fields, older ones write shorter rows: sh_entsize is the row's size, and a field that does not fit is absent.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_GPUCORE_FORMAT_H
#define CT_GPUCORE_FORMAT_H

// CUDBG_SHT_*: SHT_LOUSER + n. Suffix, number, name, size of the first version's row (0: bytes, no rows)
#define CT_CORE_SECTIONS(X)                                  \
	X(MANAGED_MEM, 1, "managed memory", 0)               \
	X(GLOBAL_MEM, 2, "global memory", 0)                 \
	X(LOCAL_MEM, 3, "local memory", 0)                   \
	X(SHARED_MEM, 4, "shared memory", 0)                 \
	X(DEV_REGS, 5, "registers", 4)                       \
	X(ELF_IMG, 6, "code image", 0)                       \
	X(RELF_IMG, 7, "relocated code image", 0)            \
	X(BT, 8, "call stack", 24)                           \
	X(DEV_TABLE, 9, "devices", 72)                       \
	X(CTX_TABLE, 10, "contexts", 40)                     \
	X(SM_TABLE, 11, "SMs", 8)                            \
	X(GRID_TABLE, 12, "grids", 104)                      \
	X(CTA_TABLE, 13, "blocks", 24)                       \
	X(WP_TABLE, 14, "warps", 32)                         \
	X(LN_TABLE, 15, "lanes", 48)                         \
	X(MOD_TABLE, 16, "modules", 8)                       \
	X(DEV_PRED, 17, "predicates", 4)                     \
	X(PARAM_MEM, 18, "parameters", 0)                    \
	X(DEV_UREGS, 19, "uniform registers", 4)             \
	X(DEV_UPRED, 20, "uniform predicates", 4)            \
	X(CB_TABLE, 21, "constant banks", 16)                \
	X(META_DATA, 22, "metadata", 32)                     \
	X(CBU_BAR, 23, "convergence barriers", 4)

enum ct_core_section {
#define X(suffix, number, name, row) CT_CORE_##suffix = number,
	CT_CORE_SECTIONS(X)
#undef X
	CT_CORE_N_TYPES = 24,
};
#define CT_CORE_LOUSER 0x80000000u

enum { CT_CORE_MACHINE = 190 /* EM_CUDA */ };

enum ct_core_device_field {  // CudbgDeviceTableEntry
	CT_DEV_NAME = 0, CT_DEV_TYPE = 8, CT_DEV_SM_TYPE = 16, CT_DEV_ID = 24, CT_DEV_PCI_BUS = 28, CT_DEV_PCI_DEVICE = 32, CT_DEV_N_SMS = 36,
	CT_DEV_WARPS = 40, CT_DEV_LANES = 44, CT_DEV_REGISTERS = 48, CT_DEV_PREDICATES = 52, CT_DEV_SM_MAJOR = 56, CT_DEV_SM_MINOR = 60,
	CT_DEV_INSTRUCTION = 64, CT_DEV_STATUS = 68, CT_DEV_UREGS = 72, CT_DEV_UPREDS = 76, CT_DEV_BARRIERS = 80,
};
enum ct_core_context_field {  // CudbgContextTableEntry
	CT_CTX_ID = 0, CT_CTX_SHARED = 8, CT_CTX_LOCAL = 16, CT_CTX_GLOBAL = 24, CT_CTX_DEVICE = 32, CT_CTX_TID = 36,
};
enum ct_core_grid_field {  // CudbgGridTableEntry
	CT_GRID_ID = 0, CT_GRID_CONTEXT = 8, CT_GRID_FUNCTION = 16, CT_GRID_ENTRY = 24, CT_GRID_MODULE = 32, CT_GRID_PARENT = 40, CT_GRID_PARAMS = 48,
	CT_GRID_TYPE = 56, CT_GRID_ORIGIN = 60, CT_GRID_STATUS = 64, CT_GRID_REGS = 68, CT_GRID_DIM = 72, CT_GRID_BLOCK = 84, CT_GRID_BLOCKING = 96,
	CT_GRID_TID = 100, CT_GRID_CLUSTER = 104, CT_GRID_PREFERRED = 120,
};
enum ct_core_bank_field { CT_BANK_ADDRESS = 0, CT_BANK_SIZE = 8, CT_BANK_ID = 12 };  // CudbgConstBankTableEntry
enum ct_core_sm_field {  // CudbgSmTableEntry
	CT_SM_ID = 0, CT_SM_EXCEPTION = 8, CT_SM_ERROR_VALID = 12, CT_SM_ERROR_PC = 16, CT_SM_TARGET_VALID = 24, CT_SM_TARGET = 28,
};
enum ct_core_block_field { CT_CTA_GRID = 0, CT_CTA_BLOCK = 8, CT_CTA_CLUSTER = 24, CT_CTA_CLUSTER_DIM = 40 };  // CudbgCTATableEntry
enum ct_core_warp_field {  // CudbgWarpTableEntry
	CT_WP_ERROR_PC = 0, CT_WP_ID = 8, CT_WP_VALID = 12, CT_WP_ACTIVE = 16, CT_WP_BROKEN = 20, CT_WP_ERROR_VALID = 24, CT_WP_REGS = 32,
	CT_WP_SHARED = 40, CT_WP_SYSCALL = 48, CT_WP_CBU_ACTIVE = 52, CT_WP_CBU_EXITED = 56, CT_WP_CBU_COLLECTIVE = 60,
};
enum ct_core_lane_field {  // CudbgThreadTableEntry
	CT_LN_PC = 0, CT_LN_OFFSET = 8, CT_LN_ID = 16, CT_LN_THREAD = 20, CT_LN_EXCEPTION = 32, CT_LN_DEPTH = 36, CT_LN_SYSCALL_DEPTH = 40, CT_LN_CC = 44,
	CT_LN_STATE = 48,
};
enum ct_core_call_field { CT_BT_OFFSET = 0, CT_BT_ADDRESS = 8, CT_BT_LEVEL = 16 };  // CudbgBacktraceTableEntry
enum ct_core_meta_field {  // CudbgMetaDataEntry
	CT_META_GENERATOR = 0, CT_META_DRIVER = 8, CT_META_DRIVER_MINOR = 12, CT_META_CUDA = 16, CT_META_CUDA_MINOR = 20, CT_META_FLAGS = 24,
	CT_META_TIME = 28,
};

#endif
