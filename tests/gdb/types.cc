// Stand-ins for PyTorch's and CUDA's types, with the names and members that their debug information has: compiled by test_printers.py.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstddef>
#include <cstdint>
#include <optional>

struct __half {
	unsigned short __x;
};
struct __nv_bfloat16 {
	unsigned short __x;
};

namespace c10 {
struct Half {
	unsigned short x;
};
struct BFloat16 {
	unsigned short x;
};
struct Float8_e4m3fn {
	uint8_t x;
};
enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float };
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
struct Device {
	DeviceType type_;
	int8_t index_;
};
template <typename T> struct ArrayRef {
	const T *Data;
	std::size_t Length;
};
struct TypeMeta {
	uint16_t index_;
};
namespace impl {
struct SizesAndStrides {
	std::size_t size_;
	union {
		int64_t *outOfLineStorage_;
		int64_t inlineStorage_[10];
	};
};
}  // namespace impl
struct TensorImpl {
	impl::SizesAndStrides sizes_and_strides_;
	TypeMeta data_type_;
	std::optional<Device> device_opt_;
};
struct UndefinedTensorImpl {
};
template <typename T, typename Null> struct intrusive_ptr {
	T *target_;
};
}  // namespace c10

namespace at {
struct TensorBase {
	c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> impl_;
};
struct Tensor : TensorBase {
};
}  // namespace at

static int64_t many[12] = {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1};
__half cuda_half = {0x3e00};
__nv_bfloat16 cuda_bfloat = {0xc040};
c10::Half half = {0xfc00}, not_a_number = {0x7e00};
c10::BFloat16 bfloat = {0x3f80};
c10::Float8_e4m3fn tiny = {0x38};
c10::ScalarType scalar = c10::ScalarType::Long;
c10::Device device = {c10::DeviceType::CUDA, 3}, host = {c10::DeviceType::CPU, -1};
c10::ArrayRef<long> sizes = {reinterpret_cast<long *>(many), 3}, broken = {nullptr, 65}, nowhere = {nullptr, 2};
c10::TensorImpl labels_impl, deep_impl;
at::Tensor labels, deep, undefined;

static void stop_here()
{
	__asm__ volatile("");
}

int main()
{
	labels_impl.sizes_and_strides_.size_ = 2;
	labels_impl.sizes_and_strides_.inlineStorage_[0] = 32;
	labels_impl.sizes_and_strides_.inlineStorage_[1] = 3;
	labels_impl.data_type_.index_ = 4;
	labels_impl.device_opt_ = c10::Device{c10::DeviceType::CUDA, 0};
	deep_impl.sizes_and_strides_.size_ = 6;
	deep_impl.sizes_and_strides_.outOfLineStorage_ = many;
	deep_impl.data_type_.index_ = 15;
	labels.impl_.target_ = &labels_impl;
	deep.impl_.target_ = &deep_impl;
	stop_here();
	return static_cast<int>(sizes.Length + nowhere.Length - 5 + broken.Length - 65);
}
